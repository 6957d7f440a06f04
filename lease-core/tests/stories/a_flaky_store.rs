//! A store, or a network, that fails, hangs, comes late and loses answers.

use std::sync::Arc;

use futures::future::BoxFuture;
use lease_core::keeper::KeeperMode;
use lease_core::layer::{Fault, Faulty, Method};
use lease_core::{Backend, Coordinator, Effect, Error, Jitter, LossReason, Released, Status};
use rstest::rstest;

use crate::world::{JOB, SECOND, World, held_by, job};

impl World {
    /// Somebody whose way to the store can be spoiled.
    fn behind(&self, network: &Faulty, label: &str) -> Coordinator {
        self.person_at(label, SECOND * 3, Arc::new(network.clone()), KeeperMode::CurrentRuntime)
    }

    fn network(&self) -> Faulty {
        Faulty::new(Arc::new(self.store.clone()))
    }

    fn late(&self, by: std::time::Duration) -> Fault {
        Fault::late_answer(Arc::new(self.clock), by)
    }
}

/// The answer to a grant takes longer than the lease lives. Nobody gets a lease that is over, and
/// what was granted does not keep the name. (Case 9.)
#[rstest]
#[tokio::test(start_paused = true)]
async fn never_hands_out_a_lease_that_is_over(
    #[values(Method::Observe, Method::Install, Method::Commit)] slow: Method,
) {
    let world = World::new();
    let network = world.network();
    network.next(slow, world.late(SECOND * 4));

    let asked = world.behind(&network, "ann").exclusive(JOB).acquire().await;
    assert!(matches!(asked, Err(Error::Unavailable { effect: Effect::Unknown, .. })), "{asked:?}");

    world.pass(SECOND * 3).await;
    assert!(world.is_free().await);
}

/// The same for one who waits: the next try is granted, and has most of its life before it.
#[tokio::test(start_paused = true)]
async fn is_tried_again_by_whoever_waits() {
    let world = World::new();
    let network = world.network();
    network.next(Method::Register, world.late(SECOND * 4));
    network.next(Method::Observe, Fault::fails(Effect::Unknown));

    let ann = world.behind(&network, "ann");
    let lease = ann.writer(JOB).wait(SECOND * 20).acquire().await.unwrap();

    assert!(lease.remaining() > SECOND * 2);
    world.pass(SECOND / 10).await;
    assert_eq!(world.store.observe(&job()).await.unwrap().writers.len(), 1);
}

/// The answer to each step of the handshake is lost once. The lease is granted all the same or the
/// try leaves nothing behind, and there is never more than one record.
#[rstest]
#[tokio::test(start_paused = true)]
async fn may_lose_any_answer(
    #[values(Method::Register, Method::Install, Method::Commit, Method::Observe)] lost: Method,
    #[values(true, false)] exclusive: bool,
) {
    let world = World::new();
    let network = world.network();
    network.next(lost, Fault::answer_lost());
    let ann = world.behind(&network, "ann");
    let ask = if exclusive { ann.exclusive(JOB) } else { ann.writer(JOB) };

    let lease = ask.wait(SECOND * 20).acquire().await.unwrap();

    lease.confirm().await.unwrap();
    world.pass(SECOND).await;
    let seen = world.store.observe(&job()).await.unwrap();
    assert_eq!(usize::from(seen.exclusive.is_some()) + seen.writers.len(), 1);
    assert_eq!(lease.release().await.unwrap(), Released::Freed);
    assert!(world.is_free().await);
}

/// One failure is no loss, nor are many within the belief. (Case 20.)
#[rstest]
#[case::once(0.0)]
#[case::for_a_second_and_a_half(1.5)]
#[tokio::test(start_paused = true)]
async fn is_doubted_and_not_given_up(#[case] seconds: f64) {
    let world = World::new();
    let network = world.network();
    let lease = world.behind(&network, "ann").exclusive(JOB).acquire().await.unwrap();
    let mut changes = lease.status_changes();
    world.pass(SECOND / 2).await;

    if seconds > 0.0 {
        network.always(Method::Renew, Fault::fails(Effect::Nothing));
        let (network, clock) = (network.clone(), world.clock);
        tokio::spawn(async move {
            let heal = lease_core::Clock::now(&clock).plus(SECOND.mul_f64(seconds));
            lease_core::Clock::sleep_until(&clock, heal).await;
            network.heal();
        });
    } else {
        network.next(Method::Renew, Fault::fails(Effect::Unknown));
    }

    changes.wait_for(|status| *status == Status::Doubtful).await.unwrap();
    changes.wait_for(|status| *status == Status::Held).await.unwrap();
    world.pass(SECOND * 20).await;
    lease.check().unwrap();
    assert!(changes.has_changed().is_ok_and(|changed| !changed));
}

