//! When a record that is not renewed gives way: not before its time, and soon after.

use std::time::Duration;

use lease_core::{Freshness, Holding, Moment, Name, TimeAuthority};

use crate::{Fixture, Worker};

/// A holder that fell silent is followed not before its ttl is over, and soon after.
pub async fn an_exclusive_gives_way_at_its_ttl(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let sent = ann.now();
    let anns = ann.takes(&name).await.holding;
    follows_at(&bob, &anns, sent).await;
    ann.has_lost(&anns).await;
}

/// A writer that fell silent holds an exclusive up until its ttl is over, and not much longer.
pub async fn a_writer_gives_way_at_its_ttl(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let sent = ann.now();
    let anns = ann.joins(&name).await.holding;
    follows_at(&bob, &anns, sent).await;
    ann.has_lost(&anns).await;
}

/// A drain that fell silent gives way as well, so that the writers flow again.
pub async fn a_drain_gives_way_at_its_ttl(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let ann = Worker::with(store, ann.backend(), "ann").with_ttl(ann.ttl() * 20);
    let bob = Worker::new(store, "bob").await;

    ann.joins(&name).await;
    let sent = bob.now();
    let (_, draining) = bob.drains(&name).await;
    ann.joins_in_time(&name, ann.patience(bob.ttl())).await;
    not_before(&bob, bob.ttl(), sent);
    bob.has_lost(&draining.holding).await;
}

/// Ann's lease is long and Bob would take a short one: Ann is judged by hers.
pub async fn a_holder_is_judged_by_its_own_ttl(store: &dyn Fixture, name: Name) {
    let short = Worker::new(store, "bob").await.ttl();
    let ann = Worker::new(store, "ann").await.with_ttl(short * 3);
    let bob = Worker::new(store, "bob").await;

    let sent = ann.now();
    let anns = ann.takes(&name).await.holding;
    follows_at(&bob, &anns, sent).await;
}

/// Ann's lease is short and Bob would take a long one: he waits no longer than hers.
pub async fn a_short_lease_is_not_stretched_by_who_asks(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await.with_ttl(ann.ttl() * 20);

    ann.takes(&name).await;
    bob.takes_in_time(&name, ann.patience(ann.ttl())).await;
}

/// A renewal may ask for another ttl; from then on that one counts.
pub async fn a_renewal_may_lengthen_the_ttl(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let anns = ann.takes(&name).await.holding;
    let sent = ann.now();
    let anns = ann.renews(&Holding { ttl: ann.ttl() * 3, ..anns }).await;
    assert_eq!(bob.sees(&name).await.exclusive.expect("held").ttl, ann.ttl() * 3);
    follows_at(&bob, &anns, sent).await;
}

/// The other way round.
pub async fn a_renewal_may_shorten_the_ttl(store: &dyn Fixture, name: Name) {
    let short = Worker::new(store, "ann").await.ttl();
    let ann = Worker::new(store, "ann").await.with_ttl(short * 20);
    let bob = Worker::new(store, "bob").await;

    let anns = ann.takes(&name).await.holding;
    let sent = ann.now();
    let anns = ann.renews(&Holding { ttl: short, ..anns }).await;
    follows_at(&bob, &anns, sent).await;
}

/// A snapshot tells how long a record still lives, by the store's clock; or the store has said that
/// it leaves the judging to whoever looks.
pub async fn a_record_tells_how_long_it_lives(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    ann.takes(&name).await;
    let young = bob.sees(&name).await.exclusive.expect("held");
    if ann.capabilities().time == TimeAuthority::Observation {
        assert_eq!(young.freshness, Freshness::Unknown, "an observer must judge by itself");
        return;
    }
    let left = left(young.freshness);
    assert!(left <= ann.ttl(), "no record lives longer than its ttl");
    ann.waits(ann.ttl() / 2).await;
    let later = bob.sees(&name).await.exclusive.expect("held").freshness;
    let resolution = ann.capabilities().clock_resolution;
    let at_most = left.saturating_sub(ann.ttl() / 2) + resolution * 2;
    assert!(self::left(later) <= at_most, "half a ttl later there must be less left");

    ann.waits_until_it_expires(ann.ttl() / 2).await;
    let old = bob.sees(&name).await.exclusive.expect("an expired record stays until it is cleared");
    assert_eq!(old.freshness, Freshness::Stale, "it has expired");
    assert!(old.age >= Some(ann.ttl().saturating_sub(resolution)), "its age must tell");
}

/// What is left of a record; nothing where it has expired on a machine that stalled.
fn left(freshness: Freshness) -> Duration {
    match freshness {
        Freshness::Fresh { left } => left,
        Freshness::Stale => Duration::ZERO,
        Freshness::Unknown => panic!("a store that judges by its clock must tell"),
    }
}

/// Bob takes the name as soon as the record that was last written after `sent` gives way.
async fn follows_at(bob: &Worker<'_>, record: &Holding, sent: Moment) {
    bob.takes_in_time(&record.name, bob.patience(record.ttl)).await;
    not_before(bob, record.ttl, sent);
}

/// Asserts that the ttl of a record that was written after `sent` is over by now.
fn not_before(bob: &Worker<'_>, ttl: Duration, sent: Moment) {
    let waited = bob.now().since(sent) + bob.capabilities().clock_resolution;
    assert!(waited >= ttl, "a record must live for its own ttl of {ttl:?}, not {waited:?}");
}
