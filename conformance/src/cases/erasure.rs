//! State that was deleted or spoilt by hand, and records that another version wrote.

use lease_core::backend::{Broken, Committed, Taken};
use lease_core::{Holding, Mode, Name, Record, TimeAuthority, Unreadable};

use super::LONG;
use crate::{Damage, Fixture, Worker};

/// The state is gone: whoever held by it has lost, and the name is free for all.
pub async fn ends_every_lease(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    let anns = ann.takes(&name).await.holding;
    store.erase(&name).await;
    ann.has_lost(&anns).await;
    assert!(bob.sees(&name).await.is_free(), "nothing is left");
    let bobs = bob.joins(&name).await.holding;
    ann.has_lost(&anns).await;
    store.erase(&name).await;
    bob.has_lost(&bobs).await;
    ann.takes(&name).await;
}

/// An exclusive whose record vanishes while it drains is not granted.
pub async fn ends_a_drain(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    ann.joins(&name).await;
    let (claim, draining) = bob.drains(&name).await;
    store.erase(&name).await;
    let committed = bob.backend().commit(&draining.holding).await.expect("the store answers");
    assert_eq!(committed, Committed::Lost, "nothing is left to commit");
    let taken = bob.tries_to_take(&claim, Some(&draining)).await;
    assert!(matches!(taken, Taken::Displaced(_)), "its record is gone: {taken:?}");
    ann.takes(&name).await;
}

/// A newer version wrote the exclusive: it is held until its holder ends it, however old it grows.
pub async fn a_newer_record_is_respected(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;
    let operator = Worker::new(store, "operator").await;

    let anns = ann.takes(&name).await;
    let shown = spoils(store, &bob, &anns.holding, Damage::NewerVersion).await;
    assert_eq!(shown.unreadable, Some(Unreadable::NewerVersion(99)), "it must say what it is");
    for _ in 0..3 {
        bob.is_refused_as_writer(&name).await;
        bob.is_refused_as_exclusive(&name).await;
        bob.waits(ann.ttl()).await;
    }

    // Only an operator can end it from here, and the epoch goes on.
    let broken = operator.breaks(&Holding { nonce: shown.nonce, ..anns.holding }).await;
    assert!(matches!(broken, Broken::Broken { .. }), "what blocks must be breakable: {broken:?}");
    assert!(bob.takes(&name).await.epoch > anns.epoch, "the next one must rise above it");
}

/// A newer version wrote the writer: an exclusive waits for it, however old it grows.
pub async fn a_newer_writer_is_respected(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await.with_ttl(LONG);

    let anns = ann.joins(&name).await;
    let shown = spoils(store, &bob, &anns.holding, Damage::NewerVersion).await;
    let (claim, mut draining) = bob.drains(&name).await;
    for _ in 0..3 {
        bob.waits(ann.ttl()).await;
        draining = bob.still_drains(&claim, &draining).await;
    }
    bob.breaks(&Holding { nonce: shown.nonce, ..anns.holding }).await;
    bob.has_drained(&claim, &draining).await;
}

/// An exclusive record of no content blocks until it stood still for the ttl of whoever asks.
pub async fn an_empty_record_is_held_for_a_ttl(store: &dyn Fixture, name: Name) {
    corrupt_exclusive(store, &name, Damage::Empty).await;
}

/// The same for one that is cut off.
pub async fn a_truncated_record_is_held_for_a_ttl(store: &dyn Fixture, name: Name) {
    corrupt_exclusive(store, &name, Damage::Truncated).await;
}

/// A writer's record of no content holds an exclusive up until it stood still.
pub async fn an_empty_writer_is_held_for_a_ttl(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let anns = ann.joins(&name).await;
    let shown = spoils(store, &bob, &anns.holding, Damage::Empty).await;
    assert!(matches!(shown.unreadable, Some(Unreadable::Corrupt(_))), "{:?}", shown.unreadable);
    let (claim, draining) = bob.drains(&name).await;
    if bob.capabilities().time == TimeAuthority::Store {
        bob.goes_on_in_time(claim, Some(draining), bob.patience(bob.ttl())).await;
    }
}

/// A field that this version does not know does no harm: a later version may have written it.
pub async fn an_unknown_field_does_no_harm(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    for anns in [ann.joins(&name).await.holding, ann.drains(&name).await.1.holding] {
        let shown = spoils(store, &bob, &anns, Damage::UnknownField).await;
        assert_eq!(shown.unreadable, None, "an unknown field must do no harm");
        assert_eq!(shown.info.label, "ann", "the rest is as readable as before");
        assert_eq!(shown.nonce, anns.nonce, "the rest is as readable as before");
    }
}

async fn corrupt_exclusive(store: &dyn Fixture, name: &Name, damage: Damage) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let sent = ann.now();
    let anns = ann.takes(name).await;
    let shown = spoils(store, &bob, &anns.holding, damage).await;
    assert!(matches!(shown.unreadable, Some(Unreadable::Corrupt(_))), "{:?}", shown.unreadable);
    bob.is_refused_as_writer(name).await;
    bob.is_refused_as_exclusive(name).await;
    if bob.capabilities().time == TimeAuthority::Store {
        let bobs = bob.takes_in_time(name, bob.patience(bob.ttl())).await;
        assert!(bobs.epoch > anns.epoch, "the next one must rise above it");
        let waited = bob.now().since(sent) + bob.capabilities().clock_resolution;
        assert!(waited >= bob.ttl(), "what cannot be read must be held for a ttl, not {waited:?}");
    }
}

/// Spoils a record, which stays there for all to see.
async fn spoils(
    store: &dyn Fixture,
    looker: &Worker<'_>,
    whose: &Holding,
    damage: Damage,
) -> Record {
    store.damage(&whose.name, whose.nonce, damage).await;
    let seen = looker.sees(&whose.name).await;
    let shown = match whose.mode {
        Mode::Exclusive => seen.exclusive,
        Mode::Writer => seen.writers.into_iter().next(),
    };
    let shown = shown.expect("a spoilt record must be seen: somebody may hold by it");
    assert_eq!(shown.mode, whose.mode, "a spoilt record keeps its place");
    shown
}
