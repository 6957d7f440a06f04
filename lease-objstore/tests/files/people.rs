//! People at a store, and the store with a clock that the test moves.

use std::sync::Arc;
use std::time::Duration;

use lease_core::backend::{Joined, Taken};
use lease_core::clock::ManualClock;
use lease_core::{Backend, Claim, Grant, HolderInfo, Jitter, Mode, Name, Policy};
use lease_objstore::{ObjStore, Options, connect};

use crate::store::Watched;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// The ttl of whoever does not say otherwise.
pub(crate) const TTL: Duration = Duration::from_secs(10);

/// The step of the clock of a [`World`]'s store.
pub(crate) const RESOLUTION: Duration = Duration::from_millis(10);

/// An object store in memory and the clock that it and all its clients go by.
pub(crate) struct World {
    pub(crate) clock: ManualClock,
    pub(crate) store: Watched,
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::new();
        Self { store: Watched::on(Arc::new(clock.clone())), clock }
    }

    /// A client, and its own view of the store.
    pub(crate) async fn connect(&self) -> (ObjStore, Watched) {
        let view = self.store.another();
        let options = Options::store(Arc::new(view.clone()))
            .clock(Arc::new(self.clock.clone()))
            .resolution(RESOLUTION, SECOND);
        (connect(options).await.unwrap(), view)
    }

    /// A client that nobody watches.
    pub(crate) async fn client(&self) -> ObjStore {
        self.connect().await.0
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }
}

pub(crate) fn name() -> Name {
    Name::parse("payroll").unwrap()
}

/// The path of one of the name's files.
pub(crate) fn file(file: &str) -> String {
    format!("payroll/{file}")
}

/// One attempt to hold [`name`].
pub(crate) fn claim(mode: Mode, ttl: Duration) -> Claim {
    Claim { name: name(), nonce: Jitter::system().nonce(), mode, ttl, info: info("ann") }
}

/// What a holder with this label tells of itself.
pub(crate) fn info(label: &str) -> Arc<HolderInfo> {
    Arc::new(HolderInfo::of_this_process().label(label).build().unwrap())
}

pub(crate) fn writer() -> Claim {
    claim(Mode::Writer, TTL)
}

pub(crate) fn exclusive() -> Claim {
    claim(Mode::Exclusive, TTL)
}

/// A grant, or a panic.
pub(crate) async fn acquire(store: &dyn Backend, claim: &Claim) -> Grant {
    try_acquire(store, claim).await.expect("nobody is in the way")
}

/// A grant, unless somebody is in the way.
pub(crate) async fn try_acquire(store: &dyn Backend, claim: &Claim) -> Option<Grant> {
    match claim.mode {
        Mode::Writer => match store.join(claim, &Policy::expired()).await.unwrap() {
            Joined::Granted(grant) => Some(grant),
            Joined::Refused(_) => None,
        },
        Mode::Exclusive => match store.take(claim, None, &Policy::expired()).await.unwrap() {
            Taken::Granted(grant) => Some(grant),
            Taken::Draining(draining) => {
                store.withdraw(&draining.holding).await.unwrap();
                None
            }
            Taken::Refused(_) | Taken::Displaced(_) => None,
        },
    }
}

/// An exclusive, as soon as it is free.
pub(crate) async fn acquire_in_time(
    world: &World,
    store: &dyn Backend,
    patience: Duration,
) -> Grant {
    let mut left = patience;
    loop {
        if let Some(grant) = try_acquire(store, &exclusive()).await {
            return grant;
        }
        left = left.checked_sub(SECOND / 2).expect("it falls free in time");
        world.pass(SECOND / 2);
    }
}
