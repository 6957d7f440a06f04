//! Keeps leases alive: a pure state machine says what is due, a driver does it.
//!
//! [`Schedule`] knows nothing of stores, threads or clocks: it is told the time and the answers, and
//! tells what to renew and what is lost. The driver around it runs on its own thread and runtime, so
//! that work which blocks the application's runtime does not starve the renewals; on the runtime of
//! the caller; or by hand, for tests.

mod driver;
mod engine;
mod handle;
mod schedule;

pub use driver::Driven;
pub(crate) use handle::KeeperHandle;
pub use schedule::{LeaseId, Schedule, Verdict};

/// How the renewals of a coordinator are driven.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum KeeperMode {
    /// On a thread and runtime of their own, by the coordinator's clock. For production.
    #[default]
    OwnThread,
    /// As a task of the tokio runtime that is current when the first lease is taken. For tests on
    /// paused time, and for programs that want no second thread and never block their runtime.
    CurrentRuntime,
    /// By hand: nothing is renewed until [`Driven::step`] is called. For tests.
    Driven(Driven),
}
