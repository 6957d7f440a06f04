//! Letting a lease go: freeing its name, or handing it to another process.

use tracing::Instrument;

use super::{Lease, Ticket};
use crate::Result;
use crate::clock::within;

/// What a release found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// The lease was ours and is gone. Where the answer to a first try was lost while the lease was
    /// still believed in, this is also what a later one that found nothing is taken for.
    Freed,
    /// It was not ours any more: expired, taken over or broken before. Nothing was touched.
    NotHeld,
}

impl Lease {
    /// Frees the name: ends the renewals, waits for the one in flight, removes the record.
    ///
    /// The lease counts as lost from the call on, so that no guard passes any more.
    ///
    /// # Errors
    ///
    /// The name is free all the same, or will be one ttl after the last renewal, so there is
    /// nothing to do about this lease.
    ///
    /// - [`Error::Unavailable`](crate::Error::Unavailable) if the store did not answer until the
    ///   record had run out by itself. It was tried again and again.
    /// - [`Error::Misconfigured`](crate::Error::Misconfigured), at once, if the store refuses, as
    ///   after a right was taken away: call a person before the next lease is asked for.
    ///
    /// # Cancel safety
    ///
    /// Safe: the release goes on in the background.
    pub async fn release(self) -> Result<Released> {
        self.release_in_place().await
    }

    pub(crate) async fn release_in_place(&self) -> Result<Released> {
        let (backend, name, epoch) = (self.backend.kind(), self.name(), self.epoch());
        let span = tracing::debug_span!("lease.release", backend, %name, %epoch);
        self.keeper.release(self.id, &self.shared).instrument(span).await
    }

    /// Releases it once its work is done; in the background what takes longer than one call may.
    pub(crate) async fn release_soon(&self) {
        let release = self.release_in_place();
        let released = within(self.clock(), self.timing.call_timeout(), release).await;
        if let Some(Err(error)) = released {
            tracing::debug!(name = %self.name(), %error, "a lease was left to its ttl");
        }
    }

    /// Moves the lease to another process: the [`Ticket`] is redeemed there, once.
    ///
    /// The lease counts as lost here from the call on. It lives one ttl for the other process to
    /// redeem it in.
    ///
    /// # Errors
    ///
    /// There is no ticket: stop the work that was to be handed over, or ask for the lease anew.
    ///
    /// - [`Error::Lost`](crate::Error::Lost) if it is not ours any more.
    /// - [`Error::Unavailable`](crate::Error::Unavailable) if the store did not answer, and
    ///   [`Error::Misconfigured`](crate::Error::Misconfigured) if it refuses, which a person has to
    ///   see to. The lease ends with its ttl.
    ///
    /// # Cancel safety
    ///
    /// Not safe: a ticket that nobody received leaves the lease to its ttl.
    pub async fn into_ticket(self) -> Result<Ticket> {
        let holding = self.keeper.hand_over(self.id, &self.shared).await?;
        Ok(Ticket::new(holding, self.timing))
    }
}
