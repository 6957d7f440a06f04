//! The write under a lease, and when it does not happen.

use std::sync::Arc;

use lease_core::keeper::{Driven, KeeperMode};
use lease_core::layer::{Fault, Faulty, Method};
use lease_core::{Backend, BreakNote, Clock, Error, Gate, LossReason, Mode, Policy, Timing};
use rstest::rstest;

use crate::world::{JOB, SECOND, World, job};

fn with_grace() -> Timing {
    Timing::with_ttl(SECOND * 2).grace(SECOND * 3).build().unwrap()
}

fn note() -> BreakNote {
    BreakNote::new("an operator", "it is dead")
}

/// Bob took over from Ann, who let hers expire: her last write may be on its way, so his first one
/// waits out the grace. After a release there is nothing to wait for.
#[tokio::test(start_paused = true)]
async fn waits_out_the_grace_after_a_takeover() {
    let world = World::new();
    let (ann, _frozen) = world.frozen("ann", SECOND * 2);
    let anns = ann.exclusive(JOB).acquire().await.unwrap();
    let bob = world.person("bob", SECOND * 2);

    let bobs = bob.exclusive(JOB).timing(with_grace()).wait(SECOND * 9).acquire().await.unwrap();
    let Err(Error::NotYet { after, .. }) = bobs.guard(|_| async {}).await else {
        panic!("the grace runs")
    };
    assert!(after <= SECOND * 3 && after > SECOND * 2, "{after:?}");
    world.pass(after).await;
    bobs.guard(|_| async {}).await.unwrap();
    bobs.release().await.unwrap();

    let calm = bob.exclusive(JOB).timing(with_grace()).acquire().await.unwrap();
    calm.guard(|_| async {}).await.unwrap();
    drop(anns);
}

/// Ann's lease expired, Bob leaves it to an operator, and the operator breaks it. It is an expired
/// holder all the same that he comes after, so he waits out the grace.
#[rstest]
#[tokio::test(start_paused = true)]
async fn waits_out_the_grace_though_another_cleared_the_way(
    #[values(Mode::Exclusive, Mode::Writer)] mode: Mode,
) {
    let world = World::new();
    let (ann, _frozen) = world.frozen("ann", SECOND * 2);
    let anns = ann.exclusive(JOB).acquire().await.unwrap();
    world.pass(SECOND * 3).await;
    let bob = world.person("bob", SECOND * 2);
    let bobs = bob.ask(JOB, mode).timing(with_grace()).policy(Policy::refuse()).wait(SECOND * 20);
    let waiting = tokio::spawn(bobs.acquire());
    world.pass(SECOND).await;

    bob.break_record(&job(), anns.nonce(), &note()).await.unwrap();

    let bobs = waiting.await.unwrap().unwrap();
    assert!(matches!(bobs.guard(|_| async {}).await, Err(Error::NotYet { .. })));
}

/// The same for an expired writer that an exclusive found while it waited for another one.
#[rstest]
#[tokio::test(start_paused = true)]
async fn waits_out_the_grace_after_an_expired_writer(#[values(true, false)] first: bool) {
    let world = World::new();
    let people = [world.frozen("one", SECOND * 2), world.frozen("two", SECOND * 2)];
    let mut writers = Vec::new();
    for (person, hand) in &people {
        writers.push((person.writer(JOB).acquire().await.unwrap(), hand));
    }
    // Wherever in the store's listing the one stands who dies.
    let listed = world.store.observe(&job()).await.unwrap().writers[0].nonce;
    writers.sort_by_key(|(lease, _)| (lease.nonce() == listed) != first);
    let [(dead, _), (alive, hand)] = &writers[..] else { panic!("there are two") };
    for _ in 0..4 {
        world.pass(SECOND * 7 / 10).await;
        hand.step().await;
    }
    let bob = world.person("bob", SECOND * 2);
    let bobs = bob.exclusive(JOB).timing(with_grace()).policy(Policy::refuse()).wait(SECOND * 20);
    let waiting = tokio::spawn(bobs.acquire());
    world.pass(SECOND / 10).await;

    bob.break_record(&job(), dead.nonce(), &note()).await.unwrap();
    alive.check().unwrap();
    bob.break_record(&job(), alive.nonce(), &note()).await.unwrap();

    let bobs = waiting.await.unwrap().unwrap();
    assert!(matches!(bobs.guard(|_| async {}).await, Err(Error::NotYet { .. })));
}

