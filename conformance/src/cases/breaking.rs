//! An operator breaks exactly the record that he was shown.

use lease_core::Name;
use lease_core::backend::{Broken, Taken};

use super::unacknowledged;
use crate::{Fixture, Worker};

/// The broken holder is out at once, the name is free, and the note says who did it and why.
pub async fn ends_a_lease_at_once(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let operator = Worker::lasting(store, "operator").await;

    let anns = ann.takes(&name).await;
    let broken = operator.breaks(&anns.holding).await;
    assert!(matches!(broken, Broken::Broken { .. }), "it was there: {broken:?}");
    ann.has_lost(&anns.holding).await;
    assert!(operator.sees(&name).await.is_free(), "a broken record must be gone");
    assert_eq!(store.records(&name).await, 0, "a broken record must be gone");
    assert_eq!(ann.told_of_break(&name).await, Some(operator.note()), "the note must be kept");
}

/// A granted exclusive may still write without knowing: the epoch rises above its own, so that it
/// is fenced even before somebody else is granted.
pub async fn fences_a_granted_exclusive(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    let anns = ann.takes(&name).await;
    let Broken::Broken { epoch } = bob.breaks(&anns.holding).await else {
        panic!("ann's record is there")
    };
    assert!(epoch > anns.epoch, "a break must raise the epoch above the broken holder's");
    assert_eq!(bob.sees(&name).await.epoch, epoch, "the epoch that it told must be there");
    let writer = bob.joins(&name).await;
    assert!(writer.epoch > anns.epoch, "a writer after a break must be above the broken holder");
    bob.releases(&writer.holding).await;
    assert!(bob.takes(&name).await.epoch > epoch, "the next one must rise above the break");
}

/// Breaking one writer fences nobody: the others are valid under the same epoch.
pub async fn of_a_writer_raises_no_epoch(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;
    let operator = Worker::lasting(store, "operator").await;

    let (anns, bobs) = (ann.joins(&name).await, bob.joins(&name).await);
    let Broken::Broken { epoch } = operator.breaks(&anns.holding).await else {
        panic!("ann's record is there")
    };
    assert_eq!(epoch, bobs.epoch, "breaking one writer must not fence the others");
    assert_eq!(operator.sees(&name).await.epoch, bobs.epoch);
    ann.has_lost(&anns.holding).await;
    bob.holds(&bobs.holding).await;
    bob.renews(&bobs.holding).await;
    assert_eq!(ann.told_of_break(&name).await, Some(operator.note()), "the note must be kept");
}

/// One that still drained never held, so there is nothing to fence. It learns of it in its next
/// round.
pub async fn of_a_drain_raises_no_epoch(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let anns = ann.joins(&name).await;
    let (claim, draining) = bob.drains(&name).await;
    let Broken::Broken { epoch } = ann.breaks(&draining.holding).await else {
        panic!("bob's record is there")
    };
    assert_eq!(epoch, anns.epoch, "a drain that is broken must raise no epoch");
    let taken = bob.tries_to_take(&claim, Some(&draining)).await;
    assert!(matches!(taken, Taken::Displaced(_)), "a broken drain must learn of it: {taken:?}");
    assert!(!ann.holds(&anns.holding).await, "nobody waits any more");
    assert_eq!(ann.joins(&name).await.epoch, anns.epoch, "the writers flow on as before");
}

/// A nonce that nobody has breaks nobody.
pub async fn of_a_wrong_nonce_changes_nothing(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    let bogus = unacknowledged(&bob.exclusive(&name));
    assert_eq!(bob.breaks(&bogus).await, Broken::NotThere, "nothing is there to break");
    assert!(bob.sees(&name).await.is_free());

    let anns = ann.takes(&name).await;
    assert_eq!(bob.breaks(&bogus).await, Broken::NotThere, "that is not the holder's nonce");
    ann.holds(&anns.holding).await;
    assert_eq!(ann.sees(&name).await.epoch, anns.epoch, "a break that missed must change nothing");
    assert_eq!(ann.told_of_break(&name).await, None, "nothing was broken, so there is no note");
}

/// The operator was shown Ann, and by the time that he breaks her Bob has followed: Bob is left
/// alone.
pub async fn of_a_previous_holder_changes_nothing(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;
    let operator = Worker::lasting(store, "operator").await;

    let anns = ann.takes(&name).await;
    ann.releases(&anns.holding).await;
    let bobs = bob.takes(&name).await;
    assert_eq!(operator.breaks(&anns.holding).await, Broken::NotThere, "ann has gone");
    bob.holds(&bobs.holding).await;
    assert_eq!(operator.sees(&name).await.epoch, bobs.epoch);
}

/// A holder that has renewed since is still the holder that was shown.
pub async fn reaches_a_holder_that_renews(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let operator = Worker::new(store, "operator").await;

    let shown = ann.takes(&name).await.holding;
    let renewed = ann.renews(&shown).await;
    let broken = operator.breaks(&shown).await;
    assert!(matches!(broken, Broken::Broken { .. }), "renewing is no hiding: {broken:?}");
    ann.has_lost(&renewed).await;
}

/// What has expired can be broken too; a policy that refuses leaves no other way.
pub async fn reaches_a_holder_that_has_expired(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let operator = Worker::new(store, "operator").await;

    let anns = ann.takes(&name).await;
    ann.waits_until_it_expires(ann.ttl()).await;
    let broken = operator.breaks(&anns.holding).await;
    assert!(matches!(broken, Broken::Broken { epoch } if epoch > anns.epoch), "{broken:?}");
    assert!(operator.sees(&name).await.is_free(), "a broken record must be gone");
    operator.takes(&name).await;
}

/// A break that is repeated finds nothing, and does not raise the epoch again.
pub async fn twice_is_an_answer(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let anns = ann.takes(&name).await.holding;
    let Broken::Broken { epoch } = ann.breaks(&anns).await else { panic!("it is there") };
    assert_eq!(ann.breaks(&anns).await, Broken::NotThere, "it is gone already");
    assert_eq!(ann.sees(&name).await.epoch, epoch, "a repeated break must change nothing");
}
