//! How a writer and an exclusive meet: whoever comes second sees the other.

use std::sync::Arc;

use lease_core::backend::{Joined, Taken};
use lease_core::layer::{Faulty, Method};
use lease_core::{Name, Policy, State, TimeAuthority};

use super::{LONG, again};
use crate::interrupt::step_by_step;
use crate::{Fixture, Worker};

/// Each acknowledged write is in the very next look of everybody else (rule R3).
pub async fn an_observer_sees_what_was_acknowledged(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    for _ in 0..8 {
        assert!(bob.sees(&name).await.is_free(), "what was withdrawn must not be seen");

        let writer = ann.joins(&name).await.holding;
        let seen = bob.sees(&name).await;
        assert!(seen.record(writer.nonce).is_some(), "a registration must be seen at once");
        ann.releases(&writer).await;
        assert!(bob.sees(&name).await.is_free(), "a withdrawal must be seen at once");

        let grant = ann.takes(&name).await;
        let seen = bob.sees(&name).await;
        let record = seen.exclusive.expect("an installation must be seen at once");
        assert_eq!(record.state, State::Granted, "a commit must be seen at once");
        assert_eq!(seen.epoch, grant.epoch, "a new epoch must be seen at once");

        let renewed = ann.renews(&grant.holding).await;
        let record = bob.sees(&name).await.exclusive.expect("it is still there");
        assert_ne!(record.revision, grant.holding.revision, "a renewal must be seen at once");
        assert_eq!(record.revision, renewed.revision, "what is seen must be the last write");
        ann.releases(&renewed).await;
    }
}

/// Ann has looked, found nobody, and not inserted yet. Bob excludes. Ann's insertion comes too
/// late, and she finds him when she checks (rule R1).
pub async fn a_writer_that_looked_too_early_is_refused(store: &dyn Fixture, name: Name) {
    let slow = Faulty::new(store.connect().await);
    let bob = Worker::new(store, "bob").await;
    let ann = Worker::with(store, Arc::new(slow.clone()), "ann");

    let gate = slow.hold(Method::Register);
    let claim = ann.writer(&name);
    let backend = ann.backend();
    let joining = tokio::spawn(async move { backend.join(&claim, &Policy::expired()).await });
    gate.reached().await;

    let bobs = bob.takes(&name).await;
    gate.open();
    let joined = joining.await.expect("ann comes home").expect("the store answers");
    assert!(matches!(joined, Joined::Refused(_)), "a writer must check after it has inserted");
    assert!(bob.sees(&name).await.writers.is_empty(), "a refused writer must take itself out");
    bob.holds(&bobs.holding).await;
}

/// Bob has installed himself and not listed yet. Ann, who comes now, is refused, and he goes on.
pub async fn a_writer_that_comes_before_the_drain_is_refused(store: &dyn Fixture, name: Name) {
    let slow = Faulty::new(store.connect().await);
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::with(store, Arc::new(slow.clone()), "bob");

    let gate = slow.hold_answer(Method::Install);
    let claim = bob.exclusive(&name);
    let backend = bob.backend();
    let taking = tokio::spawn(async move { backend.take(&claim, None, &Policy::expired()).await });
    gate.reached().await;

    let by = ann.is_refused_as_writer(&name).await;
    assert_eq!(by.holder.expect("a refusal names the holder").state, State::Draining);
    gate.open();
    let taken = taking.await.expect("bob comes home").expect("the store answers");
    assert!(matches!(taken, Taken::Granted(_)), "nobody is in the way: {taken:?}");
}

/// Nobody new gets in while an exclusive drains: neither a writer nor another exclusive.
pub async fn a_drain_keeps_everybody_new_out(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;
    let eve = Worker::lasting(store, "eve").await;

    let anns = ann.joins(&name).await;
    let (claim, draining) = bob.drains(&name).await;
    let by = eve.is_refused_as_writer(&name).await.holder.expect("a refusal names the holder");
    assert_eq!((by.info.label.as_str(), by.state), ("bob", State::Draining));
    eve.is_refused_as_exclusive(&name).await;

    ann.releases(&anns.holding).await;
    bob.has_drained(&claim, &draining).await;
}

/// A refused writer and a refused exclusive leave the store as they found it.
pub async fn a_refusal_leaves_nothing_behind(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    let anns = ann.takes(&name).await;
    bob.is_refused_as_writer(&name).await;
    bob.is_refused_as_exclusive(&name).await;
    assert_eq!(store.records(&name).await, 1, "a refusal must leave no record behind");

    ann.releases(&anns.holding).await;
    assert_eq!(store.records(&name).await, 0, "a release must leave no record behind");
    assert!(bob.sees(&name).await.is_free(), "nothing must be left in anybody's way");
}

