//! Following what is with a name, for people and tools.

use futures::stream::{self, Stream};

use crate::waiter::Waiter;
use crate::{Coordinator, Epoch, Freshness, HolderInfo, Name, Nonce, Result, Snapshot, State};

/// Follows what is with one name: who holds, who waits, who has let it expire.
///
/// For people and tools, as [`Coordinator::status`] is: what it tells is a moment old and proves
/// nothing. It looks when the store tells of a change, where the store can, and else again and again,
/// at most as often as a waiter would. Made by [`Coordinator::observe`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), lease_core::Error> {
/// # use std::sync::Arc;
/// # use lease_core::{Coordinator, Name, memory::Memory};
/// let leases = Coordinator::new(Arc::new(Memory::new()));
/// let mut seen = leases.observe(&Name::parse("reports")?);
/// assert!(seen.next().await?.is_free());
///
/// let lease = leases.exclusive("reports").acquire().await?;
/// assert_eq!(seen.next().await?.epoch, lease.epoch());
/// # lease.release().await?; Ok(()) }
/// ```
#[derive(Debug)]
pub struct Observation {
    coordinator: Coordinator,
    name: Name,
    waiter: Waiter,
    /// What was told last.
    told: Option<Sight>,
    /// The last look, whether it was told or not.
    seen: Option<Snapshot>,
    /// Whether to look before waiting.
    due: bool,
}

impl Observation {
    pub(crate) fn new(coordinator: Coordinator, name: Name) -> Self {
        let for_ever = Some(std::time::Duration::MAX);
        let waiter = Waiter::new(coordinator.clone(), name.clone(), for_ever);
        Self { coordinator, name, waiter, told: None, seen: None, due: true }
    }

    /// What is followed.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// What is with the name, as soon as that differs from what was told last; the first time at
    /// once.
    ///
    /// Renewals are no change. What comes and goes between two looks is not seen.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`](crate::Error::Unavailable) if the store did not answer within the
    /// coordinator's call timeout: call it again, it waits before it looks.
    /// [`Error::Misconfigured`](crate::Error::Misconfigured) if it refuses: call a person. It may
    /// be called again after that, too.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is missed that the next call would not find.
    pub async fn next(&mut self) -> Result<Snapshot> {
        loop {
            if !self.due {
                let timing = *self.coordinator.timing();
                let standing = self.seen.as_ref().map(Snapshot::standing);
                self.waiter.wait(&timing, standing.as_ref(), false).await;
                self.due = true;
            }
            let seen = self.coordinator.status(&self.name).await;
            self.due = false;
            let seen = seen?;
            let sight = Sight::of(&seen);
            self.seen = Some(seen.clone());
            if self.told.as_ref() != Some(&sight) {
                self.told = Some(sight);
                self.waiter.start_again();
                return Ok(seen);
            }
        }
    }

    /// The same as a stream, which never ends.
    ///
    /// # Errors
    ///
    /// The items are as of [`next`](Self::next). An error does not end the stream.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is missed that the next item would not tell.
    pub fn into_stream(self) -> impl Stream<Item = Result<Snapshot>> + Send {
        stream::unfold(self, |mut this| async move { Some((this.next().await, this)) })
    }
}

/// What of a snapshot is worth telling.
#[derive(Debug, PartialEq, Eq)]
struct Sight {
    epoch: Epoch,
    /// The exclusive first, then the writers in the order of their nonces.
    records: Vec<(Nonce, State, bool, HolderInfo)>,
}

impl Sight {
    fn of(seen: &Snapshot) -> Self {
        let mut writers: Vec<_> = seen.writers.iter().collect();
        writers.sort_by_key(|record| record.nonce);
        let records = seen.exclusive.iter().chain(writers).map(|record| {
            let expired = record.freshness == Freshness::Stale;
            (record.nonce, record.state, expired, record.info.clone())
        });
        Self { epoch: seen.epoch, records: records.collect() }
    }
}
