//! The same for programs that have no async runtime: each call waits on the calling thread.
//!
//! Leases are renewed in the background all the same, on the keeper's own thread. What a store's
//! driver needs of a runtime runs on one thread of this module's own, started by the first call.
//!
//! ```
//! # fn main() -> leasehold::Result<()> {
//! let leases = leasehold::blocking::connect("memory:")?;
//! let lease = leases.exclusive("nightly-report").acquire()?;
//! let pages = lease.guard(|fence| fence.token().get())?;
//! lease.release()?;
//! # let _ = pages; Ok(()) }
//! ```
//!
//! Do not call it from async code: it would hold up the runtime's thread. A call is over when it
//! returns: there is nothing to drop half-way, and [`Acquire::cancelled_by`] ends a wait.

use std::future::Future;
use std::sync::{Arc, OnceLock};

use lease_core::{Backend, Error, Mode, Name, Result, Snapshot, Ticket};
use tokio::runtime::Runtime;

mod acquire;
mod lease;

pub use acquire::Acquire;
pub use lease::Lease;

/// Opens the store that `url` names, and gives a coordinator with default durations and policy: see
/// [`leasehold::connect`](crate::connect).
///
/// # Errors
///
/// As of [`leasehold::connect`](crate::connect), and [`Error::Misconfigured`] if the system has no
/// room for a thread: raise its limit of threads or processes.
pub fn connect(url: &str) -> Result<Coordinator> {
    Ok(Coordinator::of(wait(crate::connect(url))??))
}

/// Takes and keeps leases in one store: see [`leasehold::Coordinator`](crate::Coordinator). Cheap to
/// clone; clones are one coordinator.
#[derive(Clone, Debug)]
pub struct Coordinator {
    inner: crate::Coordinator,
}

impl Coordinator {
    /// A coordinator with default durations and policy, known by host and pid.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self::of(crate::Coordinator::new(backend))
    }

    /// One that was built with other durations, another policy or another holder's name.
    #[must_use]
    pub const fn of(inner: crate::Coordinator) -> Self {
        Self { inner }
    }

    /// The coordinator for async code: the same leases.
    #[must_use]
    pub const fn as_async(&self) -> &crate::Coordinator {
        &self.inner
    }

    /// Asks for `name` alone: no writer and no other exclusive.
    pub fn exclusive(&self, name: impl AsRef<str>) -> Acquire {
        self.ask(name, Mode::Exclusive)
    }

    /// Asks for `name` beside other writers.
    pub fn writer(&self, name: impl AsRef<str>) -> Acquire {
        self.ask(name, Mode::Writer)
    }

    /// Asks for `name` in this mode.
    pub fn ask(&self, name: impl AsRef<str>, mode: Mode) -> Acquire {
        Acquire::new(self.inner.ask(name, mode))
    }

    /// Shows who holds `name`: see [`Coordinator::status`](crate::Coordinator::status).
    ///
    /// # Errors
    ///
    /// As there, and [`Error::Misconfigured`] if the system has no room for a thread.
    pub fn status(&self, name: &Name) -> Result<Snapshot> {
        wait(self.inner.status(name))?
    }

    /// The names that the store knows: see [`Coordinator::names`](crate::Coordinator::names).
    ///
    /// # Errors
    ///
    /// As there, and [`Error::Misconfigured`] if the system has no room for a thread.
    pub fn names(&self) -> Result<Vec<Name>> {
        wait(self.inner.names())?
    }

    /// Takes over a lease that another process handed out: see
    /// [`Coordinator::redeem`](crate::Coordinator::redeem).
    ///
    /// # Errors
    ///
    /// As there, and [`Error::Misconfigured`] if the system has no room for a thread.
    pub fn redeem(&self, ticket: &Ticket) -> Result<Lease> {
        wait(self.inner.redeem(ticket))?.map(Lease::new)
    }
}

/// Waits on this thread, while the runtime's own thread drives timers and sockets.
fn wait<T>(work: impl Future<Output = T>) -> Result<T> {
    let _inside = runtime()?.enter();
    Ok(pollster::block_on(work))
}

/// One for the process: it lasts for as long, so that what was dropped is still released.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let built = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("leasehold")
        .enable_all()
        .build()
        .map_err(|error| {
            let problem = format!("the system starts no thread ({error})");
            Error::misconfigured(problem, "raise the limit of threads or processes")
        })?;
    // Of two threads that were first here, one has built for nothing.
    Ok(RUNTIME.get_or_init(|| built))
}
