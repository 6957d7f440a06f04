//! A program that keeps its runtime busy keeps its leases all the same.

use std::sync::Arc;
use std::time::Duration;

use lease_core::clock::SystemClock;
use lease_core::{Clock, Coordinator, Timing};
use lease_mongo::Options;

use crate::support::{SET, connected, fresh_database, url_of};

const TTL: Duration = Duration::from_secs(3);

/// The runtime in which the client was made has one thread, and that one does something else for
/// three ttls: neither the keeper nor the driver waits for it. (Case 10.)
#[tokio::test(flavor = "current_thread")]
async fn a_blocked_runtime_does_not_keep_renewals_waiting() {
    let mongo = connected(&fresh_database()).await;
    let timing = Timing::with_ttl(TTL).build().expect("possible");
    let coordinator = Coordinator::builder(Arc::new(mongo)).timing(timing).build();
    let lease = coordinator.exclusive("a").acquire().await.expect("it is free");

    let until = SystemClock.now().plus(TTL * 3);
    while SystemClock.now() < until {
        std::thread::park_timeout(until.since(SystemClock.now()));
    }

    lease.check().expect("it was renewed meanwhile");
    lease.confirm().await.expect("nobody could take it");
}

/// The driver may have one connection only, and somebody of the same process waits for another name, by
/// a stream of changes that is open for all that time. Renewals get their turn. (Case 10.)
#[tokio::test(flavor = "multi_thread")]
async fn one_connection_that_a_waiter_uses_does_not_keep_renewals_waiting() {
    let database = fresh_database();
    let options = Options::parse(&url_of(SET.url(), &database, "&maxPoolSize=1")).expect("a URL");
    let mongo = lease_mongo::connect(options).await.expect("the replica set is there");
    let timing = Timing::with_ttl(TTL).build().expect("possible");
    let leases = Coordinator::builder(Arc::new(mongo)).timing(timing).build();
    let others = Coordinator::new(Arc::new(connected(&database).await));
    let theirs = others.exclusive("theirs").acquire().await.expect("it is free");
    let mine = leases.exclusive("mine").acquire().await.expect("it is free");

    let waits = leases.exclusive("theirs").wait(TTL * 3).acquire().await;
    assert!(waits.is_err(), "they hold it");
    mine.check().expect("it was renewed meanwhile");
    mine.confirm().await.expect("nobody could take it");
    theirs.release().await.expect("an answer");
}
