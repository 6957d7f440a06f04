//! Work that runs while a lease is held, and is dropped when it is lost.

use std::future;

use lease_core::{BreakNote, Error, LossReason, Timing};

use crate::world::{JOB, SECOND, World, job};

fn note() -> BreakNote {
    BreakNote::new("op", "it hangs")
}

/// It is taken, worked under and released; the output comes back.
#[tokio::test(start_paused = true)]
async fn ends_with_its_output() {
    let world = World::new();
    let ann = world.person("ann", SECOND * 6);
    let (busy, clock) = (world.person("bob", SECOND * 6), world.clock);
    let work = |fence: lease_core::Fence| async move {
        // For several ttls: it is renewed meanwhile.
        lease_core::Clock::sleep_until(&clock, fence.believed_until().plus(SECOND * 30)).await;
        let refused = busy.exclusive(JOB).acquire().await;
        assert!(matches!(refused, Err(Error::Held { .. })), "{refused:?}");
        fence.epoch()
    };
    assert!(ann.exclusive(JOB).run_while_held(work).await.unwrap().get() > 0);
    assert!(world.is_free().await);
}

/// The lease is broken: the work is dropped within a renewal, and whoever waits is told why.
#[tokio::test(start_paused = true)]
async fn is_dropped_when_the_lease_is_lost() {
    let world = World::new();
    let ann = world.person("ann", SECOND * 6);
    let lease = ann.exclusive(JOB).acquire().await.unwrap();
    let cancelled = lease.cancellation();
    let begun = world.now();
    ann.break_record(&job(), lease.nonce(), &note()).await.unwrap();
    assert!(!cancelled.is_cancelled(), "nobody knows yet");

    let told = lease.run_while_held(future::pending::<()>()).await;
    let Err(Error::Lost { reason, .. }) = told else { panic!("{told:?}") };
    assert_eq!(reason, LossReason::Displaced);
    assert!(world.now().since(begun) <= SECOND * 2);
    assert!(cancelled.is_cancelled());
    assert!(lease.cancellation().is_cancelled(), "of a lost lease each token is cancelled");
    // Of a lease that is lost nothing is begun.
    let told = lease.run_while_held(async { panic!("never begun") }).await;
    assert!(matches!(told, Err(Error::Lost { .. })), "{told:?}");
}

/// Cancelling a token that a lease gave does not end the lease, nor another token of it.
#[tokio::test(start_paused = true)]
async fn is_not_ended_by_its_own_token() {
    let world = World::new();
    let lease = world.person("ann", SECOND * 6).exclusive(JOB).acquire().await.unwrap();
    let (one, other) = (lease.cancellation(), lease.cancellation());
    one.cancel();
    assert!(!other.is_cancelled() && lease.check().is_ok());
    lease.release().await.unwrap();
    assert!(other.is_cancelled(), "a lease that was released is not held either");
}

/// After a takeover the work begins when the grace is over, and not before.
#[tokio::test(start_paused = true)]
async fn begins_after_the_grace() {
    let world = World::new();
    let (dead, _frozen) = world.frozen("dead", SECOND * 2);
    let left = dead.exclusive(JOB).acquire().await.unwrap();
    world.pass(SECOND * 3).await;
    let timing = Timing::with_ttl(SECOND * 6).grace(SECOND * 4).build().unwrap();
    let begun = world.now();
    let clock = world.clock;
    let work = |_| async move { lease_core::Clock::now(&clock) };
    let ask = world.person("ann", SECOND * 6).exclusive(JOB).timing(timing);
    let at = ask.run_while_held(work).await.unwrap();
    assert!(at.since(begun) >= SECOND * 4, "{:?}", at.since(begun));
    drop(left);
}
