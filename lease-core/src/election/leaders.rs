//! Who leads, and who leads next.

use futures::stream::{self, Stream};

use crate::{Epoch, Freshness, HolderInfo, Nonce, Observation, Result, Snapshot, State};

/// Who leads, as a look at the store showed it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// Who, as the candidate told of itself.
    pub info: HolderInfo,
    /// The epoch of its term.
    pub epoch: Epoch,
    /// The identity of its lease.
    pub nonce: Nonce,
}

impl Leader {
    /// Whoever holds the office alone and has not let it expire.
    pub(super) fn in_(seen: &Snapshot) -> Option<Self> {
        let record = seen.exclusive.as_ref()?;
        let leads = record.state == State::Granted && record.freshness != Freshness::Stale;
        leads.then(|| Self { info: record.info.clone(), epoch: seen.epoch, nonce: record.nonce })
    }
}

/// Follows who leads. Made by [`Election::leaders`](super::Election::leaders).
///
/// For people and tools: what it tells is a moment old. A leader of a moment ago may not know yet
/// that it leads no more.
#[derive(Debug)]
pub struct Leaders {
    seen: Observation,
    told: Option<Option<Leader>>,
}

impl Leaders {
    pub(super) const fn new(seen: Observation) -> Self {
        Self { seen, told: None }
    }

    /// Who leads, as soon as that differs from what was told last, and nothing while nobody does; the
    /// first time at once.
    ///
    /// # Errors
    ///
    /// As of [`Observation::next`]. It may be called again.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is missed that the next call would not find.
    pub async fn next(&mut self) -> Result<Option<Leader>> {
        loop {
            let leader = Leader::in_(&self.seen.next().await?);
            if self.told.as_ref() != Some(&leader) {
                self.told = Some(leader.clone());
                return Ok(leader);
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
    pub fn into_stream(self) -> impl Stream<Item = Result<Option<Leader>>> + Send {
        stream::unfold(self, |mut this| async move { Some((this.next().await, this)) })
    }
}
