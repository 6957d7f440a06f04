//! What the engine tells its leases and its driver.

use futures::future::join_all;

use super::*;
use crate::backend::Joined;
use crate::clock::ManualClock;
use crate::memory::Memory;
use crate::{Claim, Mode, Name, Policy};

/// An engine that keeps nothing yet, and what it stands on.
struct Bench {
    clock: ManualClock,
    store: Arc<Memory>,
    engine: Engine,
    leases: u64,
}

impl Bench {
    fn new() -> Self {
        let clock = ManualClock::new();
        let store = Arc::new(Memory::with_clock(Arc::new(clock.clone())));
        let engine = Engine::new(store.clone(), Arc::new(clock.clone()), Jitter::seeded(1));
        Self { clock, store, engine, leases: 0 }
    }

    /// Takes a writer's lease and lets the engine keep it.
    async fn keep(&mut self, timing: Timing) -> Arc<Shared> {
        self.leases += 1;
        let claim = Claim {
            name: Name::parse("job").unwrap(),
            nonce: Jitter::seeded(self.leases).nonce(),
            mode: Mode::Writer,
            ttl: timing.ttl(),
            info: Arc::default(),
        };
        let sent = self.clock.now();
        let joined = self.store.join(&claim, &Policy::expired()).await.unwrap();
        let Joined::Granted(grant) = joined else { panic!("nobody else is there: {joined:?}") };
        let until = sent.plus(timing.belief(&self.store.capabilities()));
        let shared =
            Arc::new(Shared::new(grant, "memory", Arc::new(self.clock.clone()), until, sent));
        self.engine.add(LeaseId(self.leases), shared.clone(), timing, sent);
        shared
    }
}

fn ttl(seconds: u64) -> Timing {
    Timing::with_ttl(Duration::from_secs(seconds)).build().unwrap()
}

/// A lease's own requests, such as its next confirm, name the write that was acknowledged last:
/// there are stores that compare it.
#[tokio::test]
async fn a_lease_knows_its_last_acknowledged_write() {
    let mut bench = Bench::new();
    let lease = bench.keep(ttl(15)).await;
    assert_eq!(lease.holding().acknowledged, 0);

    bench.clock.advance(ttl(15).renew_every());
    for answers in join_all(bench.engine.begin()).await {
        bench.engine.finish(answers);
    }

    let seen = bench.store.observe(&lease.name).await.unwrap();
    assert_eq!(lease.holding().acknowledged, 1);
    assert_eq!(lease.holding().revision, seen.writers[0].revision);
}

/// To wake the driver costs more than all else that a lease in memory does: it is woken for a lease
/// that is due before it would look by itself, and for no other.
#[tokio::test]
async fn the_driver_is_woken_only_for_what_it_would_miss() {
    let mut bench = Bench::new();
    assert!(!bench.engine.wakes_driver());
    bench.engine.arm();
    bench.keep(ttl(15)).await;
    assert!(bench.engine.wakes_driver());
    assert!(!bench.engine.wakes_driver(), "it is woken already");

    bench.engine.arm();
    assert!(!bench.engine.wakes_driver());
    bench.keep(ttl(60)).await;
    assert!(!bench.engine.wakes_driver());
    bench.keep(ttl(3)).await;
    assert!(bench.engine.wakes_driver());
}

/// Leases that end before the driver has looked would wake it one by one.
#[tokio::test]
async fn the_driver_looks_once_more_after_the_last_lease() {
    let mut bench = Bench::new();
    bench.keep(ttl(15)).await;
    assert!(bench.engine.wakes_driver());
    let due = bench.engine.arm().expect("a lease is kept");
    bench.engine.remove(LeaseId(1)).expect("it is kept");
    assert_eq!(bench.engine.arm(), Some(due));

    bench.clock.advance(ttl(3).renew_every());
    bench.keep(ttl(15)).await;
    assert!(!bench.engine.wakes_driver(), "the driver looks before that is due");
    bench.engine.remove(LeaseId(2)).expect("it is kept");
    bench.clock.advance(ttl(15).renew_every());
    assert_eq!(bench.engine.arm(), None, "it has looked, and nothing is kept");
}
