//! What can be done with a lease that is on its way between processes.

use super::Coordinator;
use crate::backend::{Confirmed, Renewed};
use crate::lease::{Lease, Ticket};
use crate::{Error, Grant, Holding, LossReason, Moment, Result};

impl Coordinator {
    /// Takes over a lease that another process handed out as a ticket. A ticket works once.
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`] if the ticket was redeemed before or its lease has ended: stop the work
    ///   that it was for, or ask for the lease anew.
    /// - [`Error::Misconfigured`] if a newer version wrote it, it was changed on its way, or the
    ///   store cannot keep its durations or refuses access: a person has to change what it names.
    /// - [`Error::Unavailable`] if the store did not answer within the coordinator's call timeout:
    ///   the ticket may be spent, and its lease then ends with its ttl. Try once more;
    ///   [`Error::Lost`] then says that it is.
    ///
    /// # Cancel safety
    ///
    /// Not safe: a ticket that was redeemed for nobody leaves the lease to its ttl.
    pub async fn redeem(&self, ticket: &Ticket) -> Result<Lease> {
        self.readable(ticket)?;
        self.parts().keeper.start()?;
        let Adopted { holding, sent } = self.adopt(ticket).await?;
        let timing = *ticket.timing();
        // How much of a grace has passed is not known here: all of it is waited out again.
        let took_over = !timing.grace().is_zero();
        self.lease(Grant { holding, epoch: ticket.epoch(), took_over }, timing, sent)
    }

    /// Renews the lease of a ticket once, without keeping it: the ticket is used up, and the new one
    /// stands for the lease. Of all who renew or redeem one ticket, one gets through.
    ///
    /// The lease lives one ttl from this call. Whoever acts on it counts from before the call, as for
    /// any renewal (rule R4).
    ///
    /// # Errors
    ///
    /// As of [`redeem`](Self::redeem).
    ///
    /// # Cancel safety
    ///
    /// Not safe: a ticket that nobody received leaves the lease to its ttl.
    pub async fn renew(&self, ticket: &Ticket) -> Result<Ticket> {
        self.readable(ticket)?;
        let Adopted { holding, sent } = self.adopt(ticket).await?;
        let (parts, timing) = (self.parts(), *ticket.timing());
        // Rule R5: one that ran out while its answer was on its way is nobody's to act on.
        if parts.clock.now() >= sent.plus(timing.belief(&parts.backend.capabilities())) {
            return Err(lost(ticket, LossReason::Expired));
        }
        Ok(Ticket::new(holding, timing))
    }

    /// Asks the store whether the lease of a ticket is there and the ticket not used up, with a read
    /// that cannot be stale. It changes nothing. Of a writer's it tells whether an exclusive waits
    /// for it to end.
    ///
    /// That the lease is there does not prolong it: it may run out, or be taken over if it has.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if the ticket was redeemed or its lease is gone: stop the work;
    /// [`Error::Unavailable`] if the store did not answer: the ticket is as good as before, so ask
    /// again; [`Error::Misconfigured`] as of [`redeem`](Self::redeem).
    ///
    /// # Cancel safety
    ///
    /// Safe: it changes nothing.
    pub async fn confirm(&self, ticket: &Ticket) -> Result<bool> {
        self.readable(ticket)?;
        match self.bounded(self.parts().backend.confirm(ticket.holding())).await? {
            Confirmed::Held { drain } => Ok(drain),
            Confirmed::Lost(reason) => Err(lost(ticket, reason)),
        }
    }

    /// Whether it is a ticket that this version and this store can do something with.
    fn readable(&self, ticket: &Ticket) -> Result<()> {
        if !ticket.is_readable() {
            return Err(Error::misconfigured(
                "the ticket was written by a newer version",
                "update this program",
            ));
        }
        if !ticket.is_whole() {
            return Err(Error::misconfigured(
                "the ticket was changed on its way",
                "hand the lease over again, and the ticket as it is",
            ));
        }
        ticket.timing().fits(&self.parts().backend.capabilities())
    }

    async fn adopt(&self, ticket: &Ticket) -> Result<Adopted> {
        let parts = self.parts();
        let mine = ticket.holding().next_beat();
        let sent = parts.clock.now();
        match self.bounded(parts.backend.adopt(&mine, &parts.info.since_now())).await? {
            Renewed::Renewed { revision, .. } => {
                Ok(Adopted { holding: mine.acknowledged(revision), sent })
            }
            Renewed::Lost(reason) => Err(lost(ticket, reason)),
        }
    }
}

/// The record of a ticket, as it stands once the ticket is used up.
struct Adopted {
    holding: Holding,
    /// When that was asked for.
    sent: Moment,
}

fn lost(ticket: &Ticket, reason: LossReason) -> Error {
    Error::Lost { name: ticket.name().clone(), epoch: ticket.epoch(), reason }
}
