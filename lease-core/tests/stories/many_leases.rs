//! A process that holds many leases.

use std::sync::Arc;

use lease_core::keeper::KeeperMode;
use lease_core::layer::{Count, Faulty, Method};
use lease_core::{Clock, Error, HeldLeases, LossReason, Name, Released, Status};

use crate::world::{SECOND, World};

/// A hundred leases are renewed in a few requests, and exactly those that are lost are told.
#[tokio::test(start_paused = true)]
async fn renews_them_together_and_loses_them_apart() {
    let world = World::new();
    let counted = Arc::new(Count::new(Arc::new(world.store.clone())));
    let ann = world.person_at("ann", SECOND * 3, counted.clone(), KeeperMode::CurrentRuntime);
    let held = HeldLeases::new();
    for n in 0..100 {
        held.hold(ann.exclusive(format!("shard {n}")).acquire().await.unwrap());
    }

    let before = counted.counts().of(Method::Renew);
    world.pass(SECOND * 30).await;
    let requests = counted.counts().of(Method::Renew) - before;
    assert!(requests <= 60, "{requests} requests for 30 to 36 rounds of 100 leases");
    assert!(held.snapshot().iter().all(|lease| lease.status == Status::Held));

    let shard = Name::parse("shard 7").unwrap();
    world.store.erase(&shard);
    world.pass(SECOND).await;
    assert_eq!(held.drop_lost(), [(shard, LossReason::StateGone)]);
    assert_eq!(held.snapshot().len(), 99);
}

/// One that is settled is free at once; one that is not held cannot be.
#[tokio::test(start_paused = true)]
async fn settles_each_under_its_lease() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 3), world.person("bob", SECOND * 3));
    let held = HeldLeases::new();
    let item = Name::parse("item").unwrap();
    assert!(matches!(held.confirm(&item).await, Err(Error::Lost { .. })));

    held.hold(ann.exclusive("item").acquire().await.unwrap());
    assert!(held.is_held(&item));
    held.confirm(&item).await.unwrap();
    let token = held.settle(&item, |fence| async move { fence.token() }).await.unwrap();

    let bobs = bob.exclusive("item").acquire().await.unwrap();
    assert!(bobs.token() > token);
    assert!(!held.is_held(&item));
    assert!(held.snapshot().is_empty());
    assert!(held.settle(&item, |_| async {}).await.is_err());
}

/// A release waits for the work that goes on under the lease, and is not hindered by whoever only
/// looks. (Case 50.)
#[tokio::test(start_paused = true)]
async fn releases_each_after_the_work_on_it() {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let ann =
        world.person_at("ann", SECOND * 3, Arc::new(network.clone()), KeeperMode::CurrentRuntime);
    let held = Arc::new(HeldLeases::new());
    let item = Name::parse("item").unwrap();
    held.hold(ann.exclusive("item").acquire().await.unwrap());

    let (working, clock, name) = (held.clone(), world.clock, item.clone());
    let work = tokio::spawn(async move {
        let five_seconds = |_| async move { clock.sleep_until(clock.now().plus(SECOND * 5)).await };
        working.settle(&name, five_seconds).await
    });
    world.pass(SECOND).await;
    let begun = world.now();
    let released = held.release(&item).await.unwrap();
    assert_eq!(released, Released::Freed);
    assert!(world.now().since(begun) >= SECOND * 4, "the work was still going on");
    work.await.unwrap().unwrap();

    // Somebody who confirms at the same time is no reason to leave the lease to its ttl.
    held.hold(ann.exclusive("item").acquire().await.unwrap());
    let looking = network.hold(Method::Confirm);
    let (looker, name) = (held.clone(), item.clone());
    let confirm = tokio::spawn(async move { looker.confirm(&name).await });
    looking.reached().await;
    assert_eq!(held.release(&item).await.unwrap(), Released::Freed);
    looking.open();
    assert!(matches!(confirm.await.unwrap(), Err(Error::Lost { .. })));
}

/// Work on a name may settle or look at the same name within, and nobody waits for himself.
#[tokio::test(start_paused = true)]
async fn may_be_settled_within_the_work_on_them() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 3), world.person("bob", SECOND * 3));
    let held = HeldLeases::new();
    let item = Name::parse("item").unwrap();
    held.hold(ann.exclusive("item").acquire().await.unwrap());

    let within = |_| async { held.settle(&item, |fence| async move { fence.token() }).await };
    held.settle(&item, within).await.unwrap().unwrap();

    bob.exclusive("item").wait(SECOND).acquire().await.unwrap().release().await.unwrap();
}