/// Where whoever was in the way has released, however long that was waited for, there is no grace.
#[rstest]
#[tokio::test(start_paused = true)]
async fn waits_for_no_grace_after_a_release(#[values(Mode::Exclusive, Mode::Writer)] holder: Mode) {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 2), world.person("bob", SECOND * 2));
    let anns = ann.ask(JOB, holder).acquire().await.unwrap();
    let bobs = bob.exclusive(JOB).timing(with_grace()).wait(SECOND * 20);
    let waiting = tokio::spawn(bobs.acquire());
    world.pass(SECOND * 5).await;

    anns.release().await.unwrap();

    waiting.await.unwrap().unwrap().guard(|_| async {}).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn is_dropped_at_the_end_of_the_belief_where_asked() {
    let world = World::new();
    let (ann, _frozen) = world.frozen("ann", SECOND * 2);
    let lease = ann.exclusive(JOB).acquire().await.unwrap();
    let clock = world.clock;

    let endless = lease.guard_bounded(|_| clock.sleep_until(clock.now().plus(SECOND * 60))).await;

    assert!(matches!(endless, Err(Error::Lost { reason: LossReason::Expired, .. })));
    assert!(lease.check().is_err());
}

/// Both modes announce before they work; a resource that has seen a later holder ends the lease.
#[tokio::test(start_paused = true)]
async fn is_refused_where_a_later_holder_was_seen() {
    let world = World::new();
    let (ann, _frozen) = world.frozen("ann", SECOND * 2);
    let gate = Gate::new();
    let anns = ann.writer(JOB).acquire().await.unwrap();
    world.pass(SECOND * 3).await;
    let bobs = world.person("bob", SECOND * 2).exclusive(JOB).acquire().await.unwrap();
    bobs.announce(&gate).await.unwrap();
    let again = ann.exclusive("another").acquire().await.unwrap();

    // A holder that believes in an older token finds out at the resource.
    let stale = Gate::having_seen(lease_core::Token::from_number(u64::MAX));
    assert!(matches!(again.announce(&stale).await, Err(Error::Lost { .. })));
    assert!(again.check().is_err());
    assert!(anns.announce(&gate).await.is_err());
    drop(bobs);
}

/// Such a lease is over though the store knows nothing of that: it is not renewed any more, and its
/// name falls free.
#[tokio::test(start_paused = true)]
async fn that_was_refused_keeps_nobody_out() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 2), world.person("bob", SECOND * 2));
    let anns = ann.exclusive(JOB).acquire().await.unwrap();
    let stale = Gate::having_seen(lease_core::Token::from_number(u64::MAX));
    assert!(anns.announce(&stale).await.is_err());

    drop(bob.exclusive(JOB).wait(SECOND * 4).acquire().await.unwrap());
    assert!(anns.check().is_err());
}

/// A lease that was shortened is judged, and believed in, by the shorter ttl at once (rule R17).
#[tokio::test(start_paused = true)]
async fn by_a_shortened_lease_ends_sooner() {
    let world = World::new();
    let ann = world.person("ann", SECOND * 60);
    let mut lease = ann.exclusive(JOB).acquire().await.unwrap();

    lease.retime(Timing::with_ttl(SECOND * 2).build().unwrap()).unwrap();
    world.pass(SECOND / 10).await;
    assert!(lease.remaining() <= SECOND * 2);

    world.pass(SECOND * 10).await;
    lease.check().unwrap();
    assert!(lease.retime(Timing::with_ttl(SECOND * 5).build().unwrap()).is_ok());
    world.pass(SECOND / 10).await;
    assert!(lease.remaining() > SECOND * 4);
}

/// The renewal that says so is sent, and nothing comes back before the process freezes. The belief
/// is the shorter one already, and whoever waits for its end is told in time.
#[tokio::test(start_paused = true)]
async fn by_a_shortened_lease_ends_sooner_though_nobody_answers() {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    network.always(Method::Renew, Fault::hangs());
    let hand = Driven::new();
    let mode = KeeperMode::Driven(hand.clone());
    let ann = world.person_at("ann", SECOND * 60, Arc::new(network.clone()), mode);
    let mut lease = ann.exclusive(JOB).acquire().await.unwrap();
    let start = world.now();
    lease.retime(Timing::with_ttl(SECOND * 2).build().unwrap()).unwrap();

    let sends_and_freezes = async {
        tokio::select! {
            _ = hand.step() => panic!("nothing comes back"),
            () = world.pass(SECOND / 10) => {}
        }
    };
    let (reason, ()) = tokio::join!(lease.lost(), sends_and_freezes);

    assert_eq!(reason, LossReason::Expired);
    let after = world.now().since(start);
    assert!(after <= SECOND * 2, "{after:?}");
}

/// The store confirms, and its answer arrives at the very moment at which the belief ends. The look
/// at one's own clock after it refuses the write. (Rule R23.)
#[tokio::test(start_paused = true)]
async fn is_refused_when_the_proof_comes_too_late() {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let nobody_renews = KeeperMode::Driven(Driven::new());
    let ann = world.person_at("ann", SECOND * 4, Arc::new(network.clone()), nobody_renews);
    let patient = Timing::with_ttl(SECOND * 4).call_timeout(SECOND * 8).build().unwrap();
    let lease = ann.exclusive(JOB).timing(patient).acquire().await.unwrap();
    network.next(Method::Confirm, Fault::late_answer(Arc::new(world.clock), lease.remaining()));

    let written = lease.guard(|_| async { "written" }).await;

    assert!(matches!(written, Err(Error::Lost { .. })), "{written:?}");
}
