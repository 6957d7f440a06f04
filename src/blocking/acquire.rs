//! Asking for a lease.

use std::time::Duration;

use lease_core::{CancellationToken, HolderInfo, Policy, Result, Timing, Waiting};

use super::{Lease, wait};

/// A request for a lease: see [`leasehold::Acquire`](crate::Acquire). Nothing happens before
/// [`acquire`](Self::acquire).
#[derive(Debug)]
#[must_use = "a request does nothing until `acquire` is called"]
pub struct Acquire {
    inner: crate::Acquire,
}

impl Acquire {
    pub(super) const fn new(inner: crate::Acquire) -> Self {
        Self { inner }
    }

    /// Waits for so long while another holds, or the store does not answer. Without it there is one
    /// try. [`Duration::MAX`] waits for ever.
    pub fn wait(self, at_most: Duration) -> Self {
        Self::new(self.inner.wait(at_most))
    }

    /// Sets the durations of this lease.
    pub fn timing(self, timing: Timing) -> Self {
        Self::new(self.inner.timing(timing))
    }

    /// Sets what may be done about records whose holders seem gone.
    pub fn policy(self, policy: Policy) -> Self {
        Self::new(self.inner.policy(policy))
    }

    /// Sets who asks, for people and tools.
    pub fn info(self, info: HolderInfo) -> Self {
        Self::new(self.inner.info(info))
    }

    /// Ends the wait when `token` is cancelled, by another thread or a signal's handler.
    pub fn cancelled_by(self, token: CancellationToken) -> Self {
        Self::new(self.inner.cancelled_by(token))
    }

    /// Tells `listener` each time that the request has to wait. It must not block.
    pub fn on_wait(self, listener: impl Fn(&Waiting<'_>) + Send + Sync + 'static) -> Self {
        Self::new(self.inner.on_wait(listener))
    }

    /// Takes the lease: see [`Acquire::acquire`](crate::Acquire::acquire).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn acquire(self) -> Result<Lease> {
        wait(self.inner.acquire())?.map(Lease::new)
    }
}
