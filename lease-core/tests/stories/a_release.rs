//! Ending a lease: at once, once, and only one's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lease_core::keeper::KeeperMode;
use lease_core::layer::{Fault, Faulty, Method};
use lease_core::{BreakNote, Effect, Error, LossReason, Released};
use rstest::rstest;

use crate::world::{JOB, SECOND, World, job};

#[tokio::test(start_paused = true)]
async fn frees_the_name_at_once_and_keeps_the_epoch() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 15), world.person("bob", SECOND * 15));

    let anns = ann.exclusive(JOB).acquire().await.unwrap();
    let epoch = anns.epoch();
    assert_eq!(anns.release().await.unwrap(), Released::Freed);

    let bobs = bob.exclusive(JOB).acquire().await.unwrap();
    assert!(bobs.epoch() > epoch);
}

/// A lease that is dropped is released in the background, long before its ttl.
#[tokio::test(start_paused = true)]
async fn happens_by_itself_when_a_lease_is_dropped() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 15), world.person("bob", SECOND * 15));
    let start = world.now();

    drop(ann.exclusive(JOB).acquire().await.unwrap());

    drop(bob.exclusive(JOB).wait(SECOND * 15).acquire().await.unwrap());
    assert!(world.now().since(start) < SECOND);
}

/// Bob waits while Ann's work takes its time to stop: a release comes after the work, and until
/// then the lease is renewed. (Case 50.)
#[tokio::test(start_paused = true)]
async fn comes_after_the_work_has_ended() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 2), world.person("bob", SECOND * 2));
    let working = Arc::new(AtomicBool::new(true));

    let lease = ann.exclusive(JOB).acquire().await.unwrap();
    let (clock, flag) = (world.clock, working.clone());
    let work = tokio::spawn(async move {
        let slow = lease_core::clock::Clock::sleep_until(
            &clock,
            lease_core::clock::Clock::now(&clock).plus(SECOND * 7),
        );
        lease.guard(|_| slow).await.unwrap();
        flag.store(false, Ordering::SeqCst);
        lease.release().await.unwrap();
    });

    drop(bob.exclusive(JOB).wait(SECOND * 30).acquire().await.unwrap());
    assert!(!working.load(Ordering::SeqCst), "bob started while ann was at work");
    work.await.unwrap();
}

/// From the call on nothing passes the guard any more, though the answer is not there yet.
#[tokio::test(start_paused = true)]
async fn ends_the_belief_before_the_record() {
    let world = World::new();
    let ann = world.person("ann", SECOND * 2);
    let lease = ann.exclusive(JOB).acquire().await.unwrap();
    let mut changes = lease.status_changes();

    lease.release().await.unwrap();

    let last = *changes.borrow_and_update();
    assert_eq!(last, lease_core::Status::Lost(LossReason::Released));
    assert!(world.is_free().await);
}

/// Two hundred times a renewal is due while the lease is released. None of them brings it back.
/// (Case 25.)
#[tokio::test(start_paused = true)]
async fn is_not_undone_by_a_renewal() {
    let world = World::new();
    let ann = world.person("ann", SECOND);
    for round in 0..200_u32 {
        let lease = ann.exclusive(JOB).acquire().await.unwrap();
        // Up to and just past the moment at which the first renewal is due.
        world.pass(SECOND / 4 + SECOND * round / 1000).await;
        assert_eq!(lease.release().await.unwrap(), Released::Freed);
        assert!(world.is_free().await, "round {round}");
        if round % 20 == 0 {
            world.pass(SECOND * 3 / 2).await;
            assert!(world.is_free().await, "round {round}, later");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_broken_lease_touches_nobody() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 2), world.person("bob", SECOND * 2));
    let note = lease_core::BreakNote::new("an operator", "a test");

    let anns = ann.exclusive(JOB).acquire().await.unwrap();
    ann.break_record(&job(), anns.nonce(), &note).await.unwrap();
    let bobs = bob.exclusive(JOB).acquire().await.unwrap();

    assert_eq!(anns.release().await.unwrap(), Released::NotHeld);
    bobs.confirm().await.unwrap();
    assert!(matches!(
        ann.break_record(&job(), lease_core::Jitter::system().nonce(), &note).await,
        Err(Error::Held { .. })
    ));
}

