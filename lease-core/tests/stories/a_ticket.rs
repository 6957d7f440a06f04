//! A lease that moves to another process.

use std::sync::Arc;

use lease_core::keeper::KeeperMode;
use lease_core::layer::{Fault, Faulty, Method};
use lease_core::{Backend, Error, LossReason, Ticket, Timing};
use rstest::rstest;
use serde_json::{Value, json};

use crate::world::{JOB, SECOND, World, held_by, job};

/// Ann hands her lease to Bob. He goes on under the same epoch, nobody gets between, and the ticket
/// does not work a second time.
#[tokio::test(start_paused = true)]
async fn works_once() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 6), world.person("bob", SECOND * 6));
    let anns = ann.exclusive(JOB).acquire().await.unwrap();
    let (epoch, mut status) = (anns.epoch(), anns.status_changes());

    let ticket = anns.into_ticket().await.unwrap();
    assert_eq!(*status.borrow_and_update(), lease_core::Status::Lost(LossReason::HandedOver));
    let carried = serde_json::to_string(&ticket).unwrap();
    world.pass(SECOND).await;
    let carol = world.person("carol", SECOND * 6);
    assert_eq!(held_by(carol.exclusive(JOB).acquire().await), "ann");

    let ticket: Ticket = serde_json::from_str(&carried).unwrap();
    let bobs = bob.redeem(&ticket).await.unwrap();
    assert_eq!(bobs.epoch(), epoch);
    assert!(matches!(carol.redeem(&ticket).await, Err(Error::Lost { .. })));

    world.pass(SECOND * 20).await;
    bobs.confirm().await.unwrap();
    assert_eq!(held_by(carol.exclusive(JOB).acquire().await), "bob");
    bobs.release().await.unwrap();
    assert!(world.is_free().await);
}

/// Whoever goes on keeps the lease by the durations that it was taken with.
#[tokio::test(start_paused = true)]
async fn carries_its_durations() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 9), world.person("bob", SECOND * 60));
    let wide = Timing::with_ttl(SECOND * 6).margin(SECOND * 2).renew_every(SECOND).build().unwrap();
    let anns = ann.exclusive(JOB).timing(wide).acquire().await.unwrap();
    let ticket = anns.into_ticket().await.unwrap();

    let bobs = bob.redeem(&ticket).await.unwrap();

    assert_eq!(*bobs.timing(), wide);
    assert!(bobs.remaining() <= SECOND * 4, "the wider margin counts here too");
}

#[tokio::test(start_paused = true)]
async fn that_nobody_redeems_in_time_is_worth_nothing() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 2), world.person("bob", SECOND * 2));
    let ticket = ann.writer(JOB).acquire().await.unwrap().into_ticket().await.unwrap();
    world.pass(SECOND * 3).await;
    drop(bob.exclusive(JOB).acquire().await.unwrap());

    assert!(matches!(ann.redeem(&ticket).await, Err(Error::Lost { .. })));
}

/// How much of a grace has passed is not known to whoever redeems: all of it is waited out.
#[tokio::test(start_paused = true)]
async fn has_its_grace_waited_out_again() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 6), world.person("bob", SECOND * 6));
    let with_grace = Timing::with_ttl(SECOND * 6).grace(SECOND * 3).build().unwrap();
    let anns = ann.exclusive(JOB).timing(with_grace).acquire().await.unwrap();
    let bobs = bob.redeem(&anns.into_ticket().await.unwrap()).await.unwrap();

    assert!(matches!(bobs.guard(|_| async {}).await, Err(Error::NotYet { .. })));

    world.pass(SECOND * 3).await;
    bobs.guard(|_| async {}).await.unwrap();
}

/// A renewal of Ann's got through without an answer right before she hands over. The one that the
/// ticket stands on is another, so that there is a whole ttl to redeem it in. (Rule R8.)
#[tokio::test(start_paused = true)]
async fn lives_for_a_whole_ttl() {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let mode = KeeperMode::CurrentRuntime;
    let ann = world.person_at("ann", SECOND * 3, Arc::new(network.clone()), mode);
    let anns = ann.exclusive(JOB).acquire().await.unwrap();
    network.next(Method::Renew, Fault::answer_lost());
    world.pass(SECOND * 12 / 10).await;
    assert_eq!(network.calls(Method::Renew), 1);

    let ticket = anns.into_ticket().await.unwrap();

    let left = world.store.observe(&job()).await.unwrap().standing().free_in();
    assert_eq!(left, Some(SECOND * 3));
    drop(world.person("bob", SECOND).redeem(&ticket).await.unwrap());
}

