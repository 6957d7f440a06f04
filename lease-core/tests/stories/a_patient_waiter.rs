//! One who waits: how often it looks, and when.

use std::sync::{Arc, Mutex};

use lease_core::keeper::KeeperMode;
use lease_core::layer::{Count, Method};
use lease_core::{Policy, Timing};

use crate::world::{JOB, SECOND, World, held_by};

/// Only an operator may end what has expired here, so waiting brings its end no nearer. The looks
/// get rarer, but not rarer than agreed, and the store is asked once to tell of changes.
#[tokio::test(start_paused = true)]
async fn looks_in_growing_pauses() {
    let world = World::new();
    let (dead, _frozen) = world.frozen("dead", SECOND * 2);
    let left = dead.exclusive(JOB).acquire().await.unwrap();
    world.pass(SECOND * 3).await;
    let counted = Arc::new(Count::new(Arc::new(world.store.clone())));
    let ann = world.person_at("ann", SECOND, counted.clone(), KeeperMode::CurrentRuntime);
    let slow = Timing::with_ttl(SECOND * 60).poll(SECOND, SECOND * 8).build().unwrap();

    let ask = ann.exclusive(JOB).timing(slow).policy(Policy::refuse()).wait(SECOND * 60);
    assert_eq!(held_by(ask.acquire().await), "dead");

    // Pauses of 1, 2, 4 and then always 8 seconds, each between a half and the whole of it.
    let counts = counted.counts();
    let looks = counts.of(Method::Observe);
    assert!((10..=19).contains(&looks), "{looks} looks in a minute");
    assert_eq!(counts.of(Method::Watch), 1);
    drop(left);
}

/// The pauses grow to half a minute, but the record shows when it runs out, and that is when the
/// waiter is there.
#[tokio::test(start_paused = true)]
async fn is_there_when_the_record_runs_out() {
    let world = World::new();
    let start = world.now();
    let (dead, _frozen) = world.frozen("dead", SECOND * 60);
    let left = dead.exclusive(JOB).acquire().await.unwrap();
    let slow = Timing::with_ttl(SECOND * 60).poll(SECOND / 10, SECOND * 30).build().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = told.clone();

    let ask = world.person("ann", SECOND).exclusive(JOB).timing(slow).wait(SECOND * 120);
    let ask = ask.on_wait(move |waiting| listener.lock().unwrap().push(waiting.waited));
    drop(ask.acquire().await.unwrap());

    let after = world.now().since(start);
    assert!(after >= SECOND * 60 && after <= SECOND * 60 + SECOND / 5, "{after:?}");
    // It was told each time how long it had waited, the last time within the last pause.
    let told = told.lock().unwrap();
    assert!(told.is_sorted(), "{told:?}");
    assert!(told.last().unwrap() >= &(SECOND * 29), "{told:?}");
    drop(left);
}
