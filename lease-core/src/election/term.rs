//! A term: the office, held.

use std::future::Future;

use super::Election;
use crate::{Epoch, Error, Fence, Lease, LossReason, Released, Result};

/// The office, held. Dropping it steps down in the background; [`step_down`](Self::step_down) is the
/// certain way.
#[must_use = "a term that is dropped is over"]
#[derive(Debug)]
pub struct Term {
    lease: Lease,
    election: Election,
}

impl Term {
    pub(super) const fn new(lease: Lease, election: Election) -> Self {
        Self { lease, election }
    }

    /// The lease that the term stands on: for guards, the token, the time left.
    pub const fn lease(&self) -> &Lease {
        &self.lease
    }

    /// The epoch of this term: higher than those of all terms before it.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.lease.epoch()
    }

    /// Proves by this process's own clock that the term lasts.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`]: stop to lead. It stays lost for this term.
    pub fn fence(&self) -> Result<Fence> {
        self.lease.check()
    }

    /// Runs `work` for as long as the term lasts, and drops it when the term is lost, or when the token
    /// of [`Election::cancelled_by`] is cancelled: then it steps down.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if it was lost before `work` had ended: do not go on with it, and campaign
    /// again. [`Error::Cancelled`] by that token: there is nothing to do. Either way `work` was
    /// dropped at its last await, and what it had sent by then may have landed.
    ///
    /// # Cancel safety
    ///
    /// As safe as `work`: the term goes on.
    pub async fn run<W: Future>(&self, work: W) -> Result<W::Output> {
        let ran = tokio::select! {
            biased;
            () = self.election.cancel.cancelled() => Err(self.election.cancelled()),
            ran = self.lease.run_while_held(work) => ran,
        };
        if let Err(Error::Cancelled { .. }) = ran {
            self.end().await;
        }
        ran
    }

    /// Ends once the term is lost, for whichever reason, and then at once on every call.
    ///
    /// # Cancel safety
    ///
    /// Safe: it takes nothing, and the next call goes on waiting.
    pub async fn lost(&self) -> LossReason {
        self.lease.lost().await
    }

    /// Leaves the office to the others: it is free when this ends.
    ///
    /// # Errors
    ///
    /// As of [`Lease::release`]: the ttl frees the office then.
    ///
    /// # Cancel safety
    ///
    /// Safe: the release goes on in the background.
    pub async fn step_down(self) -> Result<Released> {
        self.lease.release_in_place().await
    }

    /// The same where nobody waits for the store longer than one call may take.
    pub(super) async fn end(&self) {
        self.lease.release_soon().await;
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        self.election.over();
    }
}
