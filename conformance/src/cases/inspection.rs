//! Looking is truthful, and harmless.

use lease_core::backend::Joined;
use lease_core::{Claim, Freshness, HolderInfo, Mode, Name, Snapshot, State, TimeAuthority};

use super::part;
use crate::{Fixture, Worker};

/// Ann is looked at all through her lease. Her record stays as it was, and expires on time.
pub async fn looking_changes_nothing(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;
    let tool = Worker::new(store, "tool").await;
    let anns = ann.takes(&name).await;
    let before = looks(&tool, &name).await.exclusive.expect("ann holds");
    for _ in 0..8 {
        ann.waits(ann.ttl() / 10).await;
        let seen = looks(&tool, &name).await.exclusive.expect("ann holds");
        assert_eq!(seen.revision, before.revision, "looking must not write");
        tool.backend().names().await.expect("the store answers");
    }
    ann.holds(&anns.holding).await;

    ann.waits_until_it_expires(ann.ttl() * 2 / 10).await;
    bob.evicts_in_time(&name, &before.target()).await;
    assert!(bob.takes(&name).await.epoch > anns.epoch);
}

/// Looking at a name that nobody used does not make it known.
pub async fn looking_creates_nothing(store: &dyn Fixture, name: Name) {
    let tool = Worker::lasting(store, "tool").await;
    let seen = looks(&tool, &name).await;
    assert!(seen.is_free(), "nobody was ever there");
    assert_eq!(seen.epoch.get(), 0, "a name that was never used has no epoch");
    let names = tool.backend().names().await.expect("the store answers");
    assert!(!names.contains(&name), "looking must not create the name");
    assert_eq!(store.records(&name).await, 0, "looking must not create a record");
}

/// All that Ann told of herself is shown, and how she stands.
pub async fn a_holder_is_shown_as_it_is(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let tool = Worker::new(store, "tool").await;
    let info = HolderInfo::of_this_process().label("ann").metadata("ticket", "42");
    let info = info.build().expect("it is short");
    assert!(info.process.is_some() || !cfg!(target_os = "linux"), "a process tells its pid");
    let claim = Claim { info: std::sync::Arc::new(info.clone()), ..ann.writer(&name) };
    let joined = ann.backend().join(&claim, &lease_core::Policy::expired()).await;
    let Ok(Joined::Granted(anns)) = joined else { panic!("it is free: {joined:?}") };

    let seen = looks(&tool, &name).await;
    assert!(seen.exclusive.is_none());
    assert_eq!((seen.writers.len(), seen.epoch), (1, anns.epoch));
    let shown = &seen.writers[0];
    assert_eq!(shown.info, info, "label, host, process and metadata must be the holder's own");
    assert_eq!((shown.nonce, shown.mode), (claim.nonce, Mode::Writer));
    assert_eq!((shown.ttl, shown.state), (ann.ttl(), State::Granted));
    assert_eq!((&shown.unreadable, &shown.revision), (&None, &anns.holding.revision));
    assert_ne!(shown.freshness, Freshness::Stale, "ann lives");
    if let Freshness::Fresh { left } = shown.freshness {
        assert!(left <= ann.ttl(), "no record lives longer than its ttl");
    }
}

/// Draining and granted are told apart, and writers and exclusive are shown side by side.
pub async fn a_drain_is_shown_as_one(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;
    let tool = Worker::new(store, "tool").await;

    let anns = ann.joins(&name).await.holding;
    let (claim, draining) = bob.drains(&name).await;
    let seen = looks(&tool, &name).await;
    let shown = seen.exclusive.as_ref().expect("bob drains");
    assert_eq!((shown.state, shown.info.label.as_str()), (State::Draining, "bob"));
    assert_eq!(seen.writers.iter().map(|w| w.nonce).collect::<Vec<_>>(), [anns.nonce]);

    ann.releases(&anns).await;
    let bobs = bob.has_drained(&claim, &draining).await;
    let seen = looks(&tool, &name).await;
    let shown = seen.exclusive.as_ref().expect("bob holds");
    assert_eq!((shown.state, seen.epoch), (State::Granted, bobs.epoch));
    assert_eq!(shown.revision, bobs.holding.revision, "a grant carries the revision that is there");
    assert!(seen.writers.is_empty());
}

/// What has expired is shown as expired, and is left where it is.
pub async fn an_expired_record_is_shown_as_expired(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let tool = Worker::new(store, "tool").await;
    let written = part(&name, "w");

    ann.joins(&written).await;
    ann.takes(&name).await;
    ann.waits_until_it_expires(ann.ttl()).await;
    for name in [&name, &written] {
        for _ in 0..2 {
            let seen = looks(&tool, name).await;
            let shown = seen.exclusive.as_ref().or(seen.writers.first());
            let shown = shown.expect("an expired record stays until somebody clears it");
            assert_eq!(shown.info.label, "ann");
            if tool.capabilities().time == TimeAuthority::Store {
                // Without a write there may be nothing to measure an age by.
                assert!(!matches!(shown.freshness, Freshness::Fresh { .. }), "it has expired");
            }
        }
        assert_eq!(store.records(name).await, 1, "looking must clear nothing away");
    }
}

async fn looks(tool: &Worker<'_>, name: &Name) -> Snapshot {
    tool.backend().inspect(name).await.expect("the store answers")
}
