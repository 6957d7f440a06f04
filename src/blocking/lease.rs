//! A lease that is held.

use std::time::Duration;

use lease_core::{
    CancellationToken, DurableGate, Epoch, Fence, LossReason, Mode, Name, Nonce, Released, Result,
    Status, Ticket, Token,
};

use super::wait;

/// A lease that is held: see [`leasehold::Lease`](crate::Lease). It is renewed in the background until
/// it is released, dropped or lost.
#[derive(Debug)]
#[must_use = "a lease that is dropped is released"]
pub struct Lease {
    inner: crate::Lease,
}

impl Lease {
    pub(super) const fn new(inner: crate::Lease) -> Self {
        Self { inner }
    }

    /// The lease for async code: the same one.
    pub const fn as_async(&self) -> &crate::Lease {
        &self.inner
    }

    /// What is held.
    #[must_use]
    pub fn name(&self) -> &Name {
        self.inner.name()
    }

    /// How it is held.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.inner.mode()
    }

    /// The epoch that it was granted under.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.inner.epoch()
    }

    /// The fencing token, to be sent along with each write.
    #[must_use]
    pub fn token(&self) -> Token {
        self.inner.token()
    }

    /// The identity of this grant, as `status` shows it.
    #[must_use]
    pub fn nonce(&self) -> Nonce {
        self.inner.nonce()
    }

    /// How long it may still be believed in if no renewal gets through; zero once it is lost.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.inner.remaining()
    }

    /// Whether it is held, doubtful or lost.
    #[must_use]
    pub fn status(&self) -> Status {
        self.inner.status()
    }

    /// A token that is cancelled once the lease is lost: see
    /// [`Lease::cancellation`](crate::Lease::cancellation).
    #[must_use]
    pub fn cancellation(&self) -> CancellationToken {
        self.inner.cancellation()
    }

    /// Proves by this process's own clock that the lease may still be believed in. Asks nobody.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`](crate::Error::Lost): stop the protected work.
    pub fn check(&self) -> Result<Fence> {
        self.inner.check()
    }

    /// Asks the store whether the lease is still ours: see [`Lease::confirm`](crate::Lease::confirm).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn confirm(&self) -> Result<Fence> {
        wait(self.inner.confirm())?
    }

    /// Waits out the grace after a takeover: see [`Lease::ready`](crate::Lease::ready).
    ///
    /// # Errors
    ///
    /// [`Error::Lost`](crate::Error::Lost) if the lease was lost meanwhile: do not begin the
    /// protected work.
    pub fn ready(&self) -> Result<Fence> {
        wait(self.inner.ready())?
    }

    /// Runs a write under the lease, on this thread: the proof is made at the last moment before it.
    /// See [`Lease::guard`](crate::Lease::guard).
    ///
    /// # Errors
    ///
    /// As there: `write` was not called.
    pub fn guard<T>(&self, write: impl FnOnce(Fence) -> T) -> Result<T> {
        wait(self.inner.guard(|fence| async move { fence }))?.map(write)
    }

    /// Announces this lease at a resource: see [`Lease::announce`](crate::Lease::announce).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn announce(&self, gate: &dyn DurableGate) -> Result<Fence> {
        wait(self.inner.announce(gate))?
    }

    /// Waits until the lease is lost. For a thread of its own.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`](crate::Error::Misconfigured) if the system has no room for a thread.
    pub fn lost(&self) -> Result<LossReason> {
        wait(self.inner.lost())
    }

    /// Frees the name: see [`Lease::release`](crate::Lease::release).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn release(self) -> Result<Released> {
        wait(self.inner.release())?
    }

    /// Moves the lease to another process: see [`Lease::into_ticket`](crate::Lease::into_ticket).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn into_ticket(self) -> Result<Ticket> {
        wait(self.inner.into_ticket())?
    }
}
