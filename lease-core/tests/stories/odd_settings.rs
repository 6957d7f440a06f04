//! Settings that others have, or that nobody should have.

use std::time::Duration;

use lease_core::{Error, Timing};

use crate::world::{JOB, SECOND, World, held_by};

/// The holder's ttl counts, not that of whoever waits. (Case 33.)
#[tokio::test(start_paused = true)]
async fn the_holders_own_ttl_counts() {
    let world = World::new();
    let start = world.now();
    let (long, _frozen) = world.frozen("long", SECOND * 10);
    let lease = long.exclusive(JOB).acquire().await.unwrap();

    let short = world.person("short", SECOND);
    drop(short.exclusive(JOB).wait(SECOND * 30).acquire().await.unwrap());

    let after = world.now().since(start);
    assert!(after >= SECOND * 10 && after < SECOND * 12, "{after:?}");
    drop(lease);
}

/// A wait of any length neither overflows nor ends at once. (Case 34.)
#[tokio::test(start_paused = true)]
async fn a_wait_may_be_endless() {
    let world = World::new();
    let lease = world.person("ann", SECOND * 2).exclusive(JOB).acquire().await.unwrap();
    for wait in [Duration::MAX, Duration::from_millis(u64::MAX), SECOND * 300 * 366 * 86_400] {
        let bob = world.person("bob", SECOND * 2);
        tokio::select! {
            answer = bob.exclusive(JOB).wait(wait).acquire() => panic!("{answer:?}"),
            () = world.pass(SECOND * 30) => {}
        }
    }
    let bob = world.person("bob", SECOND * 2);
    assert_eq!(held_by(bob.exclusive(JOB).wait(Duration::from_nanos(1)).acquire().await), "ann");
    drop(lease);
}

#[tokio::test(start_paused = true)]
async fn a_ttl_that_cannot_be_kept_is_refused_before_the_store_is_asked() {
    let world = World::new();
    for ttl in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX, Timing::MAX_TTL * 2] {
        assert!(matches!(Timing::with_ttl(ttl).build(), Err(Error::Misconfigured { .. })));
    }
    let longest = world.person("ann", Timing::MAX_TTL).exclusive(JOB).acquire().await.unwrap();
    assert!(longest.remaining() > Timing::MAX_TTL / 2);
}

#[tokio::test(start_paused = true)]
async fn a_bad_name_is_refused_before_the_store_is_asked() {
    let world = World::new();
    let ann = world.person("ann", SECOND);
    for name in ["", "a\0b", "line\nbreak"] {
        let refused = ann.exclusive(name).acquire().await.unwrap_err();
        assert!(matches!(refused, Error::Misconfigured { .. }), "{refused}");
    }
    assert_eq!(lease_core::Backend::names(&world.store).await.unwrap(), []);
}
