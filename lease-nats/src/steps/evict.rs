//! Removing somebody's stale record.

use bytes::Bytes;
use lease_core::backend::Evicted;
use lease_core::{Judged, Mode, Name, Result, Target};

use crate::key::Keys;
use crate::memo::{Content, Place};
use crate::record::{Anchor, sequence, stand_in};
use crate::store::{Nats, REMOVED, TRIES};
use crate::wire::{Leaves, Put};

impl Nats {
    /// Removes a record on the evidence that was given, at exactly the write that it is about: a
    /// renewal since then is another write, and keeps it (rules R9, R13).
    pub(crate) async fn evicted(
        &self,
        name: &Name,
        target: &Target,
        judged: Judged,
    ) -> Result<Evicted> {
        let Some(seq) = self.condemned(name, target, judged).await? else {
            return Ok(Evicted::Kept);
        };
        match target.mode {
            Mode::Writer => self.evict_writer(name, target, seq).await,
            Mode::Exclusive => self.evict_exclusive(name, target, seq).await,
        }
    }

    /// The write at which the record may be removed; nothing if it is not stale.
    pub(crate) async fn condemned(
        &self,
        name: &Name,
        target: &Target,
        judged: Judged,
    ) -> Result<Option<u64>> {
        let shown = sequence(&target.revision);
        if judged != Judged::ByStore {
            return Ok(shown);
        }
        if let Some(seq) = shown
            && self.memo.is_stale(target.nonce, seq)
        {
            return Ok(shown);
        }
        let stale = self.stale_now(name, target).await?;
        Ok(stale.and_then(|record| sequence(&record.revision)))
    }

    async fn evict_writer(&self, name: &Name, target: &Target, seq: u64) -> Result<Evicted> {
        let key = Keys::of(name).writer(target.nonce);
        for _ in 0..TRIES {
            match self.end(&key, seq, Bytes::new(), REMOVED).await? {
                Put::Done(_) => return Ok(Evicted::Condemned),
                Put::Moved => return Ok(Evicted::Kept),
                Put::Busy => {}
            }
        }
        Err(self.busy())
    }

    async fn evict_exclusive(&self, name: &Name, target: &Target, seq: u64) -> Result<Evicted> {
        for _ in 0..TRIES {
            let place = self.at(name, seq).await?;
            let Some(anchor) = place.and_then(|place| place.cleared(name, target)) else {
                return Ok(Evicted::Kept);
            };
            match self.swap(seq, anchor, Leaves::Value).await? {
                Put::Done(_) => return Ok(Evicted::Condemned),
                Put::Moved => return Ok(Evicted::Kept),
                Put::Busy => {}
            }
        }
        Err(self.busy())
    }

    /// The anchor as it was left by this write; nothing if it has moved.
    pub(crate) async fn at(&self, name: &Name, seq: u64) -> Result<Option<Place>> {
        let place = match self.memo.anchor(name).filter(|place| place.seq == seq) {
            Some(place) => place,
            None => self.read(name).await?,
        };
        Ok((place.seq == seq).then_some(place))
    }
}

impl Place {
    /// The anchor without the exclusive that was judged; nothing if it is not that one.
    pub(crate) fn cleared(&self, name: &Name, target: &Target) -> Option<Anchor> {
        match &self.content {
            Content::Nothing => None,
            Content::Anchor(anchor) => {
                anchor.held_by(target.nonce).is_some().then(|| anchor.without())
            }
            Content::Spoilt(spoilt) => {
                (stand_in(self.seq) == target.nonce).then(|| Anchor::instead_of(spoilt, name))
            }
        }
    }
}