/// Writers that ask again and again while an exclusive drains are never seen to be there (rule
/// R24): it would wait for them for ever.
pub async fn a_refused_writer_is_never_seen(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(LONG);
    let bob = Worker::new(store, "bob").await.with_ttl(LONG);
    let anns = ann.joins(&name).await;
    let (claim, draining) = bob.drains(&name).await;

    let mut crowd = Vec::new();
    for seed in 0..4 {
        // Once through the steps one by one, and once as the store itself does it.
        let client = store.connect().await;
        let client = if seed % 2 == 0 { step_by_step(client, seed) } else { client };
        let eve = Worker::with(store, client, "eve");
        let (backend, writer) = (eve.backend(), eve.writer(&name));
        crowd.push(tokio::spawn(async move {
            for _ in 0..20 {
                let joined = backend.join(&again(&writer), &Policy::expired()).await;
                assert!(matches!(joined, Ok(Joined::Refused(_))), "a drain must keep it out");
                tokio::task::yield_now().await;
            }
        }));
    }
    while crowd.iter().any(|task| !task.is_finished()) {
        let seen = bob.sees(&name).await.writers.len();
        assert_eq!(seen, 1, "a writer must look before it inserts");
        tokio::task::yield_now().await;
    }
    for task in crowd {
        task.await.expect("eve comes home");
    }
    ann.releases(&anns.holding).await;
    bob.has_drained(&claim, &draining).await;
}

/// A drain that gives up lets the writers flow again at once.
pub async fn a_withdrawn_drain_lets_writers_flow(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let anns = ann.joins(&name).await;
    let (_, draining) = bob.drains(&name).await;
    ann.is_refused_as_writer(&name).await;
    bob.releases(&draining.holding).await;

    ann.joins(&name).await;
    let drain = ann.holds(&anns.holding).await;
    assert!(!drain, "nobody waits any more");
}

/// A drain sees every writer, also in a crowd, and is granted only after the last one has ended.
pub async fn a_drain_waits_for_every_writer(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(LONG);
    let bob = Worker::new(store, "bob").await.with_ttl(LONG);
    let mut crowd = Vec::new();
    for _ in 0..store.crowd() {
        crowd.push(ann.joins(&name).await.holding);
    }

    let (claim, mut draining) = bob.drains(&name).await;
    assert_eq!(draining.waiting_for.writers, crowd.len(), "a drain must see every writer");
    while let Some(one) = crowd.pop() {
        if crowd.len() < 3 {
            draining = bob.still_drains(&claim, &draining).await;
        }
        ann.releases(&one).await;
    }
    bob.has_drained(&claim, &draining).await;
}

/// One writer lives behind many that have expired: clearing those away is no reason not to look
/// again (rule R15).
pub async fn a_drain_looks_again_after_it_cleared(store: &dyn Fixture, name: Name) {
    let dead = Worker::new(store, "dead").await;
    // Long: neither expires here, however slow the store is at clearing so many away.
    let ann = Worker::new(store, "ann").await.with_ttl(dead.ttl() * 20);
    let bob = Worker::new(store, "bob").await.with_ttl(dead.ttl() * 20);
    for _ in 0..store.crowd() {
        dead.joins(&name).await;
    }
    let anns = ann.joins(&name).await.holding;
    dead.waits(dead.ttl() + dead.capabilities().clock_resolution * 2).await;

    let (claim, draining) = bob.drains(&name).await;
    let draining = bob.still_drains(&claim, &draining).await;
    ann.holds(&anns).await;
    ann.releases(&anns).await;
    let grant = bob.goes_on_in_time(claim, Some(draining), bob.patience(dead.ttl())).await;
    if bob.capabilities().time == TimeAuthority::Store {
        assert!(grant.took_over, "writers that never ended were cleared away");
    }
}

/// Where some may not be cleared away and others live, the exclusive is told of one that has expired,
/// wherever the store lists it: whoever saw one waits out the grace when it is granted.
pub async fn a_drain_tells_of_an_expired_writer_before_others(store: &dyn Fixture, name: Name) {
    let dead = Worker::new(store, "dead").await;
    let alive = Worker::lasting(store, "alive").await;
    let bob = Worker::lasting(store, "bob").await.with_policy(Policy::refuse());

    let first = alive.joins(&name).await;
    for _ in 0..3 {
        dead.joins(&name).await;
    }
    let last = alive.joins(&name).await;
    dead.waits_until_it_expires(dead.ttl()).await;
    let (claim, draining) = bob.drains(&name).await;
    let told = draining.waiting_for.holder.expect("a drain tells of a writer");
    // Where nobody's clock tells, a record expires for whoever watched it stand still.
    if bob.capabilities().time != TimeAuthority::Observation {
        assert_eq!(told.info.label, "dead", "of five writers three have expired");
    }
    assert_eq!(draining.waiting_for.writers, 5);

    let exclusive = lease_core::Holding::created(&claim, draining.holding.revision);
    bob.withdraws(&exclusive).await;
    for living in [first, last] {
        alive.holds(&living.holding).await;
    }
}
