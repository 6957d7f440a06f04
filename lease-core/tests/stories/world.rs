//! The world that the stories play in: one store, and people with coordinators of their own.

use std::sync::Arc;
use std::time::Duration;

use lease_core::clock::PausedClock;
use lease_core::keeper::{Driven, KeeperMode};
use lease_core::memory::Memory;
use lease_core::{Backend, Clock, Coordinator, Error, HolderInfo, Lease, Moment, Name, Timing};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const JOB: &str = "job";

pub(crate) fn job() -> Name {
    Name::parse(JOB).unwrap()
}

/// One store on tokio's paused time.
pub(crate) struct World {
    pub(crate) clock: PausedClock,
    pub(crate) store: Memory,
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = PausedClock::start();
        Self { clock, store: Memory::with_clock(Arc::new(clock)) }
    }

    /// Somebody whose leases live for `ttl_seconds` and are renewed as they should be.
    pub(crate) fn person(&self, label: &str, ttl: Duration) -> Coordinator {
        self.person_at(label, ttl, Arc::new(self.store.clone()), KeeperMode::CurrentRuntime)
    }

    /// Somebody whose process can be frozen: nothing is renewed unless the hand is turned.
    pub(crate) fn frozen(&self, label: &str, ttl: Duration) -> (Coordinator, Driven) {
        let hand = Driven::new();
        let mode = KeeperMode::Driven(hand.clone());
        (self.person_at(label, ttl, Arc::new(self.store.clone()), mode), hand)
    }

    /// Somebody who reaches the store through `backend`.
    pub(crate) fn person_at(
        &self,
        label: &str,
        ttl: Duration,
        backend: Arc<dyn Backend>,
        keeper: KeeperMode,
    ) -> Coordinator {
        Coordinator::builder(backend)
            .clock(Arc::new(self.clock))
            .keeper(keeper)
            .timing(Timing::with_ttl(ttl).build().unwrap())
            .info(HolderInfo::of_this_process().label(label).build().unwrap())
            .build()
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    pub(crate) async fn pass(&self, time: Duration) {
        self.clock.sleep_until(self.now().plus(time)).await;
    }

    /// Nobody holds, waits or left anything behind.
    pub(crate) async fn is_free(&self) -> bool {
        self.store.observe(&job()).await.unwrap().is_free()
    }
}

/// The label of whoever refused.
pub(crate) fn held_by(refusal: Result<Lease, Error>) -> String {
    match refusal.unwrap_err() {
        Error::Held { by, .. } => by.holder.map(|record| record.info.label).unwrap_or_default(),
        other => panic!("expected to be refused, got {other}"),
    }
}
