//! A renewal extends one's own record, and does nothing else.

use lease_core::backend::Renewed;
use lease_core::{Holding, Mode, Name};

use super::{never_there, part};
use crate::{Fixture, Worker};

/// From each renewal on a lease lives one more ttl.
pub async fn extends_a_lease(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;
    let resolution = ann.capabilities().clock_resolution;

    let mut anns = ann.takes(&name).await.holding;
    let mut sent = ann.now();
    for _ in 0..4 {
        ann.waits(ann.ttl() / 2).await;
        sent = ann.now();
        anns = ann.renews(&anns).await;
    }
    bob.takes_in_time(&name, bob.patience(ann.ttl())).await;
    let waited = bob.now().since(sent) + resolution;
    assert!(waited >= ann.ttl(), "a renewal must give one more ttl, not {waited:?}");
}

/// The same for a writer.
pub async fn extends_a_writer(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await.with_ttl(ann.ttl() * 20);

    let mut anns = ann.joins(&name).await.holding;
    let (claim, mut draining) = bob.drains(&name).await;
    for _ in 0..4 {
        ann.waits(ann.ttl() / 2).await;
        anns = ann.renews(&anns).await;
        draining = bob.still_drains(&claim, &draining).await;
    }
    ann.releases(&anns).await;
    bob.has_drained(&claim, &draining).await;
}

/// A drain keeps its own record alive: each round renews it.
pub async fn a_drain_is_renewed_by_its_rounds(store: &dyn Fixture, name: Name) {
    let bob = Worker::new(store, "bob").await;
    let ann = Worker::new(store, "ann").await.with_ttl(bob.ttl() * 20);

    let anns = ann.joins(&name).await.holding;
    let (claim, mut draining) = bob.drains(&name).await;
    for _ in 0..4 {
        ann.waits(bob.ttl() / 2).await;
        draining = bob.still_drains(&claim, &draining).await;
    }
    ann.is_refused_as_writer(&name).await;
    ann.releases(&anns).await;
    bob.has_drained(&claim, &draining).await;
}

/// Ann expired and Bob follows her. However often she renews, it is his.
pub async fn never_brings_back_a_lost_lease(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await.with_ttl(ann.ttl() * 20);

    let anns = ann.takes(&name).await.holding;
    let bobs = bob.takes_in_time(&name, bob.patience(ann.ttl())).await.holding;
    for _ in 0..3 {
        ann.has_lost(&anns).await;
    }
    bob.holds(&bobs).await;
    let there = bob.sees(&name).await.exclusive.expect("bob holds");
    assert_eq!(there.nonce, bobs.nonce, "a late renewal must not touch the next holder");
    assert_eq!(there.revision, bobs.revision, "a late renewal must not touch the next holder");
    assert_eq!(there.info.label, "bob");
}

/// A renewal of what was never there is lost and leaves nothing (rule R2).
pub async fn never_creates_a_record(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;
    bob.joins(&name).await;

    let (writer, exclusive) = (Mode::Writer, Mode::Exclusive);
    for (name, mode) in [(&name, writer), (&name, exclusive), (&part(&name, "new"), writer)] {
        let never = never_there(&ann, name, mode).await;
        ann.has_lost(&never).await;
        assert!(
            ann.sees(name).await.record(never.nonce).is_none(),
            "a renewal must never create a record"
        );
    }
    assert_eq!(store.records(&name).await, 1, "only bob's record is there");
}

/// A renewal that comes after the release, on its own way, does not bring the lease back.
pub async fn never_revives_a_released_lease(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;

    for mode in [Mode::Writer, Mode::Exclusive] {
        let anns = match mode {
            Mode::Writer => ann.joins(&name).await.holding,
            Mode::Exclusive => ann.takes(&name).await.holding,
        };
        let renewed = ann.renews(&anns).await;
        ann.releases(&renewed).await;
        ann.has_lost(&renewed).await;
        // One that was on its way since before the last one.
        ann.has_lost(&anns).await;
        assert!(ann.sees(&name).await.is_free(), "a late renewal must revive nothing");
        assert_eq!(store.records(&name).await, 0, "a late renewal must revive nothing");
    }
}

/// Ann wakes up late, and nobody has followed her. Either she goes on, and then really holds; or
/// she has lost, and then for good.
pub async fn a_late_one_is_honest(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let anns = ann.takes(&name).await.holding;
    ann.waits_until_it_expires(ann.ttl()).await;
    let late = ann.sends_a_renewal(&anns).await;
    match late {
        Renewed::Renewed { revision, .. } => {
            let anns = anns.next_beat().acknowledged(revision);
            bob.is_refused_as_exclusive(&name).await;
            ann.holds(&anns).await;
        }
        Renewed::Lost(_) => {
            ann.has_lost(&anns).await;
            ann.has_lost(&anns.next_beat()).await;
            bob.takes_in_time(&name, bob.patience(ann.ttl())).await;
        }
    }
}

/// A record is renewed only from the holder's own last write: not by a copy of the holder that has
/// fallen behind, and not from a state that the store has never been in.
pub async fn goes_on_only_from_ones_own_last_write(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;

    let first = ann.takes(&name).await.holding;
    let second = ann.renews(&first).await;
    let third = ann.renews(&second).await;

    let behind = ann.sends_a_renewal(&first).await;
    assert!(matches!(behind, Renewed::Lost(_)), "a copy that fell behind is no holder: {behind:?}");
    let ahead = Holding { acknowledged: 7, beat: 7, ..third.clone() };
    let ahead = ann.sends_a_renewal(&ahead).await;
    assert!(matches!(ahead, Renewed::Lost(_)), "what was acknowledged is not there: {ahead:?}");

    ann.holds(&third).await;
    ann.renews(&third).await;
}

/// Writers hear from their renewals and confirmations that an exclusive waits for them, and may go
/// on until they have ended.
pub async fn tells_writers_of_a_drain(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let anns = ann.joins(&name).await.holding;
    let (anns, drain) = ann.renews_and_hears(&anns).await;
    assert!(!drain, "nobody waits yet");

    let (_, draining) = bob.drains(&name).await;
    let (anns, drain) = ann.renews_and_hears(&anns).await;
    assert!(drain, "a renewal must tell a writer that an exclusive waits");
    assert!(ann.holds(&anns).await, "a confirmation must tell a writer that an exclusive waits");

    bob.releases(&draining.holding).await;
    let (_, drain) = ann.renews_and_hears(&anns).await;
    assert!(!drain, "nobody waits any more");
}

/// A renewal keeps who holds and since when under which epoch, and its revision is new each time.
pub async fn changes_nothing_but_the_revision(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let mut anns = ann.takes(&name).await.holding;
    let before = ann.sees(&name).await.exclusive.expect("held");

    let mut revisions = vec![anns.revision.clone()];
    for _ in 0..4 {
        anns = ann.renews(&anns).await;
        assert!(!revisions.contains(&anns.revision), "a revision must never repeat");
        revisions.push(anns.revision.clone());
    }
    let after = ann.sees(&name).await.exclusive.expect("held");
    assert_eq!((after.nonce, after.mode, after.state), (before.nonce, before.mode, before.state));
    assert_eq!((after.info, after.ttl), (before.info, before.ttl), "a renewal keeps who holds");
}
