//! What becomes of a record that has expired: respected, cleared away, or alive after all.

use std::sync::Arc;

use lease_core::backend::{Joined, Renewed, Taken};
use lease_core::layer::{Faulty, Method};
use lease_core::{Freshness, Name, Policy, TimeAuthority};

use crate::{Fixture, Worker};

/// An expired exclusive blocks as a living one does, until somebody whose policy allows it clears
/// it away (rule R11).
pub async fn a_stale_exclusive_blocks_until_it_is_cleared(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let careful = Worker::new(store, "careful").await.with_policy(Policy::refuse());
    let bob = Worker::new(store, "bob").await;

    let anns = ann.takes(&name).await;
    ann.waits_until_it_expires(ann.ttl()).await;
    let by = careful.is_refused_as_writer(&name).await.holder.expect("a refusal names the holder");
    assert_eq!(by.nonce, anns.holding.nonce);
    if careful.capabilities().time == TimeAuthority::Store {
        assert_eq!(by.freshness, Freshness::Stale, "a refusal must tell that it has expired");
    }
    careful.is_refused_as_exclusive(&name).await;

    let bobs = bob.joins_in_time(&name, bob.patience(ann.ttl())).await;
    assert_eq!(bobs.epoch, anns.epoch, "a writer does not raise the epoch");
    ann.has_lost(&anns.holding).await;
}

/// Whoever takes over from a holder that did not release knows that it did: that one's last writes
/// may still be on their way.
pub async fn a_takeover_is_told_as_one(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let anns = ann.takes(&name).await;
    assert!(!anns.took_over, "nobody was there");
    ann.waits_until_it_expires(ann.ttl()).await;
    // A store that clears away in two steps refuses the first time.
    if let Taken::Granted(bobs) = bob.tries_to_take(&bob.exclusive(&name), None).await {
        assert!(bobs.took_over, "a successor must know that it took over");
        bob.releases(&bobs.holding).await;
        assert!(!ann.takes(&name).await.took_over, "bob has released");
    }
}

/// Bob judged Ann's exclusive stale, and she renewed before he could clear it: he is refused as if he
/// had found her alive, without having inserted anything (rule R24).
pub async fn a_writer_that_cannot_clear_does_not_insert(store: &dyn Fixture, name: Name) {
    let slow = Faulty::new(store.connect().await);
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::with(store, Arc::new(slow.clone()), "bob");
    if bob.capabilities().time != TimeAuthority::Store {
        // There is nothing to clear until an observer has watched for a ttl.
        return;
    }
    let anns = ann.takes(&name).await.holding;
    ann.waits_until_it_expires(ann.ttl()).await;

    let gate = slow.hold(Method::Evict);
    let (backend, claim) = (bob.backend(), bob.writer(&name));
    let joining = tokio::spawn(async move { backend.join(&claim, &Policy::expired()).await });
    gate.reached().await;
    let renewed = ann.sends_a_renewal(&anns).await;
    gate.open();
    let joined = joining.await.expect("bob comes home").expect("the store answers");
    // A store may give a late holder no second chance; then bob is right.
    if let Renewed::Renewed { .. } = renewed {
        assert!(matches!(joined, Joined::Refused(_)), "ann lives after all");
        assert_eq!(slow.calls(Method::Register), 0, "a writer must not insert beside the living");
    }
}

/// An expired writer blocks an exclusive whose policy respects it, which then does not stay to
/// block the others.
pub async fn a_stale_writer_is_respected_where_the_policy_says_so(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let careful = Worker::new(store, "careful").await.with_policy(Policy::refuse());

    let anns = ann.joins(&name).await;
    ann.waits_until_it_expires(ann.ttl()).await;
    let claim = careful.exclusive(&name);
    match careful.tries_to_take(&claim, None).await {
        Taken::Refused(by) => {
            assert_eq!(by.holder.expect("a refusal names the holder").nonce, anns.holding.nonce);
        }
        // A store that leaves the judging to its observers cannot tell yet.
        Taken::Draining(draining) if careful.capabilities().time != TimeAuthority::Store => {
            careful.releases(&draining.holding).await;
        }
        other => panic!("an expired writer must be respected: {other:?}"),
    }
    let seen = careful.sees(&name).await;
    assert!(seen.exclusive.is_none(), "a refused exclusive must not stay to block the others");
    assert!(seen.record(anns.holding.nonce).is_some(), "an expired writer must be left alone");
}
