//! Writers and an exclusive that start at the same moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use lease_core::{Clock, Jitter};

use crate::world::{SECOND, World};

/// Five hundred times a writer and an exclusive start within 20 ms of each other. Never do both
/// hold, and neither keeps the other waiting for long. (Case 42.)
#[tokio::test(start_paused = true)]
async fn never_both_hold() {
    let world = World::new();
    let chance = Jitter::seeded(42);
    for round in 0..500 {
        let name = format!("round {round}");
        // Writers count up, the exclusive counts down: both at once is seen by the sign.
        let inside = Arc::new(AtomicI32::new(0));
        let start = world.now();
        let writer = world.person("writer", SECOND * 2).writer(&name).wait(SECOND * 9);
        let exclusive = world.person("exclusive", SECOND * 2).exclusive(&name).wait(SECOND * 9);
        let delays = [
            chance.between(std::time::Duration::ZERO, SECOND / 50),
            chance.between(std::time::Duration::ZERO, SECOND / 50),
        ];
        let both =
            [(writer, 1), (exclusive, -1)].into_iter().zip(delays).map(|((ask, sign), delay)| {
                let (clock, inside) = (world.clock, inside.clone());
                async move {
                    clock.sleep_until(clock.now().plus(delay)).await;
                    let lease = ask.acquire().await.unwrap();
                    assert_eq!(inside.fetch_add(sign, Ordering::SeqCst), 0, "both at once");
                    clock.sleep_until(clock.now().plus(SECOND / 50)).await;
                    assert_eq!(inside.fetch_sub(sign, Ordering::SeqCst), sign, "both at once");
                    lease.release().await.unwrap();
                }
            });
        futures::future::join_all(both).await;
        let took = world.now().since(start);
        assert!(took < SECOND * 2, "round {round}: {took:?}");
    }
}

/// All writers between two exclusives share the epoch of the first one.
#[tokio::test(start_paused = true)]
async fn share_an_epoch() {
    let world = World::new();
    let ann = world.person("ann", SECOND * 2);
    let before = ann.writer("job").acquire().await.unwrap();
    let beside = world.person("bob", SECOND * 2).writer("job").acquire().await.unwrap();
    assert_eq!(before.epoch(), beside.epoch());
    before.release().await.unwrap();
    beside.release().await.unwrap();

    let exclusive = ann.exclusive("job").acquire().await.unwrap();
    let epoch = exclusive.epoch();
    exclusive.release().await.unwrap();
    let after = ann.writer("job").acquire().await.unwrap();
    assert_eq!(after.epoch(), epoch);
    assert!(after.token() > lease_core::Token::new(lease_core::Mode::Exclusive, epoch));
}
