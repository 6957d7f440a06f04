//! The real protocol code in a simulated world: one seed, one schedule.
//!
//! Clients take, hold, use and lose leases, while requests are lost, delayed and repeated, answers
//! are lost, and clients stop, crash, and have clocks of their own. All of it runs on one thread
//! and on paused time, and every choice comes from the seed, so that a schedule repeats itself. A
//! [`judge`] watches: no two conflicting beliefs, epochs only rise, the gate never refuses a
//! valid holder, everybody gets on once the faults are over, nothing is left behind.
//!
//! ```
//! let report = lease_core::sim::run(7, &lease_core::sim::InMemory);
//! assert_eq!(report.violations, Vec::<String>::new());
//! ```

mod client;
mod clock;
mod history;
pub mod judge;
mod link;
mod nemesis;
mod networked;
mod process;
mod resource;
mod world;

use std::sync::Arc;

use async_trait::async_trait;

pub use clock::SimClock;
pub use history::{Event, Happening};
pub use judge::Report;
pub use link::{Link, Unanswered};
pub use world::World;

use crate::memory::Memory;
use crate::{Backend, Clock};

/// A store that a schedule is run against.
pub trait Store: Sync {
    /// A fresh store for one schedule, on the world's own clock.
    fn open(&self, clock: Arc<dyn Clock>) -> Arc<dyn OpenStore>;
}

/// One store within one schedule.
#[async_trait]
pub trait OpenStore: Send + Sync {
    /// A client's way to the store: every request goes through `link`, which may spoil it, though
    /// not yet. `clock` is the client's own.
    ///
    /// # Panics
    ///
    /// If it cannot be opened: a schedule has nobody to tell.
    ///
    /// # Cancel safety
    ///
    /// It need not be: it is always waited for.
    async fn connect(&self, link: Link, clock: Arc<dyn Clock>) -> Arc<dyn Backend>;
}

/// The reference backend, each of its steps one request.
#[derive(Clone, Copy, Debug)]
pub struct InMemory;

impl Store for InMemory {
    fn open(&self, clock: Arc<dyn Clock>) -> Arc<dyn OpenStore> {
        Arc::new(Over(Arc::new(Memory::with_clock(clock))))
    }
}

/// Any backend whose single steps go over the simulated network: for a mutant, say.
#[derive(Clone, Debug)]
pub struct Over(pub Arc<dyn Backend>);

#[async_trait]
impl OpenStore for Over {
    async fn connect(&self, link: Link, _clock: Arc<dyn Clock>) -> Arc<dyn Backend> {
        Arc::new(networked::Networked::new(self.0.clone(), link))
    }
}

/// Runs the schedule of `seed` against a fresh store, and judges it.
///
/// # Panics
///
/// If there is no room for a runtime.
#[must_use]
#[expect(clippy::expect_used, reason = "a simulation without a runtime cannot go on")]
pub fn run(seed: u64, store: &dyn Store) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime of one thread");
    runtime.block_on(world::play(seed, store))
}
