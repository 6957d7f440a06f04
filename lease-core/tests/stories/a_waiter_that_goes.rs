//! An exclusive that waits, and goes away: nobody is kept out by it afterwards.

use std::sync::Arc;

use lease_core::keeper::KeeperMode;
use lease_core::layer::{Fault, Faulty, Method};
use lease_core::{Backend, Effect, Error};
use rstest::rstest;
use tokio_util::sync::CancellationToken;

use crate::world::{JOB, SECOND, World, job};

#[derive(Clone, Copy, Debug)]
enum Goes {
    TimedOut,
    Dropped,
    Cancelled,
    Killed,
}

/// A writer works for long. An exclusive waits for it and goes after a second, in one way or
/// another. A second writer that came meanwhile gets on at once, or after a ttl where nobody could
/// clear up. (Case 39.)
#[rstest]
#[case::timed_out(Goes::TimedOut, 1.6)]
#[case::dropped(Goes::Dropped, 1.6)]
#[case::cancelled(Goes::Cancelled, 1.6)]
#[case::killed(Goes::Killed, 4.0)]
#[tokio::test(start_paused = true)]
async fn lets_the_writers_in_again(#[case] how: Goes, #[case] by_seconds: f64) {
    let world = World::new();
    let start = world.now();
    let first = world.person("first", SECOND * 2).writer(JOB).acquire().await.unwrap();

    let (frozen, _hand) = world.frozen("exclusive", SECOND * 2);
    let stop = CancellationToken::new();
    let wait = if let Goes::TimedOut = how { SECOND } else { SECOND * 60 };
    let ask = frozen.exclusive(JOB).wait(wait).cancelled_by(stop.clone());
    let exclusive = match how {
        // Whoever is killed clears nothing up: a fresh record of somebody who is gone.
        Goes::Killed => {
            world.leave_a_drain_behind().await;
            tokio::spawn(std::future::pending())
        }
        Goes::TimedOut | Goes::Dropped | Goes::Cancelled => tokio::spawn(ask.acquire()),
    };

    world.pass(SECOND / 2).await;
    let second = world.person("second", SECOND * 2);
    let waiting = tokio::spawn(second.writer(JOB).wait(SECOND * 20).acquire());

    world.pass(SECOND / 2).await;
    match how {
        Goes::TimedOut => assert!(matches!(exclusive.await.unwrap(), Err(Error::Held { .. }))),
        Goes::Dropped => exclusive.abort(),
        Goes::Cancelled => {
            stop.cancel();
            assert!(matches!(exclusive.await.unwrap(), Err(Error::Cancelled { .. })));
        }
        Goes::Killed => {}
    }

    let second = waiting.await.unwrap().unwrap();
    let after = world.now().since(start).as_secs_f64();
    assert!(after < by_seconds, "{how:?} kept the writers out for {after} s");
    second.check().unwrap();
    first.check().unwrap();
    assert!(lease_core::Backend::observe(&world.store, &job()).await.unwrap().exclusive.is_none());
}

/// A token that was cancelled before asks nothing of the store. (Case 24.)
#[tokio::test(start_paused = true)]
async fn before_it_came_asks_nothing() {
    let world = World::new();
    let stop = CancellationToken::new();
    stop.cancel();

    let asked = world.person("ann", SECOND).exclusive(JOB).cancelled_by(stop).acquire().await;

    assert!(matches!(asked, Err(Error::Cancelled { .. })));
    assert_eq!(lease_core::Backend::names(&world.store).await.unwrap(), []);
}

/// An acquire that is abandoned at any moment leaves nothing that keeps the next one waiting.
/// (Case 24.)
#[tokio::test(start_paused = true)]
async fn at_any_moment_leaves_nothing_behind() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 10), world.person("bob", SECOND * 10));
    for round in 0..100_u32 {
        let blocker = world.person("blocker", SECOND * 10).writer(JOB).acquire().await.unwrap();
        let ask = ann.exclusive(JOB).wait(SECOND * 60);
        tokio::select! {
            _ = ask.acquire() => panic!("a writer is there"),
            () = world.pass(SECOND * round / 250) => {}
        }
        blocker.release().await.unwrap();

        let start = world.now();
        let next = bob.exclusive(JOB).wait(SECOND * 10).acquire().await.unwrap();
        let waited = world.now().since(start);
        assert!(waited < SECOND, "round {round}: {waited:?}");
        next.release().await.unwrap();
    }
}

/// Whoever is told that the time to wait is over has left nothing behind, from that moment on.
#[tokio::test(start_paused = true)]
async fn has_gone_when_it_is_told_so() {
    let world = World::new();
    let writer = world.person("writer", SECOND * 10).writer(JOB).acquire().await.unwrap();
    let ann = world.person("ann", SECOND * 10);

    assert!(ann.exclusive(JOB).wait(SECOND).acquire().await.is_err());

    assert!(world.store.observe(&job()).await.unwrap().exclusive.is_none());
    drop(writer);
}

/// The store fails to remove what was left. It is asked again soon, and no more once that is done.
#[tokio::test(start_paused = true)]
async fn is_cleared_away_at_the_second_try() {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let writer = world.person("writer", SECOND * 60).writer(JOB).acquire().await.unwrap();
    let mode = KeeperMode::CurrentRuntime;
    let ann = world.person_at("ann", SECOND * 60, Arc::new(network.clone()), mode);
    network.next(Method::Withdraw, Fault::fails(Effect::Nothing));

    assert!(ann.exclusive(JOB).wait(SECOND).acquire().await.is_err());
    assert!(world.store.observe(&job()).await.unwrap().exclusive.is_some());

    world.pass(SECOND).await;
    assert!(world.store.observe(&job()).await.unwrap().exclusive.is_none());
    world.pass(SECOND * 120).await;
    assert_eq!(network.calls(Method::Withdraw), 2);
    drop(writer);
}

impl World {
    /// The record of an exclusive that drained when its process was killed.
    async fn leave_a_drain_behind(&self) {
        let claim = lease_core::Claim {
            name: job(),
            nonce: lease_core::Jitter::system().nonce(),
            mode: lease_core::Mode::Exclusive,
            ttl: SECOND * 2,
            info: std::sync::Arc::default(),
        };
        let backend: &dyn lease_core::Backend = &self.store;
        let seen = backend.observe(&job()).await.unwrap();
        backend.install(&claim, &seen, None).await.unwrap();
    }
}
