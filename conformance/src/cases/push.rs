//! A waiter is woken when it is worth looking again, where the store can.
//!
//! What a store refuses because it does not promise push is tested in `capabilities`.

use lease_core::backend::Watch;
use lease_core::{Name, Result};

use crate::{Fixture, Worker};

/// A release wakes whoever waits.
pub async fn wakes_on_a_release(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;
    for _ in 0..3 {
        let anns = ann.takes(&name).await.holding;
        let Some(mut watch) = watches(&bob, &name).await else { return };
        ann.releases(&anns).await;
        wakes(&bob, &mut *watch).await;
        bob.releases(&bob.takes(&name).await.holding).await;
    }
}

/// A writer's end wakes the exclusive that drains, and the drain's end wakes the writers.
pub async fn wakes_both_sides_of_a_drain(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;
    let anns = ann.joins(&name).await.holding;
    let (claim, draining) = bob.drains(&name).await;
    let Some(mut watch) = watches(&bob, &name).await else { return };
    ann.releases(&anns).await;
    wakes(&bob, &mut *watch).await;
    let bobs = bob.has_drained(&claim, &draining).await.holding;

    let Some(mut watch) = watches(&ann, &name).await else { return };
    bob.releases(&bobs).await;
    wakes(&ann, &mut *watch).await;
    ann.joins(&name).await;
}

/// A break and an eviction wake as a release does.
pub async fn wakes_when_a_record_is_removed(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;
    let anns = ann.takes(&name).await.holding;
    let Some(mut watch) = watches(&bob, &name).await else { return };
    ann.breaks(&anns).await;
    wakes(&bob, &mut *watch).await;

    let anns = ann.joins(&name).await.holding;
    let there = ann.sees(&name).await.record(anns.nonce).expect("ann writes").target();
    ann.waits_until_it_expires(ann.ttl()).await;
    let Some(mut watch) = watches(&bob, &name).await else { return };
    ann.evicts_in_time(&name, &there).await;
    wakes(&bob, &mut *watch).await;
}

/// A change between the start of a watch and the wait for it is not forgotten, and neither is one
/// that comes while a wait is dropped.
pub async fn forgets_no_change(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;
    let anns = ann.takes(&name).await.holding;
    let Some(mut watch) = watches(&bob, &name).await else { return };
    crate::interrupt::polled(1, watch.changed()).await;
    ann.releases(&anns).await;
    wakes(&bob, &mut *watch).await;
}

/// Every waiter is woken, not just the first one.
pub async fn wakes_everybody(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let anns = ann.takes(&name).await.holding;
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let waiter = Worker::lasting(store, "waiter").await;
        let Some(watch) = watches(&waiter, &name).await else { return };
        waiting.push((waiter, watch));
    }
    ann.releases(&anns).await;
    for (waiter, mut watch) in waiting {
        wakes(&waiter, &mut *watch).await;
    }
}

/// A watch, where the store promises one.
async fn watches(worker: &Worker<'_>, name: &Name) -> Option<Box<dyn Watch>> {
    let watch: Result<_> = worker.backend().watch(name).await;
    worker.capabilities().push.then(|| watch.expect("push is promised"))
}

/// Waits for a wake-up for one ttl, which is much: a poll would have found it by then.
async fn wakes(worker: &Worker<'_>, watch: &mut dyn Watch) {
    let changed = watch.changed();
    let patience = async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
            worker.waits(worker.ttl() / 100).await;
        }
    };
    tokio::select! {
        biased;
        woken = changed => woken.expect("push is there"),
        () = patience => panic!("a change must wake {worker:?}"),
    }
}
