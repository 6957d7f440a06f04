//! The cases, by concern. Each is a story about a few workers at one store.
//!
//! A case is told on any [`Fixture`](crate::Fixture) and panics where a promise is broken. The name
//! that it is given is its own; if it needs several it makes them from that one. One that is
//! dropped half-way leaves records that end with their ttls.

pub mod adoption;
pub mod ambiguity;
pub mod batch;
pub mod breaking;
pub mod cancellation;
pub mod capabilities;
pub mod confirmation;
pub mod epoch;
pub mod erasure;
pub mod eviction;
pub mod exclusion;
pub mod expiry;
pub mod handshake;
pub mod inspection;
pub mod limits;
pub mod names;
pub mod outage;
pub mod permissions;
pub mod push;
pub mod races;
pub mod release;
pub mod renewal;
pub mod takeover;

use std::time::Duration;

use lease_core::{Claim, Holding, Jitter, Mode, Name, Revision};

use crate::Worker;

/// A ttl that does not run out while a case is told.
const LONG: Duration = Duration::from_secs(3600);

/// One of several names of a case.
fn part(name: &Name, part: impl std::fmt::Display) -> Name {
    Name::parse(format!("{name}/{part}")).expect("a name")
}

/// The holding of an attempt that was never acknowledged: enough to withdraw it.
fn unacknowledged(claim: &Claim) -> Holding {
    Holding::created(claim, Revision::new(""))
}

/// A holding that is like a real one of this worker and whose record was never there.
async fn never_there(worker: &Worker<'_>, name: &Name, mode: Mode) -> Holding {
    // On a name beside, since this one may be held.
    let beside = part(name, "beside");
    let real = match mode {
        Mode::Writer => worker.joins(&beside).await.holding,
        Mode::Exclusive => worker.takes(&beside).await.holding,
    };
    worker.releases(&real).await;
    Holding { name: name.clone(), nonce: Jitter::system().nonce(), ..real }
}

/// The same claim as another attempt, with a nonce of its own (rule R7).
fn again(claim: &Claim) -> Claim {
    Claim { nonce: Jitter::system().nonce(), ..claim.clone() }
}
