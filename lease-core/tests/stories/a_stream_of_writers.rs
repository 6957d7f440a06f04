//! Writers that never stop coming, and the exclusive that gets its turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lease_core::Clock;

use crate::world::{JOB, SECOND, World};

/// Eight writers hold for 800 ms and pause for 10. The exclusive is not starved by those that come
/// later, the one that was there before works to its end, and is told that somebody waits.
/// (Case 40.)
#[tokio::test(start_paused = true)]
async fn does_not_starve_an_exclusive() {
    let world = World::new();
    let start = world.now();
    let grants = Arc::new(AtomicU32::new(0));
    for n in 0..8 {
        let writer = world.person(&format!("writer {n}"), SECOND);
        let (clock, grants) = (world.clock, grants.clone());
        tokio::spawn(async move {
            loop {
                let asked = writer.writer(JOB).wait(SECOND * 60).acquire().await;
                let lease = asked.unwrap();
                grants.fetch_add(1, Ordering::SeqCst);
                clock.sleep_until(clock.now().plus(SECOND * 4 / 5)).await;
                lease.check().unwrap();
                lease.release().await.unwrap();
                clock.sleep_until(clock.now().plus(SECOND / 100)).await;
            }
        });
    }
    let long = world.person("long", SECOND).writer(JOB).acquire().await.unwrap();
    let clock = world.clock;
    let long = tokio::spawn(async move {
        let asked = tokio::select! {
            () = long.drain_requested() => clock.now(),
            () = clock.sleep_until(clock.now().plus(SECOND * 6)) => panic!("nobody told"),
        };
        clock.sleep_until(start.plus(SECOND * 6)).await;
        long.check().unwrap();
        long.release().await.unwrap();
        asked
    });

    world.pass(SECOND * 2).await;
    let exclusive = world.person("exclusive", SECOND);
    let alone = exclusive.exclusive(JOB).wait(SECOND * 10).acquire().await.unwrap();

    let after = world.now().since(start);
    assert!(after >= SECOND * 6 && after < SECOND * 15 / 2, "{after:?}");
    let told_after = long.await.unwrap().since(start);
    assert!(told_after >= SECOND * 2 && told_after < SECOND * 5 / 2, "{told_after:?}");

    // Nobody writes beside it, and afterwards the writers flow again.
    let before = grants.load(Ordering::SeqCst);
    world.pass(SECOND * 3).await;
    assert_eq!(grants.load(Ordering::SeqCst), before);
    alone.release().await.unwrap();
    world.pass(SECOND * 2).await;
    let flowing = grants.load(Ordering::SeqCst) - before;
    assert!(flowing >= 8 * 2 * 4 / 5, "{flowing} grants in two seconds");
}
