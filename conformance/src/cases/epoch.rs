//! Epochs rise with every granted exclusive, and with nothing else, and never fall.

use lease_core::{Epoch, Grant, Name};

use super::part;
use crate::{Fixture, Worker};

/// A release frees the name and keeps its epoch.
///
/// This catches stores that delete the record on release and start again at one.
pub async fn rises_across_release(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let first = ann.takes(&name).await;
    ann.releases(&first.holding).await;
    let second = bob.takes(&name).await;
    rises(&first, &second);

    bob.releases(&second.holding).await;
    rises(&second, &ann.takes(&name).await);
}

/// A holder that expired is followed under a higher epoch.
pub async fn rises_across_expiry(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let first = ann.takes(&name).await;
    let second = bob.takes_in_time(&name, bob.patience(ann.ttl())).await;
    rises(&first, &second);
}

/// A name that nobody asked for in a long while has not forgotten its epoch.
pub async fn rises_across_a_long_silence(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;

    let first = ann.takes(&name).await;
    ann.releases(&first.holding).await;
    ann.waits(ann.ttl() * 6).await;
    // Whatever the store cleans up, it does when somebody comes along.
    ann.sees(&name).await;
    ann.joins(&part(&name, "beside")).await;
    ann.waits(ann.ttl()).await;
    rises(&first, &ann.takes(&name).await);
}

/// A holder that an operator broke is followed under a higher epoch.
pub async fn rises_across_break(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    let first = ann.takes(&name).await;
    bob.breaks(&first.holding).await;
    rises(&first, &bob.takes(&name).await);
}

/// Each client sees what the others left: the epoch is the store's, not the connection's.
pub async fn rises_for_every_client(store: &dyn Fixture, name: Name) {
    let mut last = Epoch::default();
    for _ in 0..12 {
        let worker = Worker::lasting(store, "one of many").await;
        let grant = worker.takes(&name).await;
        assert!(grant.epoch > last, "{} must rise above {last}", grant.epoch);
        assert_eq!(grant.holding.epoch, Some(grant.epoch), "a grant carries its epoch");
        worker.releases(&grant.holding).await;
        last = grant.epoch;
    }
}

/// An exclusive that drained and withdrew was never granted and raises nothing (rule R20): the
/// writers on both sides of it share their epoch.
pub async fn a_withdrawn_exclusive_does_not_raise_it(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    let before = ann.joins(&name).await;
    let (_, draining) = bob.drains(&name).await;
    assert_eq!(bob.sees(&name).await.epoch, before.epoch, "an installation must raise no epoch");
    bob.releases(&draining.holding).await;

    let after = bob.joins(&name).await;
    assert_eq!(after.epoch, before.epoch, "a withdrawn exclusive must raise no epoch");
}

/// The same for one that stopped renewing while it drained and was cleared away.
pub async fn an_expired_drain_does_not_raise_it(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let ann = Worker::with(store, ann.backend(), "ann").with_ttl(ann.ttl() * 20);
    let bob = Worker::new(store, "bob").await;

    let before = ann.joins(&name).await;
    bob.drains(&name).await;
    let after = ann.joins_in_time(&name, ann.patience(bob.ttl())).await;
    assert_eq!(after.epoch, before.epoch, "a drain that ran out must raise no epoch");
}

/// Writers between two exclusives share the epoch of the one before them.
pub async fn writers_carry_the_epoch_that_they_joined_under(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    let exclusive = ann.takes(&name).await;
    ann.releases(&exclusive.holding).await;
    let (anns, bobs) = (ann.joins(&name).await, bob.joins(&name).await);
    assert_eq!((anns.epoch, bobs.epoch), (exclusive.epoch, exclusive.epoch), "writers share");
    assert_eq!(anns.holding.epoch, Some(anns.epoch), "a grant carries its epoch");
    ann.releases(&anns.holding).await;
    bob.releases(&bobs.holding).await;

    let next = bob.takes(&name).await;
    rises(&exclusive, &next);
    bob.releases(&next.holding).await;
    assert_eq!(ann.joins(&name).await.epoch, next.epoch, "the next writers carry the next epoch");
}

/// Neither renewals nor the writers' coming and going raise it.
pub async fn stands_still_while_a_lease_is_held(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let grant = ann.takes(&name).await;
    let mut mine = grant.holding;
    for _ in 0..3 {
        mine = ann.renews(&mine).await;
    }
    assert_eq!(ann.sees(&name).await.epoch, grant.epoch, "a renewal must raise no epoch");
    assert_eq!(mine.epoch, Some(grant.epoch));
}

/// Somebody deletes the state by hand. A store either goes on rising, or has said that it cannot.
pub async fn outlives_erasure_exactly_where_promised(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;

    let mut last = Epoch::default();
    for _ in 0..3 {
        let grant = ann.takes(&name).await;
        ann.releases(&grant.holding).await;
        last = grant.epoch;
    }
    store.erase(&name).await;
    // A store that starts from its clock needs that to have moved.
    ann.waits(ann.ttl() / 10).await;
    let next = ann.takes(&name).await.epoch;

    let promised = ann.capabilities().epoch_survives_erasure;
    assert_eq!(next > last, promised, "the capability must tell the truth: {last}, then {next}");
}

fn rises(first: &Grant, second: &Grant) {
    assert!(second.epoch > first.epoch, "{} must rise above {}", second.epoch, first.epoch);
}
