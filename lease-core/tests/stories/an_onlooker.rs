//! One who follows what is with a name.

use std::sync::Arc;

use futures::StreamExt;
use lease_core::clock::within;
use lease_core::keeper::KeeperMode;
use lease_core::layer::{Count, Fault, Faulty, Method};
use lease_core::{BreakNote, Clock, Effect, Error, Freshness, State};

use crate::world::{JOB, SECOND, World, job};

/// Told at once what is there, and then each change: a writer, an exclusive that waits for it, its
/// grant, and that the name is free again. Renewals are no change.
#[tokio::test(start_paused = true)]
async fn is_told_each_change_once() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 6), world.person("bob", SECOND * 6));
    let mut seen = world.person("tool", SECOND * 6).observe(&job());
    assert_eq!(seen.name(), &job());
    assert!(seen.next().await.unwrap().is_free());

    let anns = ann.writer(JOB).acquire().await.unwrap();
    let told = seen.next().await.unwrap();
    assert_eq!(told.writers.len(), 1);
    assert_eq!(told.writers[0].info.label, "ann");

    // Long enough for several renewals: nothing is told of them.
    let clock: Arc<dyn Clock> = Arc::new(world.clock);
    let told = within(&clock, SECOND * 20, seen.next()).await;
    assert!(told.is_none(), "{told:?}");

    let bobs = tokio::spawn(bob.exclusive(JOB).wait(SECOND * 600).acquire());
    let told = seen.next().await.unwrap();
    assert_eq!(told.exclusive.unwrap().state, State::Draining);
    anns.release().await.unwrap();
    loop {
        let told = seen.next().await.unwrap();
        if told.exclusive.as_ref().is_some_and(|record| record.state == State::Granted) {
            assert!(told.writers.is_empty());
            break;
        }
    }
    let bobs = bobs.await.unwrap().unwrap();
    bob.break_record(&job(), bobs.nonce(), &BreakNote::new("op", "to see")).await.unwrap();
    let told = seen.next().await.unwrap();
    assert!(told.is_free() && told.epoch > bobs.epoch());
    assert_eq!(ann.last_break(&job()).await.unwrap().unwrap().by, "op");
}

/// A holder that died is told of when its lease runs out, though nobody writes anything then.
#[tokio::test(start_paused = true)]
async fn is_told_of_an_expiry() {
    let world = World::new();
    let (dead, _frozen) = world.frozen("dead", SECOND * 6);
    let left = dead.exclusive(JOB).acquire().await.unwrap();
    let mut seen = Box::pin(world.person("tool", SECOND).observe(&job()).into_stream());
    let told = seen.next().await.unwrap().unwrap().exclusive.unwrap();
    assert!(matches!(told.freshness, Freshness::Fresh { .. }), "{told:?}");
    let from = world.now();
    let told = seen.next().await.unwrap().unwrap().exclusive.unwrap();
    assert_eq!(told.freshness, Freshness::Stale);
    let after = world.now().since(from);
    assert!(after >= SECOND * 6 && after < SECOND * 7, "{after:?}");
    drop(left);
}

/// One who looks at other things too, and drops the wait each time, is told all the same, with a store
/// that pushes and with one that does not.
#[tokio::test(start_paused = true)]
async fn is_told_though_it_never_waits_for_long() {
    for pushes in [true, false] {
        let world = World::new();
        let clock: Arc<dyn Clock> = Arc::new(world.clock);
        let store = world.store.clone();
        let reach: Arc<dyn lease_core::Backend> = match pushes {
            true => Arc::new(store),
            false => {
                let layer = Faulty::new(Arc::new(store));
                let gone = || Error::Unsupported { backend: "memory", feature: "watch" };
                layer.always(Method::Watch, Fault::error(gone));
                Arc::new(layer)
            }
        };
        let tool = world.person_at("tool", SECOND * 6, reach, KeeperMode::CurrentRuntime);
        let mut seen = tool.observe(&job());
        assert!(seen.next().await.unwrap().is_free());
        let lease = world.person("ann", SECOND * 6).exclusive(JOB).acquire().await.unwrap();
        let told = async {
            loop {
                if let Some(told) = within(&clock, SECOND / 50, seen.next()).await {
                    return told.unwrap().epoch;
                }
            }
        };
        let told = within(&clock, SECOND * 30, told).await;
        assert_eq!(told, Some(lease.epoch()), "pushes: {pushes}");
    }
}

/// While the store does not answer each call says so, and none comes sooner than a waiter's try would.
#[tokio::test(start_paused = true)]
async fn is_told_that_the_store_does_not_answer() {
    let world = World::new();
    let layer = Faulty::new(Arc::new(world.store.clone()));
    let counted = Arc::new(Count::new(Arc::new(layer.clone())));
    let tool = world.person_at("tool", SECOND * 6, counted.clone(), KeeperMode::CurrentRuntime);
    let mut seen = tool.observe(&job());
    assert!(seen.next().await.unwrap().is_free());
    layer.all(Fault::fails(Effect::Nothing));
    let from = world.now();
    for _ in 0..20 {
        let told = seen.next().await;
        assert!(matches!(told, Err(Error::Unavailable { .. })), "{told:?}");
    }
    assert!(world.now().since(from) >= tool.timing().poll_to() * 5, "it must not hammer the store");
    assert_eq!(counted.counts().of(Method::Inspect), 21);

    layer.heal();
    let lease = world.person("ann", SECOND * 6).exclusive(JOB).acquire().await.unwrap();
    assert_eq!(seen.next().await.unwrap().epoch, lease.epoch());
}
