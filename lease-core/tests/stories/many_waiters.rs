//! Many who want the same: one at a time, all of them in the end, and not all at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lease_core::keeper::KeeperMode;
use lease_core::layer::{Count, Method};
use lease_core::{Clock, Error, Timing};

use crate::world::{JOB, SECOND, World};

/// Twenty wait, and each holds for 50 ms. All are served, never two at once, and the waiting asks
/// the store no more than four times a second each. (Case 43.)
#[tokio::test(start_paused = true)]
async fn are_all_served_one_at_a_time() {
    let world = World::new();
    let first = world.person("first", SECOND * 2).exclusive(JOB).acquire().await.unwrap();
    let counted = Arc::new(Count::new(Arc::new(world.store.clone())));
    let inside = Arc::new(AtomicU32::new(0));
    let start = world.now();
    let waiters: Vec<_> = (0..20)
        .map(|n| {
            let label = format!("waiter {n}");
            let person =
                world.person_at(&label, SECOND * 4, counted.clone(), KeeperMode::CurrentRuntime);
            let (clock, inside) = (world.clock, inside.clone());
            tokio::spawn(async move {
                let lease = person.exclusive(JOB).wait(SECOND * 60).acquire().await.unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at once");
                clock.sleep_until(clock.now().plus(SECOND / 20)).await;
                assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1, "two at once");
                lease.release().await.unwrap();
            })
        })
        .collect();

    world.pass(SECOND * 5).await;
    let looks = counted.counts().of(Method::Observe);
    assert!(looks <= 20 * 4 * 5, "{looks} looks in five seconds of waiting");
    first.release().await.unwrap();
    for waiter in waiters {
        waiter.await.unwrap();
    }
    let served_after = world.now().since(start.plus(SECOND * 5));
    assert!(served_after < SECOND * 20, "{served_after:?}");
}

/// Two exclusives start at the same moment, a hundred times. One of them gets on at once, and the
/// other soon after. (Case 43.)
#[tokio::test(start_paused = true)]
async fn do_not_back_off_from_each_other_for_ever() {
    let world = World::new();
    let people = [world.person("one", SECOND * 2), world.person("two", SECOND * 2)];
    for round in 0..100 {
        let name = format!("round {round}");
        let start = world.now();
        let both = people.iter().map(|person| async {
            let lease = person.exclusive(&name).wait(SECOND * 9).acquire().await.unwrap();
            lease.release().await.unwrap();
        });
        futures::future::join_all(both).await;
        let took = world.now().since(start);
        assert!(took < SECOND * 3, "round {round}: {took:?}");
    }
}

/// Thirty-two ask at once for a name that nobody has used: one has it, and nobody sees an error.
/// (Case 44.)
#[tokio::test(start_paused = true)]
async fn of_a_fresh_name_have_one_winner() {
    let world = World::new();
    for round in 0..50 {
        let name = format!("fresh {round}");
        let asks = (0..32).map(|n| {
            let person = world.person(&format!("{n}"), SECOND * 2);
            let name = name.clone();
            async move { person.exclusive(name).acquire().await }
        });
        let answers = futures::future::join_all(asks).await;
        let refused = answers.iter().filter(|a| matches!(a, Err(Error::Held { .. }))).count();
        let won = answers.iter().filter(|a| a.is_ok()).count();
        assert_eq!((won, refused), (1, 31), "round {round}");
    }
}

/// A waiter is woken when the holder lets go, long before its next poll.
#[tokio::test(start_paused = true)]
async fn are_woken_by_the_store() {
    let world = World::new();
    let lease = world.person("ann", SECOND * 60).exclusive(JOB).acquire().await.unwrap();
    let patient = Timing::with_ttl(SECOND * 60).poll(SECOND * 30, SECOND * 30).build().unwrap();
    let bob = world.person("bob", SECOND * 60);
    let ask = bob.exclusive(JOB).timing(patient).wait(SECOND * 60);
    let waiting = tokio::spawn(ask.acquire());
    world.pass(SECOND).await;

    let released = world.now();
    lease.release().await.unwrap();
    drop(waiting.await.unwrap().unwrap());

    assert!(world.now().since(released) < SECOND);
}

/// Five hundred writers leave one after another, and the store tells of each. The exclusive that
/// drains them does not look five hundred times, and has the lease when the last one has gone.
#[tokio::test(start_paused = true)]
async fn are_not_woken_by_each_change_of_a_busy_name() {
    let world = World::new();
    let writer = world.person("writer", SECOND * 60);
    let mut writers = Vec::new();
    for _ in 0..500 {
        writers.push(writer.writer(JOB).acquire().await.unwrap());
    }
    let counted = Arc::new(Count::new(Arc::new(world.store.clone())));
    let ann = world.person_at("ann", SECOND * 60, counted.clone(), KeeperMode::CurrentRuntime);
    let waiting = tokio::spawn(ann.exclusive(JOB).wait(SECOND * 60).acquire());
    world.pass(SECOND).await;

    let before = counted.counts().of(Method::Observe);
    for writer in writers {
        writer.release().await.unwrap();
        world.pass(SECOND / 1000).await;
    }
    let gone = world.now();
    drop(waiting.await.unwrap().unwrap());

    let looks = counted.counts().of(Method::Observe) - before;
    // Half a second: at the rate of polling, once every 25 to 50 ms, and a few more at first.
    assert!((12..=50).contains(&looks), "{looks} looks while 500 writers left");
    assert!(world.now().since(gone) <= SECOND / 10);
}
