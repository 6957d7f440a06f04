//! What a backend tells the suite about its store: the one thing that a new backend writes.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lease_core::clock::SystemClock;
use lease_core::{Backend, Capabilities, Clock, Name, Nonce};

/// A store under test, and what only its owner can do to it.
///
/// The methods that look at the store or damage it go around the backend, so that the suite need
/// not believe what it tests. What they cannot do fails the case: they panic. The suite waits for
/// each of them to its end and drops none half-way.
#[async_trait]
pub trait Fixture: Send + Sync + 'static {
    /// A fresh store, or an empty namespace of its own in one that runs.
    async fn start() -> Self
    where
        Self: Sized;

    /// A client of this store that shares nothing else with the others: a process of its own, as
    /// far as that goes.
    async fn connect(&self) -> Arc<dyn Backend>;

    /// A client of this store whose requests do not arrive.
    async fn unreachable(&self) -> Arc<dyn Backend>;

    /// A client that may read and not write; nothing where the store knows no such right.
    async fn read_only(&self) -> Option<Arc<dyn Backend>>;

    /// Deletes by hand all that the store holds of `name`.
    async fn erase(&self, name: &Name);

    /// Spoils the record of `nonce`.
    async fn damage(&self, name: &Name, nonce: Nonce, damage: Damage);

    /// How many records of `name` the store holds that were neither ended nor removed, of both
    /// modes.
    async fn records(&self, name: &Name) -> usize;

    /// The clock that [`pass`](Self::pass) moves. The machine's by default.
    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(SystemClock)
    }

    /// Lets time pass for the store and for its clients. Waits for it by default.
    async fn pass(&self, time: Duration) {
        let clock = self.clock();
        clock.sleep_until(clock.now().plus(time)).await;
    }

    /// The ttl that the cases use: long enough for a busy machine to take a few steps within a
    /// fraction of it.
    fn ttl(&self, capabilities: &Capabilities) -> Duration {
        let by_clock = capabilities.clock_resolution * 4;
        capabilities.min_ttl.max(by_clock).max(Duration::from_secs(1))
    }

    /// How many writers are a crowd: more than one page of the store's listings, if it has pages
    /// and so many are bearable.
    fn crowd(&self) -> usize {
        40
    }
}

/// How a record is spoilt. A store that keeps no bytes makes the nearest thing to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Nothing is left of it but its place.
    Empty,
    /// Its second half is missing.
    Truncated,
    /// It says that format 99 wrote it.
    NewerVersion,
    /// It has a field that this version does not know, and is as good as before.
    UnknownField,
}
