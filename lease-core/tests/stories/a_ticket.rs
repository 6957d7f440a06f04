//! A lease that moves to another process.

use lease_core::{Error, LossReason, Ticket, Timing};

use crate::world::{JOB, SECOND, World, held_by};

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
