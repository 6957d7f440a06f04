//! A lease on its way to another process.

use serde::{Deserialize, Serialize};

use crate::{Epoch, Holding, Mode, Name, Nonce, Timing, Token};

/// A lease on its way to another process. Made by [`Lease::into_ticket`](crate::Lease::into_ticket)
/// and redeemed, once, by [`Coordinator::redeem`](crate::Coordinator::redeem).
///
/// Whoever cannot keep a lease for as long as the work takes, such as a short-lived process, goes from
/// one ticket to the next by [`Coordinator::renew`](crate::Coordinator::renew).
///
/// It serialises with serde. Whoever has it has the lease: keep it as secret as the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// The format of the ticket.
    v: u32,
    holding: Holding,
    timing: Timing,
}

impl Ticket {
    /// The format that this version writes and reads.
    const VERSION: u32 = 1;

    pub(crate) const fn new(holding: Holding, timing: Timing) -> Self {
        Self { v: Self::VERSION, holding, timing }
    }

    pub(crate) const fn is_readable(&self) -> bool {
        self.v == Self::VERSION
    }

    /// Whether it is as it was made: one that was damaged on its way must not be taken for a lease.
    pub(crate) fn is_whole(&self) -> bool {
        let Holding { beat, acknowledged, epoch, ttl, .. } = &self.holding;
        *beat == *acknowledged && *beat < u64::MAX && epoch.is_some() && *ttl == self.timing.ttl()
    }

    pub(crate) const fn holding(&self) -> &Holding {
        &self.holding
    }

    /// The durations by which it was kept: whoever goes on keeps to them, the margin above all.
    #[must_use]
    pub const fn timing(&self) -> &Timing {
        &self.timing
    }

    /// What it is for.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.holding.name
    }

    /// How it is held.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.holding.mode
    }

    /// The epoch that it was granted under.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.holding.epoch.unwrap_or_default()
    }

    /// The fencing token of the lease.
    #[must_use]
    pub fn token(&self) -> Token {
        Token::new(self.mode(), self.epoch())
    }

    /// The identity of the grant, as `status` shows it.
    #[must_use]
    pub const fn nonce(&self) -> Nonce {
        self.holding.nonce
    }
}
