//! A release frees the name at once, and nothing else.

use lease_core::Name;
use lease_core::backend::Withdrawn;

use super::unacknowledged;
use crate::{Fixture, Worker};

/// Bob need not wait for Ann's ttl once she has released.
pub async fn frees_at_once(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    let anns = ann.takes(&name).await;
    ann.releases(&anns.holding).await;
    let bobs = bob.takes(&name).await;
    assert!(!bobs.took_over, "what was released is not taken over");
    assert_eq!(store.records(&name).await, 1, "only bob's record is there");
}

/// A second release finds nothing, and says so.
pub async fn twice_is_an_answer(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;

    for anns in [ann.joins(&name).await.holding, ann.drains(&name).await.1.holding] {
        ann.releases(&anns).await;
        assert_eq!(ann.withdraws(&anns).await, Withdrawn::NotThere, "it was released already");
        assert_eq!(ann.withdraws(&anns).await, Withdrawn::NotThere, "it was released already");
    }
}

/// Of what was never there.
pub async fn of_nothing_is_an_answer(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    for claim in [ann.writer(&name), ann.exclusive(&name)] {
        let never = unacknowledged(&claim);
        assert_eq!(ann.withdraws(&never).await, Withdrawn::NotThere, "it was never there");
    }
    assert!(ann.sees(&name).await.is_free(), "a release must create nothing");
}

/// Ann wakes up long after Bob followed her, and releases. It is not hers any more (rule R14).
pub async fn by_a_stale_holder_hits_nobody(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await.with_ttl(ann.ttl() * 20);

    let anns = ann.takes(&name).await.holding;
    let bobs = bob.takes_in_time(&name, bob.patience(ann.ttl())).await;
    assert_eq!(ann.withdraws(&anns).await, Withdrawn::NotThere, "it is bob's");

    bob.holds(&bobs.holding).await;
    ann.is_refused_as_writer(&name).await;
    assert_eq!(bob.sees(&name).await.epoch, bobs.epoch, "a stale release must change nothing");
}

/// The epoch stays when the holder goes.
pub async fn keeps_the_epoch(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let anns = ann.takes(&name).await;
    ann.releases(&anns.holding).await;
    assert_eq!(ann.sees(&name).await.epoch, anns.epoch, "a release must keep the epoch");
}

/// One writer goes, the others stay.
pub async fn of_one_writer_leaves_the_others(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    let (anns, bobs) = (ann.joins(&name).await.holding, bob.joins(&name).await.holding);
    ann.releases(&anns).await;
    ann.has_lost(&anns).await;
    bob.holds(&bobs).await;
    bob.renews(&bobs).await;
    ann.drains(&name).await;
}

/// Ann's last renewal got through and its answer did not. She releases with what she knows, and the
/// name is free at once.
pub async fn goes_by_the_nonce_alone(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    let anns = ann.takes(&name).await.holding;
    ann.renews(&anns).await;
    ann.releases(&anns).await;
    bob.takes(&name).await;
}
