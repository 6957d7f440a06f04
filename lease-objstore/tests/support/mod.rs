//! What the tests have in common: people at a store, and a store that counts, stalls and fails.
#![allow(dead_code, clippy::unwrap_used, reason = "each test uses its part")]

use std::sync::Arc;
use std::time::Duration;

use lease_core::backend::{Draining, Joined, Taken};
use lease_core::{Backend, Claim, Grant, HolderInfo, Jitter, Mode, Name, Policy};

pub mod files;
pub mod store;

pub const SECOND: Duration = Duration::from_secs(1);
pub const TTL: Duration = Duration::from_secs(10);

pub fn name() -> Name {
    Name::parse("the name").unwrap()
}

/// One attempt to hold [`name`].
pub fn claim(mode: Mode, ttl: Duration) -> Claim {
    let info = HolderInfo::of_this_process().label("ann").build().unwrap();
    Claim { name: name(), nonce: Jitter::system().nonce(), mode, ttl, info: Arc::new(info) }
}

pub fn writer() -> Claim {
    claim(Mode::Writer, TTL)
}

pub fn exclusive() -> Claim {
    claim(Mode::Exclusive, TTL)
}

/// A grant, or a panic.
pub async fn acquire(store: &dyn Backend, claim: &Claim) -> Grant {
    try_acquire(store, claim, &Policy::expired()).await.expect("it is free")
}

/// A grant, unless somebody is in the way.
pub async fn try_acquire(store: &dyn Backend, claim: &Claim, policy: &Policy) -> Option<Grant> {
    match claim.mode {
        Mode::Writer => match store.join(claim, policy).await.unwrap() {
            Joined::Granted(grant) => Some(grant),
            Joined::Refused(_) => None,
        },
        Mode::Exclusive => match take(store, claim, None, policy).await {
            Taken::Granted(grant) => Some(grant),
            Taken::Draining(draining) => {
                store.withdraw(&draining.holding).await.unwrap();
                None
            }
            Taken::Refused(_) | Taken::Displaced(_) => None,
        },
    }
}

/// One round of an exclusive's handshake.
pub async fn take(
    store: &dyn Backend,
    claim: &Claim,
    draining: Option<&Draining>,
    policy: &Policy,
) -> Taken {
    store.take(claim, draining, policy).await.unwrap()
}