/// Whatever was changed on its way, or is not known yet, is refused, and the ticket as it was made
/// still works.
#[rstest]
#[case::by_a_newer_version(|ticket: &mut Value| ticket["v"] = json!(2))]
#[case::to_another_beat(|ticket: &mut Value| ticket["holding"]["beat"] = json!(7))]
#[case::to_the_last_beat_there_is(|ticket: &mut Value| {
    ticket["holding"]["beat"] = json!(u64::MAX);
    ticket["holding"]["acknowledged"] = json!(u64::MAX);
})]
#[case::to_no_epoch(|ticket: &mut Value| ticket["holding"]["epoch"] = Value::Null)]
#[case::to_another_ttl(|ticket: &mut Value| ticket["holding"]["ttl"]["secs"] = json!(3600))]
#[tokio::test(start_paused = true)]
async fn that_was_changed_is_refused(#[case] change: fn(&mut Value)) {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 6), world.person("bob", SECOND * 6));
    let ticket = ann.exclusive(JOB).acquire().await.unwrap().into_ticket().await.unwrap();
    let mut carried = serde_json::to_value(&ticket).unwrap();
    change(&mut carried);

    let changed: Ticket = serde_json::from_value(carried).unwrap();
    let refused = bob.redeem(&changed).await;
    assert!(matches!(refused, Err(Error::Misconfigured { .. })), "{refused:?}");

    bob.redeem(&ticket).await.unwrap().confirm().await.unwrap();
}

/// A script renews: from ticket to ticket the lease lives on, each of them works once, and nobody gets
/// between.
#[tokio::test(start_paused = true)]
async fn is_renewed_by_the_next() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 6), world.person("bob", SECOND * 6));
    let first = ann.exclusive(JOB).acquire().await.unwrap().into_ticket().await.unwrap();
    let mut ticket = first.clone();
    for _ in 0..5 {
        world.pass(SECOND * 4).await;
        ann.confirm(&ticket).await.unwrap();
        ticket = ann.renew(&ticket).await.unwrap();
        assert_eq!(held_by(bob.exclusive(JOB).acquire().await), "ann");
    }
    assert_eq!((ticket.epoch(), ticket.nonce()), (first.epoch(), first.nonce()));
    for spent in [ann.renew(&first).await.map(drop), ann.confirm(&first).await.map(drop)] {
        assert!(matches!(spent, Err(Error::Lost { .. })), "{spent:?}");
    }
    // Nothing of that has touched the lease.
    ann.redeem(&ticket).await.unwrap().release().await.unwrap();
    assert!(world.is_free().await);
}

/// Looked at, it tells a writer that somebody waits, and it still works.
#[tokio::test(start_paused = true)]
async fn tells_who_waits_without_being_used() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 6), world.person("bob", SECOND * 6));
    let ticket = ann.writer(JOB).acquire().await.unwrap().into_ticket().await.unwrap();
    assert!(!ann.confirm(&ticket).await.unwrap());

    let waits = tokio::spawn(bob.exclusive(JOB).wait(SECOND * 60).acquire());
    world.pass(SECOND).await;
    assert!(ann.confirm(&ticket).await.unwrap());

    ann.redeem(&ticket).await.unwrap().release().await.unwrap();
    drop(waits.await.unwrap().unwrap());
    assert!(matches!(ann.confirm(&ticket).await, Err(Error::Lost { .. })));
}

/// An answer that comes when the lease has run out is no ticket that anybody may act on. (Rule R5.)
#[tokio::test(start_paused = true)]
async fn that_comes_too_late_is_none() {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let mode = KeeperMode::CurrentRuntime;
    // A patient coordinator, and a ticket of a short lease.
    let ann = world.person_at("ann", SECOND * 60, Arc::new(network.clone()), mode);
    let short = Timing::with_ttl(SECOND * 2).build().unwrap();
    let anns = ann.exclusive(JOB).timing(short).acquire().await.unwrap();
    let ticket = anns.into_ticket().await.unwrap();
    network.next(Method::Adopt, Fault::late_answer(Arc::new(world.clock), SECOND * 3));

    let late = ann.renew(&ticket).await;

    assert!(matches!(late, Err(Error::Lost { .. })), "{late:?}");
}
