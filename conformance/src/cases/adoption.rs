//! A lease moves to another process, by a ticket that is good for once.

use lease_core::backend::Renewed;
use lease_core::{Holding, LossReason, Name};

use super::LONG;
use crate::{Fixture, Worker};

/// Bob takes Ann's lease over by her ticket: it is shown as his, under the same epoch, and her own
/// renewals are lost from then on.
pub async fn moves_a_lease(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(LONG);
    let bob = Worker::new(store, "bob").await.with_ttl(LONG);

    let grant = ann.takes(&name).await;
    let ticket = ann.renews(&grant.holding).await;
    let bobs = adopts(&bob, &ticket).await.expect("the ticket is good");

    let seen = ann.sees(&name).await;
    let shown = seen.exclusive.expect("it is held");
    assert_eq!(shown.info.label, "bob", "an adopted lease must be shown as its new holder's");
    assert_eq!((shown.nonce, seen.epoch), (ticket.nonce, grant.epoch), "it is the same lease");
    let reason = ann.has_lost(&ticket).await;
    assert_eq!(reason, LossReason::HandedOver, "the old process must know what became of it");
    // Also one that it had sent before and that comes only now.
    ann.has_lost(&grant.holding).await;

    let bobs = bob.renews(&bobs).await;
    assert_eq!(ann.sees(&name).await.exclusive.expect("held").info.label, "bob");
    bob.releases(&bobs).await;
}

/// A writer's lease moves as well.
pub async fn moves_a_writer(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(LONG);
    let bob = Worker::new(store, "bob").await.with_ttl(LONG);
    let ticket = ann.joins(&name).await.holding;
    let bobs = adopts(&bob, &ticket).await.expect("the ticket is good");
    let seen = ann.sees(&name).await;
    assert_eq!(seen.record(bobs.nonce).expect("it is held").info.label, "bob");
    assert_eq!(store.records(&name).await, 1, "one lease has one record");
    bob.renews(&bobs).await;
}

/// Bob and Eve have the same ticket. One of them gets the lease.
pub async fn goes_through_once_for_each_revision(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(LONG);
    let bob = Worker::new(store, "bob").await.with_ttl(LONG);
    let eve = Worker::new(store, "eve").await.with_ttl(LONG);

    let ticket = ann.takes(&name).await.holding;
    let bobs = adopts(&bob, &ticket).await.expect("the ticket is good");
    assert!(adopts(&eve, &ticket).await.is_none(), "a ticket must be good for once");
    assert_eq!(ann.sees(&name).await.exclusive.expect("held").info.label, "bob");
    bob.holds(&bobs).await;
    let bobs = bob.renews(&bobs).await;

    // From the next revision on there is a next ticket.
    let eves = adopts(&eve, &bobs).await.expect("the ticket is good");
    eve.renews(&eves).await;
}

/// Ann has gone on after she wrote the ticket: it is out of date, and she holds.
pub async fn needs_the_revision_of_the_ticket(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(LONG);
    let bob = Worker::new(store, "bob").await.with_ttl(LONG);

    let ticket = ann.takes(&name).await.holding;
    let anns = ann.renews(&ticket).await;
    assert!(adopts(&bob, &ticket).await.is_none(), "an old ticket must be refused");
    ann.holds(&anns).await;
    ann.renews(&anns).await;
    assert_eq!(ann.sees(&name).await.exclusive.expect("held").info.label, "ann");
}

/// A ticket for a lease that has been released brings nothing back.
pub async fn never_revives_a_released_lease(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(LONG);
    let bob = Worker::new(store, "bob").await.with_ttl(LONG);
    for ticket in [ann.joins(&name).await.holding, ann.drains(&name).await.1.holding] {
        ann.releases(&ticket).await;
        assert!(adopts(&bob, &ticket).await.is_none(), "it was released");
    }
    assert!(ann.sees(&name).await.is_free(), "an adoption must create nothing");
}

/// Adopts a lease as its next beat; nothing if it is lost.
async fn adopts(worker: &Worker<'_>, ticket: &Holding) -> Option<Holding> {
    let mine = ticket.next_beat();
    match worker.backend().adopt(&mine, &worker.info()).await.expect("the store answers") {
        Renewed::Renewed { revision, .. } => Some(mine.acknowledged(revision)),
        Renewed::Lost(_) => None,
    }
}
