//! What a store can and cannot do beyond the contract.

use std::time::Duration;

/// What a backend can and cannot do beyond the contract, the same for the life of the value.
///
/// The library checks each request against this before a backend is called. The conformance suite
/// tests each one both ways: what is promised must hold, and what is not must be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The shortest ttl that the store can judge rightly.
    pub min_ttl: Duration,
    /// The step of the store's clock: ages are known up to this much, and beliefs end this much
    /// earlier (rule R18).
    pub clock_resolution: Duration,
    /// Whose clock judges a record's age.
    pub time: TimeAuthority,
    /// Whether [`Backend::watch`](crate::Backend::watch) wakes waiters.
    pub push: bool,
    /// Whether epochs go on rising when the store's state is erased by hand.
    pub epoch_survives_erasure: bool,
    /// How many leases one call to [`Backend::renew`](crate::Backend::renew) may carry, at least 1.
    pub renew_batch: usize,
}

/// Whose clock judges whether a record is stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeAuthority {
    /// The store's own clock, at the step that decides.
    Store,
    /// Nobody's: a record that stood still for its whole ttl on the observer's own monotonic clock
    /// is stale.
    Observation,
}

impl Capabilities {
    /// What the in-memory reference has; a backend starts from here and says where it differs.
    #[must_use]
    pub const fn reference() -> Self {
        Self {
            min_ttl: Duration::from_millis(1),
            clock_resolution: Duration::ZERO,
            time: TimeAuthority::Store,
            push: true,
            epoch_survives_erasure: true,
            renew_batch: 1000,
        }
    }

    /// With this shortest ttl.
    #[must_use]
    pub const fn with_min_ttl(mut self, min_ttl: Duration) -> Self {
        self.min_ttl = min_ttl;
        self
    }

    /// With a clock of this step.
    #[must_use]
    pub const fn with_clock_resolution(mut self, step: Duration) -> Self {
        self.clock_resolution = step;
        self
    }

    /// With this judge of age.
    #[must_use]
    pub const fn with_time(mut self, time: TimeAuthority) -> Self {
        self.time = time;
        self
    }

    /// With or without push.
    #[must_use]
    pub const fn with_push(mut self, push: bool) -> Self {
        self.push = push;
        self
    }

    /// With or without epochs that survive erasure.
    #[must_use]
    pub const fn with_epoch_survives_erasure(mut self, survives: bool) -> Self {
        self.epoch_survives_erasure = survives;
        self
    }

    /// With batches of this many renewals; zero counts as one.
    #[must_use]
    pub const fn with_renew_batch(mut self, batch: usize) -> Self {
        self.renew_batch = if batch == 0 { 1 } else { batch };
        self
    }
}
