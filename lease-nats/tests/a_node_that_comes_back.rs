//! The node that may write a store dies, and comes back under its own name: it takes its lease back
//! once that is stale, or at once if its old process is proven dead; and others wait for an
//! operator.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;

use lease_core::clock::SystemClock;
use lease_core::{
    Backend, Clock, Coordinator, Error, HolderInfo, HolderInfoBuilder, Mode, Policy, Timing,
};
use lease_nats::Nats;
use testbed::Helper;

use support::bucket::Bucket;
use support::server::shared;
use support::{SECOND, acquire, claim, name, try_acquire};

const NODE: &str = "node-1";

/// A coordinator whose leases nobody takes over but the node of this name.
fn node(store: Nats, stable_name: &str) -> Coordinator {
    let timing = Timing::with_ttl(SECOND * 2).build().unwrap();
    let info: HolderInfoBuilder = HolderInfo::of_this_process().stable_name(stable_name);
    Coordinator::builder(Arc::new(store))
        .timing(timing)
        .info(info.build().unwrap())
        .policy(Policy::refuse().readopting(stable_name))
        .build()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_takes_its_own_lease_back_when_that_is_stale_and_under_a_higher_epoch() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let store = bucket.connect().await;
    // The old process: it took the lease and is not heard of again. Whether it lives cannot be
    // told, for it is this one.
    let before = {
        let info = HolderInfo::of_this_process().stable_name(NODE).build().unwrap();
        let claim = claim(&name("store"), Mode::Exclusive, SECOND * 2);
        acquire(&store, &lease_core::Claim { info: Arc::new(info), ..claim }).await
    };
    let start = SystemClock.now();

    let back = bucket.connect().await;
    let fresh = node(back.clone(), NODE).exclusive("store").acquire().await;
    assert!(matches!(fresh, Err(Error::Held { .. })), "it may live: {fresh:?}");

    let lease = node(back, NODE).exclusive("store").wait(SECOND * 20).acquire().await.unwrap();
    let waited = SystemClock.now().since(start);
    assert!(waited >= SECOND, "it was fresh until its ttl was over, not for {waited:?}");
    assert!(lease.epoch() > before.epoch, "{} after {}", lease.epoch(), before.epoch);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_it_left_is_left_alone_by_others() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let store = bucket.connect().await;
    let info = HolderInfo::of_this_process().stable_name(NODE).build().unwrap();
    let claim = claim(&name("store"), Mode::Exclusive, SECOND);
    acquire(&store, &lease_core::Claim { info: Arc::new(info), ..claim }).await;
    support::pass(SECOND * 2).await;
    let other = node(bucket.connect().await, "node-2").exclusive("store").acquire().await;
    assert!(matches!(other, Err(Error::Held { .. })), "an operator has to look: {other:?}");
    let lease = node(store, NODE).exclusive("store").acquire().await.unwrap();
    lease.release().await.unwrap();
}

/// The same with a process that is really dead: nobody has to wait for its ttl.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_proven_dead_is_not_waited_for() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let job = name("job");
    let mut info = HolderInfo::of_this_process().build().unwrap();
    info.process = Some(dead_process());
    let theirs = claim(&job, Mode::Exclusive, SECOND * 3600);
    let before = acquire(&ann, &lease_core::Claim { info: Arc::new(info), ..theirs }).await;

    let grant = try_acquire(&bob, &claim(&job, Mode::Exclusive, SECOND * 10)).await;
    let grant = grant.expect("a dead process holds nothing");
    assert!(grant.took_over && grant.epoch > before.epoch);
    assert!(matches!(
        ann.confirm(&before.holding).await,
        Ok(lease_core::backend::Confirmed::Lost(_))
    ));
}

/// What a process that has ended would have told of itself.
fn dead_process() -> lease_core::ProcessId {
    let child = Helper::spawn(std::process::Command::new("true")).unwrap();
    let mut told = lease_core::ProcessId::of_this_process().unwrap();
    child.wait(SECOND * 10).unwrap();
    told.pid = child.id();
    told
}
