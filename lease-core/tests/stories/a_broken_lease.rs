//! An operator breaks a lease while its holder lives.

use std::sync::Arc;

use futures::future::BoxFuture;
use lease_core::keeper::KeeperMode;
use lease_core::layer::{Fault, Faulty, Method};
use lease_core::{Backend, BreakNote, Effect, Error, Gate, Jitter, LossReason};
use rstest::rstest;

use crate::world::{JOB, SECOND, World, job};

fn note() -> BreakNote {
    BreakNote::new("op@desk", "it hangs")
}

/// The holder learns at once where it asks the store, its late write is fenced, and the note says
/// who and why. (Cases 47, 48.)
#[tokio::test(start_paused = true)]
async fn is_lost_to_its_holder_and_fenced() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 6), world.person("bob", SECOND * 6));
    let anns = ann.exclusive(JOB).acquire().await.unwrap();
    let gate = Gate::new();
    let fence = anns.announce(&gate).await.unwrap();

    let epoch = bob.break_record(&job(), anns.nonce(), &note()).await.unwrap();
    assert!(epoch > anns.epoch());
    assert_eq!(world.store.last_break(&job()).await.unwrap(), Some(note()));

    let told = anns.confirm().await;
    assert!(matches!(told, Err(Error::Lost { reason: LossReason::Displaced, .. })), "{told:?}");
    assert_eq!(anns.lost().await, LossReason::Displaced);

    // A writer that joins next already keeps the broken holder out.
    let writer = bob.writer(JOB).acquire().await.unwrap();
    writer.announce(&gate).await.unwrap();
    assert!(matches!(gate.admit(&fence), lease_core::Admission::Refused { .. }));
}

/// In the background it is told with the next renewal.
#[tokio::test(start_paused = true)]
async fn is_lost_within_a_renewal() {
    let world = World::new();
    let ann = world.person("ann", SECOND * 6);
    let anns = ann.exclusive(JOB).acquire().await.unwrap();
    let start = world.now();

    ann.break_record(&job(), anns.nonce(), &note()).await.unwrap();
    assert_eq!(anns.lost().await, LossReason::Displaced);

    assert!(world.now().since(start) <= SECOND * 2);
    assert!(world.is_free().await, "a renewal must not bring it back");
}

/// Breaking one writer leaves the other alone, and breaking everything lets the next one in.
/// (Case 48.)
#[tokio::test(start_paused = true)]
async fn is_one_of_several() {
    let world = World::new();
    let (one, two) = (world.person("one", SECOND * 6), world.person("two", SECOND * 6));
    let (ones, twos) =
        (one.writer(JOB).acquire().await.unwrap(), two.writer(JOB).acquire().await.unwrap());
    let drainer = world.person("drainer", SECOND * 6);
    let draining = tokio::spawn(drainer.exclusive(JOB).wait(SECOND * 60).acquire());
    world.pass(SECOND / 10).await;

    one.break_record(&job(), ones.nonce(), &note()).await.unwrap();
    assert!(ones.confirm().await.is_err());
    twos.confirm().await.unwrap();

    let seen = world.store.observe(&job()).await.unwrap();
    for record in seen.exclusive.iter().chain(&seen.writers) {
        one.break_record(&job(), record.nonce, &note()).await.unwrap();
    }
    assert!(twos.confirm().await.is_err());
    assert!(matches!(draining.await.unwrap(), Err(Error::Lost { .. })));

    let next = world.person("next", SECOND * 6).exclusive(JOB).acquire().await.unwrap();
    assert!(next.epoch() > twos.epoch());
}

/// What is removed before its first round has ended was told to nobody: whoever waits goes on, and
/// whoever does not is told to ask again, not that somebody has broken it. On a bucket another exclusive
/// that asked at the same time does that to it. What may be left of it is withdrawn.
#[rstest]
#[tokio::test(start_paused = true)]
async fn is_no_attempt_that_came_second(#[values(true, false)] waits: bool) {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let store = world.store.clone();
    let removes = move || -> BoxFuture<'static, ()> {
        let store = store.clone();
        Box::pin(async move {
            let seen = store.observe(&job()).await.unwrap();
            let nonce = seen.exclusive.expect("it was installed").nonce;
            store.break_record(&job(), nonce, &note()).await.unwrap();
        })
    };
    network.next(Method::Commit, Fault::before(removes));
    let mode = KeeperMode::CurrentRuntime;
    let ann = world.person_at("ann", SECOND * 6, Arc::new(network.clone()), mode);
    let asked = ann.exclusive(JOB);

    if waits {
        let lease = asked.wait(SECOND * 30).acquire().await.unwrap();
        // In the background, while the lease is held: it is not this one's release.
        world.pass(SECOND).await;
        assert!(network.calls(Method::Withdraw) > 0, "what may be left of it");
        lease.check().unwrap();
    } else {
        let told = asked.acquire().await;
        assert!(
            matches!(told, Err(Error::Unavailable { effect: Effect::Unknown, .. })),
            "{told:?}"
        );
        assert!(network.calls(Method::Withdraw) > 0, "what may be left of it");
        assert!(world.is_free().await);
    }
}

/// A nonce that was never seen, or one of an earlier holder, breaks nothing, and the refusal shows
/// who really holds. (Case 47.)
#[tokio::test(start_paused = true)]
async fn is_exactly_the_one_that_was_shown() {
    let world = World::new();
    let ann = world.person("alpha", SECOND * 6);
    let earlier = ann.exclusive(JOB).acquire().await.unwrap();
    let stale = earlier.nonce();
    earlier.release().await.unwrap();
    let lease = ann.exclusive(JOB).acquire().await.unwrap();

    for nonce in [stale, Jitter::system().nonce()] {
        let refused = ann.break_record(&job(), nonce, &note()).await.unwrap_err();
        assert!(refused.to_string().contains("alpha"), "{refused}");
    }
    lease.confirm().await.unwrap();
    assert_eq!(world.store.last_break(&job()).await.unwrap(), None);
}