/// Renewals fail for good. The lease is lost at the end of the belief and not later, and nothing is
/// asked of the store any more. (Cases 14, 20.)
#[rstest]
#[case::refused(Fault::fails(Effect::Nothing))]
#[case::forbidden(Fault::error(|| Error::misconfigured("no rights", "grant them")))]
#[case::silent(Fault::hangs())]
#[case::answers_lost(Fault::hangs_after())]
#[tokio::test(start_paused = true)]
async fn is_lost_at_the_end_of_the_belief(#[case] fault: Fault) {
    let world = World::new();
    let network = world.network();
    let lease = world.behind(&network, "ann").exclusive(JOB).acquire().await.unwrap();
    world.pass(SECOND * 3 / 2).await;
    let spoiled = world.now();
    network.always(Method::Renew, fault);

    assert_eq!(lease.lost().await, LossReason::Expired);

    let after = world.now().since(spoiled);
    assert!(after <= SECOND * 3, "{after:?}");
    let calls = network.calls(Method::Renew);
    world.pass(SECOND * 20).await;
    assert_eq!(network.calls(Method::Renew), calls);
    network.heal();
    let bob = world.person("bob", SECOND * 3);
    drop(bob.exclusive(JOB).acquire().await.unwrap());
}

/// A renewal takes place, its answer is lost, and the next one goes through. (Rule R8.)
#[tokio::test(start_paused = true)]
async fn may_lose_the_answer_to_every_other_renewal() {
    let world = World::new();
    let network = world.network();
    let lease = world.behind(&network, "ann").exclusive(JOB).acquire().await.unwrap();
    for call in 1..40 {
        network.nth(Method::Renew, call * 2, Fault::answer_lost());
    }
    world.pass(SECOND * 30).await;
    lease.check().unwrap();
    lease.confirm().await.unwrap();
}

/// The last renewal took place without an answer; the release frees the name all the same, at once.
/// (Case 22.)
#[tokio::test(start_paused = true)]
async fn does_not_keep_a_release_from_its_record() {
    let world = World::new();
    let network = world.network();
    let lease = world.behind(&network, "ann").exclusive(JOB).acquire().await.unwrap();
    network.next(Method::Renew, Fault::answer_lost());
    world.pass(SECOND).await;

    assert_eq!(lease.release().await.unwrap(), Released::Freed);
    assert!(world.is_free().await);

    // Nor does the loss of the release's own answer.
    let lease = world.behind(&network, "ann").exclusive(JOB).acquire().await.unwrap();
    network.next(Method::Withdraw, Fault::answer_lost());
    assert_eq!(lease.release().await.unwrap(), Released::Freed);
}

/// A release is asked for while a renewal is on its way: the renewal ends first, and never brings
/// the record back. (Case 25.)
#[tokio::test(start_paused = true)]
async fn orders_a_release_after_a_renewal_in_flight() {
    let world = World::new();
    for _ in 0..200 {
        let network = world.network();
        let lease = world.behind(&network, "ann").exclusive(JOB).acquire().await.unwrap();
        let in_flight = network.hold(Method::Renew);
        in_flight.reached().await;

        let release = tokio::spawn(lease.release());
        world.pass(SECOND / 10).await;
        assert_eq!(network.calls(Method::Withdraw), 0, "the renewal is still on its way");
        in_flight.open();

        assert_eq!(release.await.unwrap().unwrap(), Released::Freed);
        let renewals = network.calls(Method::Renew);
        world.pass(SECOND * 4).await;
        assert!(world.is_free().await);
        assert_eq!(network.calls(Method::Renew), renewals);
    }
}

