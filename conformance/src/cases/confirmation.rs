//! A confirmation proves that the record is there, as of no earlier than the call.

use lease_core::{LossReason, Mode, Name};

use super::never_there;
use crate::{Fixture, Worker};

/// A lease that is held is confirmed, renewed or not, in either mode.
pub async fn holds_while_the_record_is_there(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;

    let writer = ann.joins(&name).await.holding;
    ann.holds(&writer).await;
    let writer = ann.renews(&writer).await;
    ann.holds(&writer).await;
    ann.releases(&writer).await;

    let exclusive = ann.takes(&name).await.holding;
    ann.holds(&exclusive).await;
    let exclusive = ann.renews(&exclusive).await;
    ann.holds(&exclusive).await;
}

/// It changes nothing: a lease that is only confirmed expires.
pub async fn is_no_renewal(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let anns = ann.takes(&name).await.holding;
    let before = bob.sees(&name).await.exclusive.expect("held").revision;
    for _ in 0..3 {
        ann.holds(&anns).await;
        ann.waits(ann.ttl() / 4).await;
    }
    assert_eq!(bob.sees(&name).await.exclusive.expect("held").revision, before);
    ann.waits_until_it_expires(ann.ttl() / 4).await;
    let there = bob.sees(&name).await.exclusive.expect("it stays until it is cleared");
    bob.evicts_in_time(&name, &there.target()).await;
}

/// A lease that somebody else ended is lost in the very next confirmation, also if the one just
/// before it was fine.
pub async fn fails_at_once_when_the_lease_is_gone(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    for _ in 0..5 {
        let anns = ann.takes(&name).await.holding;
        ann.holds(&anns).await;
        bob.breaks(&anns).await;
        let reason = ann.has_lost(&anns).await;
        assert_eq!(reason, LossReason::Displaced, "an operator broke it");

        let anns = ann.joins(&name).await.holding;
        ann.holds(&anns).await;
        bob.releases(&anns).await;
        ann.has_lost(&anns).await;
    }
}

/// A lease that another took over is lost.
pub async fn fails_when_another_took_over(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let anns = ann.takes(&name).await.holding;
    ann.holds(&anns).await;
    bob.takes_in_time(&name, bob.patience(ann.ttl())).await;
    assert_eq!(ann.has_lost(&anns).await, LossReason::Displaced);
}

/// What was never there is not confirmed.
pub async fn fails_for_what_was_never_there(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;
    let anns = ann.joins(&name).await.holding;
    for mode in [Mode::Writer, Mode::Exclusive] {
        let never = never_there(&bob, &name, mode).await;
        bob.has_lost(&never).await;
    }
    ann.holds(&anns).await;
}
