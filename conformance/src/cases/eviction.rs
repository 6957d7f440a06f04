//! Somebody else's record is removed only on the evidence that was given for it.

use lease_core::backend::{Evicted, Installed};
use lease_core::{Holding, Judged, Name, Target};

use super::LONG;
use crate::{Fixture, Worker};

/// A record that lives is not removed as stale (rule R9), in whichever mode.
pub async fn of_a_living_record_is_refused(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(LONG);
    let bob = Worker::new(store, "bob").await;

    let writer = ann.joins(&name).await.holding;
    assert_eq!(evicts(&bob, &writer, Judged::ByStore).await, Evicted::Kept, "it lives");
    ann.holds(&writer).await;
    ann.releases(&writer).await;

    let exclusive = ann.takes(&name).await.holding;
    assert_eq!(evicts(&bob, &exclusive, Judged::ByStore).await, Evicted::Kept, "it lives");
    ann.holds(&exclusive).await;
}

/// Bob saw a revision stand still; by the time that he acts on it Ann has renewed.
pub async fn of_a_record_that_was_renewed_since_is_refused(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(LONG);
    let bob = Worker::new(store, "bob").await;

    let shown = ann.joins(&name).await.holding;
    let renewed = ann.renews(&shown).await;
    assert_eq!(evicts(&bob, &shown, Judged::Observed).await, Evicted::Kept, "it was renewed");
    assert_eq!(evicts(&bob, &shown, Judged::DeadProcess).await, Evicted::Kept, "it was renewed");
    ann.holds(&renewed).await;
    ann.releases(&renewed).await;

    let shown = ann.takes(&name).await.holding;
    let renewed = ann.renews(&shown).await;
    assert_eq!(evicts(&bob, &shown, Judged::Observed).await, Evicted::Kept, "it was renewed");
    ann.holds(&renewed).await;
}

/// The record that was judged has gone, and another one stands there now (rule R13).
pub async fn of_a_predecessor_does_not_hit_its_successor(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await.with_ttl(LONG);

    let anns = ann.takes(&name).await.holding;
    let bobs = bob.takes_in_time(&name, bob.patience(ann.ttl())).await.holding;
    for judged in [Judged::ByStore, Judged::Observed, Judged::DeadProcess] {
        // It went long ago: either answer tells that nobody of that nonce is there.
        evicts(&ann, &anns, judged).await;
    }
    bob.holds(&bobs).await;
}

/// A writer that has expired is removed, and stays removed.
pub async fn removes_an_expired_writer(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let anns = ann.joins(&name).await.holding;
    ann.waits_until_it_expires(ann.ttl()).await;
    bob.evicts_in_time(&name, &target(&anns)).await;
    ann.has_lost(&anns).await;
    assert_eq!(store.records(&name).await, 0, "an evicted record must be gone");
    bob.takes(&name).await;
}

/// So is an exclusive, and its epoch stays.
pub async fn removes_an_expired_exclusive(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let anns = ann.takes(&name).await;
    ann.waits_until_it_expires(ann.ttl()).await;
    bob.evicts_in_time(&name, &target(&anns.holding)).await;
    ann.has_lost(&anns.holding).await;
    assert!(bob.sees(&name).await.epoch >= anns.epoch, "an eviction must not lower the epoch");
    assert!(bob.takes(&name).await.epoch > anns.epoch, "the next one must rise above it");
}

/// A record whose process is proven dead goes at exactly the revision that was seen, fresh or not.
pub async fn removes_what_was_observed_at_its_revision(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let anns = ann.joins(&name).await.holding;
    let there = bob.sees(&name).await.record(anns.nonce).expect("ann writes").target();
    let evicted = bob.backend().evict(&name, &there, Judged::DeadProcess).await;
    assert_eq!(evicted.expect("the store answers"), Evicted::Condemned);
    bob.takes_in_time(&name, bob.patience(ann.ttl())).await;
    ann.has_lost(&anns).await;
}

/// A takeover goes over exactly the record that was judged, and over nothing else (rule R12).
pub async fn by_a_takeover_needs_the_judged_record(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(LONG);
    let bob = Worker::new(store, "bob").await;

    let before = ann.takes(&name).await.holding;
    ann.releases(&before).await;
    let empty = bob.sees(&name).await;
    let shown = ann.takes(&name).await.holding;
    let seen = bob.sees(&name).await;
    let renewed = ann.renews(&shown).await;

    let install = async |seen, over| {
        let installed = bob.backend().install(&bob.exclusive(&name), seen, over).await;
        installed.expect("the store answers")
    };
    let refused = Installed::Refused;
    assert_eq!(install(&empty, None).await, refused, "the name is taken by now");
    assert_eq!(install(&seen, None).await, refused, "the name is taken");
    let old = target(&shown);
    assert_eq!(install(&seen, Some((&old, Judged::ByStore))).await, refused, "it lives");
    assert_eq!(install(&seen, Some((&old, Judged::Observed))).await, refused, "it was renewed");
    let gone = target(&before);
    assert_eq!(install(&seen, Some((&gone, Judged::Observed))).await, refused, "not that one");
    ann.holds(&renewed).await;
    assert_eq!(store.records(&name).await, 1, "a refused takeover must leave nothing behind");
}

async fn evicts(worker: &Worker<'_>, whose: &Holding, judged: Judged) -> Evicted {
    let evicted = worker.backend().evict(&whose.name, &target(whose), judged).await;
    evicted.expect("the store answers")
}

/// The record as its holder last wrote it.
fn target(whose: &Holding) -> Target {
    Target { mode: whose.mode, nonce: whose.nonce, revision: whose.revision.clone() }
}