/// The first try of a release does not even reach the store, and by the second somebody else has the
/// name: that is not told as a release that worked.
#[tokio::test(start_paused = true)]
async fn of_a_lease_that_was_broken_does_not_claim_to_have_freed_it() {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let mode = KeeperMode::CurrentRuntime;
    let ann = world.person_at("ann", SECOND * 60, Arc::new(network.clone()), mode);
    let anns = ann.exclusive(JOB).acquire().await.unwrap();
    let bob = world.person("bob", SECOND * 60);
    let note = BreakNote::new("an operator", "a test");
    bob.break_record(&job(), anns.nonce(), &note).await.unwrap();
    let bobs = bob.exclusive(JOB).acquire().await.unwrap();

    network.next(Method::Withdraw, Fault::fails(Effect::Nothing));
    assert_eq!(anns.release().await.unwrap(), Released::NotHeld);
    bobs.confirm().await.unwrap();
}

/// Whoever asked for the release gives up on it while the store is silent: it goes on all the same.
#[tokio::test(start_paused = true)]
async fn goes_on_when_nobody_waits_for_it() {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let mode = KeeperMode::CurrentRuntime;
    let ann = world.person_at("ann", SECOND * 60, Arc::new(network.clone()), mode);
    let lease = ann.exclusive(JOB).acquire().await.unwrap();
    network.next(Method::Withdraw, Fault::hangs());

    tokio::select! {
        released = lease.release() => panic!("{released:?}"),
        () = world.pass(SECOND) => {}
    }

    world.pass(SECOND / 10).await;
    assert!(world.is_free().await);
}

/// What will not get better is told at once.
#[tokio::test(start_paused = true)]
async fn that_is_forbidden_is_not_tried_again() {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let mode = KeeperMode::CurrentRuntime;
    let ann = world.person_at("ann", SECOND * 60, Arc::new(network.clone()), mode);
    let lease = ann.exclusive(JOB).acquire().await.unwrap();
    network.always(Method::Withdraw, Fault::error(|| Error::misconfigured("no", "grant it")));
    let start = world.now();

    assert!(matches!(lease.release().await, Err(Error::Misconfigured { .. })));

    assert_eq!((world.now(), network.calls(Method::Withdraw)), (start, 1));
}

/// A lease that ran out is dropped, or released. Its last renewals may have got through without an
/// answer, so its record is removed, once, and the name is free long before that record's end.
#[rstest]
#[tokio::test(start_paused = true)]
async fn removes_what_unanswered_renewals_have_left(#[values(true, false)] dropped: bool) {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let mode = KeeperMode::CurrentRuntime;
    let ann = world.person_at("ann", SECOND * 60, Arc::new(network.clone()), mode);
    let lease = ann.exclusive(JOB).acquire().await.unwrap();
    network.always(Method::Renew, Fault::hangs_after());
    assert_eq!(lease.lost().await, LossReason::Expired);
    assert!(!world.is_free().await);

    if dropped {
        drop(lease);
    } else {
        assert_eq!(lease.release().await.unwrap(), Released::Freed);
    }

    world.pass(SECOND).await;
    assert!(world.is_free().await);
    assert_eq!(network.calls(Method::Withdraw), 1);
}

/// A lease that was broken has no record any more: the store is not asked to remove it.
#[tokio::test(start_paused = true)]
async fn of_what_is_surely_gone_asks_nothing() {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let mode = KeeperMode::CurrentRuntime;
    let ann = world.person_at("ann", SECOND * 3, Arc::new(network.clone()), mode);
    let lease = ann.exclusive(JOB).acquire().await.unwrap();
    let note = BreakNote::new("an operator", "a test");
    ann.break_record(&job(), lease.nonce(), &note).await.unwrap();
    assert_eq!(lease.lost().await, LossReason::Displaced);

    drop(lease);

    world.pass(SECOND).await;
    assert_eq!(network.calls(Method::Withdraw), 0);
}
