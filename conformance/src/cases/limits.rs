//! The longest, the shortest, the largest and the oddest that a store is asked to keep.

use std::sync::Arc;

use lease_core::{Claim, Freshness, HolderInfo, Name, Timing};

use super::unacknowledged;
use crate::{Fixture, Worker};

/// A lease of the longest ttl is granted, shown and respected without an overflow anywhere.
pub async fn the_longest_ttl_is_kept(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(Timing::MAX_TTL);
    let bob = Worker::new(store, "bob").await;

    let anns = ann.takes(&name).await.holding;
    let shown = bob.sees(&name).await.exclusive.expect("ann holds");
    assert_eq!(shown.ttl, Timing::MAX_TTL, "the ttl must be kept as it was given");
    if let Freshness::Fresh { left } = shown.freshness {
        assert!(left <= Timing::MAX_TTL && left > Timing::MAX_TTL / 2, "{left:?} is left");
    }
    assert_ne!(shown.freshness, Freshness::Stale, "a long ttl must not wrap around");
    bob.waits(bob.ttl() * 2).await;
    bob.is_refused_as_exclusive(&name).await;
    let anns = ann.renews(&anns).await;
    ann.releases(&anns).await;

    ann.joins(&name).await;
    bob.drains(&name).await;
}

/// A lease of the shortest ttl that the store says it can judge runs out when that is over, and can
/// be had again.
pub async fn the_shortest_ttl_is_kept(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let shortest = ann.capabilities().min_ttl;
    let ann = ann.with_ttl(shortest);
    let bob = Worker::new(store, "bob").await;

    let sent = ann.now();
    ann.takes(&name).await;
    bob.takes_in_time(&name, bob.patience(bob.ttl())).await;
    let waited = bob.now().since(sent) + bob.capabilities().clock_resolution;
    assert!(waited >= shortest, "a ttl of {shortest:?} must last as long, not {waited:?}");
}

/// What a holder tells of itself is shown as it was given, whatever it contains.
pub async fn odd_metadata_is_kept(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let info = HolderInfo::of_this_process()
        .label("\"$label\" of 'ann'\n\t\\ {{x}} \u{202e}🦀")
        .stable_name("$$NOW")
        .metadata("$set", "$x")
        .metadata("a.b", "a.b.c")
        .metadata("a", "{\"json\": [1, 2]}")
        .metadata("", "an empty key")
        .metadata("empty", "")
        .metadata("%2F/..\\*>", "a\0b")
        .metadata("версия", "e\u{301}");
    told(store, &ann, &name, info.build().expect("it is short")).await;
}

/// Also as much of it as a holder may tell.
pub async fn the_largest_info_is_kept(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let spent = ann.info().label.len() + ann.info().host.len() + "k".len();
    let rest = "v".repeat(HolderInfo::MAX_BYTES - spent);
    let info = HolderInfo::of_this_process().label("ann").metadata("k", rest);
    told(store, &ann, &name, info.build().expect("it just fits")).await;
}

/// In either mode, and also after a renewal.
async fn told(store: &dyn Fixture, ann: &Worker<'_>, name: &Name, info: HolderInfo) {
    let bob = Worker::lasting(store, "bob").await;
    let claim = Claim { info: Arc::new(info.clone()), ..ann.writer(name) };
    ann.backend().register(&claim).await.expect("the store answers");
    let mine = bob.sees(name).await.record(claim.nonce).expect("ann writes").clone();
    assert_eq!(mine.info, info, "what a holder tells must be shown as it was given");
    ann.withdraws(&unacknowledged(&claim)).await;

    let claim = Claim { info: Arc::new(info.clone()), ..ann.exclusive(name) };
    let taken = ann.tries_to_take(&claim, None).await;
    let lease_core::backend::Taken::Granted(grant) = taken else { panic!("it is free: {taken:?}") };
    ann.renews(&grant.holding).await;
    let seen = bob.backend().inspect(name).await.expect("the store answers");
    let shown = seen.exclusive.expect("ann holds").info;
    assert_eq!(shown, info, "what a holder tells must be shown as it was given");
}
