//! What the tests have in common: buckets on real servers, and people at them.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use lease_core::backend::{Draining, Joined, Renewed, Taken};
use lease_core::clock::SystemClock;
use lease_core::{Backend, Claim, Clock, Grant, HolderInfo, Holding, Jitter, Mode, Name, Policy};
use lease_nats::{Nats, Options};

pub mod bucket;
pub mod cut;
pub mod distance;
pub mod server;
pub mod store;

pub const SECOND: Duration = Duration::from_secs(1);
pub const TTL: Duration = Duration::from_secs(10);

pub fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// A name that no other test has.
pub fn fresh() -> String {
    Jitter::system().nonce().to_string()
}

/// A new bucket on this server.
pub async fn open(url: &str) -> Nats {
    lease_nats::connect(options(url)).await.unwrap()
}

/// How to open a new bucket on this server.
pub fn options(url: &str) -> Options {
    Options::new(url.split(','), format!("leases-{}", fresh())).timeout(SECOND * 3)
}

/// One attempt to hold a name.
pub fn claim(name: &Name, mode: Mode, ttl: Duration) -> Claim {
    let info = HolderInfo::of_this_process().label("ann").build().unwrap();
    let (name, nonce) = (name.clone(), Jitter::system().nonce());
    Claim { name, nonce, mode, ttl, info: Arc::new(info) }
}

/// A grant, or a panic.
pub async fn acquire(store: &dyn Backend, claim: &Claim) -> Grant {
    try_acquire(store, claim).await.expect("it is free")
}

/// A grant, unless somebody is in the way.
pub async fn try_acquire(store: &dyn Backend, claim: &Claim) -> Option<Grant> {
    let policy = Policy::expired();
    match claim.mode {
        Mode::Writer => match store.join(claim, &policy).await.unwrap() {
            Joined::Granted(grant) => Some(grant),
            Joined::Refused(_) => None,
        },
        Mode::Exclusive => match store.take(claim, None, &policy).await.unwrap() {
            Taken::Granted(grant) => Some(grant),
            Taken::Draining(draining) => {
                store.withdraw(&draining.holding).await.unwrap();
                None
            }
            Taken::Refused(_) | Taken::Displaced(_) => None,
        },
    }
}

/// One renewal, of a lease that is held.
pub async fn renew(store: &dyn Backend, mine: &Holding) -> Holding {
    let next = mine.next_beat();
    match store.renew(std::slice::from_ref(&next)).await.remove(0) {
        Ok(Renewed::Renewed { revision, .. }) => next.acknowledged(revision),
        other => panic!("it is held: {other:?}"),
    }
}

/// An exclusive that has to wait for writers.
pub async fn drain(store: &dyn Backend, claim: &Claim) -> Draining {
    match store.take(claim, None, &Policy::expired()).await.unwrap() {
        Taken::Draining(draining) => draining,
        other => panic!("writers are there: {other:?}"),
    }
}

/// Lets real time pass: it is a real server's.
pub async fn pass(time: Duration) {
    SystemClock.sleep_until(SystemClock.now().plus(time)).await;
}

/// Asks until there is an answer, for as long as servers may take to elect a leader.
#[track_caller]
pub fn eventually<T, F>(ask: impl Fn() -> F) -> impl Future<Output = T>
where
    F: Future<Output = Option<T>>,
{
    let (start, caller) = (SystemClock.now(), Location::caller());
    async move {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            let waited = SystemClock.now().since(start);
            assert!(waited < SECOND * 100, "it never happened: {caller}");
            pass(Duration::from_millis(50)).await;
        }
    }
}
