//! A program that keeps its runtime busy keeps its leases all the same.

use std::sync::Arc;
use std::time::Duration;

use lease_core::clock::SystemClock;
use lease_core::{Clock, Coordinator, Timing};

use crate::support::{connected, fresh_database};

const TTL: Duration = Duration::from_secs(3);

/// The runtime in which the client was made has one thread, and that one does something else for
/// longer than two ttls: neither the keeper nor the driver waits for it. (Case 10.)
#[tokio::test(flavor = "current_thread")]
async fn a_blocked_runtime_does_not_keep_renewals_waiting() {
    let mongo = connected(&fresh_database()).await;
    let timing = Timing::with_ttl(TTL).build().expect("possible");
    let coordinator = Coordinator::builder(Arc::new(mongo)).timing(timing).build();
    let lease = coordinator.exclusive("a").acquire().await.expect("it is free");

    let until = SystemClock.now().plus(TTL * 2 + TTL / 2);
    while SystemClock.now() < until {
        std::thread::park_timeout(until.since(SystemClock.now()));
    }

    lease.check().expect("it was renewed meanwhile");
    lease.confirm().await.expect("nobody could take it");
}