/// Acquiring is given up at some moment while answers take 200 ms. The next one does not wait for
/// what was left. (Case 24.)
#[tokio::test(start_paused = true)]
async fn leaves_nothing_of_an_abandoned_acquire() {
    let world = World::new();
    let network = world.network();
    network.always(Method::Install, world.late(SECOND / 5));
    network.always(Method::Register, world.late(SECOND / 5));
    let chance = Jitter::seeded(24);
    let (ann, bob) = (world.behind(&network, "ann"), world.person("bob", SECOND * 3));
    for round in 0..100 {
        let ask = if round % 2 == 0 { ann.exclusive(JOB) } else { ann.writer(JOB) };
        let patience = chance.between(std::time::Duration::ZERO, SECOND * 2 / 5);
        let got = tokio::select! {
            lease = ask.acquire() => Some(lease.unwrap()),
            () = world.pass(patience) => None,
        };
        drop(got);

        let start = world.now();
        let next = bob.exclusive(JOB).wait(SECOND * 9).acquire().await.unwrap();
        let waited = world.now().since(start);
        assert!(waited < SECOND, "round {round}: {waited:?}");
        next.release().await.unwrap();
    }
}

/// The renewal itself panics, once and for ever. Other leases go on, and this one is lost in time.
/// (Case 10.)
#[rstest]
#[tokio::test(start_paused = true)]
async fn may_panic(#[values(true, false)] once: bool) {
    let world = World::new();
    let network = world.network();
    let lease = world.behind(&network, "ann").exclusive(JOB).acquire().await.unwrap();
    let start = world.now();
    let panics = || -> BoxFuture<'static, ()> { Box::pin(async { panic!("as the test wants") }) };
    if once {
        network.next(Method::Renew, Fault::before(panics));
        world.pass(SECOND * 10).await;
        lease.check().unwrap();
    } else {
        network.always(Method::Renew, Fault::before(panics));
        assert_eq!(lease.lost().await, LossReason::Expired);
        assert!(world.now().since(start) < SECOND * 3);
    }
}

/// The renewals are held up for two seconds. Then there is one, not all that were missed. (Case 3.)
#[tokio::test(start_paused = true)]
async fn is_not_flooded_after_a_stall() {
    let world = World::new();
    let network = world.network();
    let lease = world.behind(&network, "ann").exclusive(JOB).acquire().await.unwrap();
    let stalled = network.hold(Method::Renew);
    stalled.reached().await;
    world.pass(SECOND / 2).await;

    stalled.open();
    let before = network.calls(Method::Renew);
    world.pass(SECOND / 2).await;

    assert!(network.calls(Method::Renew) - before <= 2);
    lease.check().unwrap();
}

/// A store that swallows everything is told as that soon, however long the lease was to live.
#[rstest]
#[tokio::test(start_paused = true)]
async fn that_says_nothing_is_told_soon(#[values(true, false)] waits: bool) {
    let world = World::new();
    let network = world.network();
    network.all(Fault::hangs());
    let hour = SECOND * 3600;
    let ann = world.person_at("ann", hour, Arc::new(network.clone()), KeeperMode::CurrentRuntime);
    let ask = ann.exclusive(JOB);
    let ask = if waits { ask.wait(SECOND * 30) } else { ask };
    let begun = world.now();

    assert!(matches!(ask.acquire().await, Err(Error::Unavailable { .. })));

    // Four call timeouts of ten seconds and one more to withdraw; twice where the first of them
    // ended before the time to wait did.
    let took = world.now().since(begun);
    assert!(took <= SECOND * 100, "{took:?}");
}

/// While the store does not answer, whoever waits waits, and says why.
#[tokio::test(start_paused = true)]
async fn is_told_to_whoever_waits() {
    let world = World::new();
    let network = world.network();
    network.all(Fault::fails(Effect::Nothing));
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let listener = told.clone();
    let ask =
        world.behind(&network, "ann").exclusive(JOB).wait(SECOND * 2).on_wait(move |waiting| {
            listener.lock().unwrap().push(waiting.problem.map(ToString::to_string));
        });

    assert!(matches!(ask.acquire().await, Err(Error::Unavailable { .. })));

    let told = told.lock().unwrap();
    assert!(told.len() > 2 && told.iter().all(Option::is_some));
}

/// An outage is never read as "free". (Rule R3.)
#[tokio::test(start_paused = true)]
async fn is_never_read_as_free() {
    let world = World::new();
    let bob = world.person("bob", SECOND * 3);
    let bobs = bob.exclusive(JOB).acquire().await.unwrap();
    let network = world.network();
    let ann = world.behind(&network, "ann");
    for round in 0..20 {
        network.next(Method::Observe, Fault::fails(Effect::Nothing));
        network.next(Method::Install, Fault::fails(Effect::Unknown));
        match ann.exclusive(JOB).acquire().await {
            Err(Error::Unavailable { .. }) => {}
            refused => assert_eq!(held_by(refused), "bob", "round {round}"),
        }
    }
    bobs.confirm().await.unwrap();
}
