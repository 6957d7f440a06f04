//! One's own record, wherever it stands, and what may be done with it.

use lease_core::{Holding, LossReason, Mode, Result};

use crate::key::Keys;
use crate::memo::{Content, Written};
use crate::record::{Anchor, Holder, Writer, sequence};
use crate::store::Nats;
use crate::wire::{Leaves, Put, When};

/// One's own record, and which write of it this is.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    pub(crate) seq: u64,
    within: Within,
}

#[derive(Clone, Debug)]
enum Within {
    Anchor(Anchor, Holder),
    Writer(Writer),
}

/// Whether the record is there, and why not.
pub(crate) type Found = std::result::Result<Own, LossReason>;

impl Own {
    pub(crate) const fn holder(&self) -> &Holder {
        match &self.within {
            Within::Anchor(_, holder) => holder,
            Within::Writer(writer) => &writer.holder,
        }
    }
}

impl Nats {
    /// One's own record as it is remembered.
    pub(crate) fn remembered(&self, mine: &Holding) -> Option<Own> {
        match mine.mode {
            Mode::Exclusive => {
                let place = self.memo.anchor(&mine.name)?;
                let Content::Anchor(anchor) = place.content else { return None };
                let holder = anchor.held_by(mine.nonce)?.holder.clone();
                Some(Own { seq: place.seq, within: Within::Anchor(anchor, holder) })
            }
            Mode::Writer => {
                let Written { seq, writer } = self.memo.writer(mine.nonce)?;
                Some(Own { seq, within: Within::Writer(writer) })
            }
        }
    }

    /// One's own record as the bucket's leader has it.
    ///
    /// That it is not there is taken from a server only if that server knows of all that was
    /// acknowledged to us.
    pub(crate) async fn found(&self, mine: &Holding) -> Result<Found> {
        let (seq, found) = match mine.mode {
            Mode::Exclusive => self.found_exclusive(mine).await?,
            Mode::Writer => self.found_writer(mine).await?,
        };
        let acknowledged = sequence(&mine.revision).unwrap_or(0);
        if seq < acknowledged && self.is_behind(acknowledged).await? {
            return Err(Self::behind());
        }
        Ok(found)
    }

    async fn found_exclusive(&self, mine: &Holding) -> Result<(u64, Found)> {
        let place = self.read(&mine.name).await?;
        let found = match place.content {
            Content::Nothing => Err(LossReason::StateGone),
            Content::Spoilt(_) => Err(LossReason::Displaced),
            Content::Anchor(anchor) => match anchor.held_by(mine.nonce) {
                None => Err(LossReason::Displaced),
                Some(x) => {
                    let holder = x.holder.clone();
                    Ok(Own { seq: place.seq, within: Within::Anchor(anchor, holder) })
                }
            },
        };
        Ok((place.seq, found))
    }

    async fn found_writer(&self, mine: &Holding) -> Result<(u64, Found)> {
        let kept = self.wire.last(&Keys::of(&mine.name).writer(mine.nonce)).await?;
        let Some(kept) = kept else {
            self.memo.forget_writer(mine.nonce);
            return Ok((0, Err(LossReason::StateGone)));
        };
        let decoded = Writer::decode(&kept.body, &mine.name, mine.nonce);
        let found = match decoded {
            Ok(writer) if !kept.ended => {
                self.memo.set_writer(Written { seq: kept.seq, writer: writer.clone() });
                Ok(Own { seq: kept.seq, within: Within::Writer(writer) })
            }
            _ => {
                self.memo.forget_writer(mine.nonce);
                Err(LossReason::Displaced)
            }
        };
        Ok((kept.seq, found))
    }

    /// Writes one's own record anew if it still is as it was found.
    pub(crate) async fn rewrite(&self, own: &Own, holder: Holder, leaves: Leaves) -> Result<Put> {
        match &own.within {
            Within::Anchor(anchor, _) => {
                let mut anchor = anchor.clone();
                if let Some(x) = &mut anchor.x {
                    x.holder = holder;
                }
                self.swap(own.seq, anchor, leaves).await
            }
            Within::Writer(writer) => {
                let writer = writer.with(holder);
                let key = writer.key();
                let put = self.wire.put(&key, writer.encode(), When::At(own.seq), leaves).await?;
                if let Put::Done(seq) = put {
                    self.memo.set_writer(Written { seq, writer });
                }
                Ok(put)
            }
        }
    }

    /// The key that one's own record stands in.
    pub(crate) fn own_key(mine: &Holding) -> String {
        let keys = Keys::of(&mine.name);
        match mine.mode {
            Mode::Exclusive => keys.anchor(),
            Mode::Writer => keys.writer(mine.nonce),
        }
    }

    /// Whether an exclusive is there, as far as can be told: only a hint to a writer.
    pub(crate) async fn drains(&self, name: &lease_core::Name) -> bool {
        match self.read(name).await {
            Ok(place) => place.is_held(),
            Err(_) => false,
        }
    }
}

/// Whether this process may still speak for the record. Whoever knows of no later write than the
/// one that another process took over is the process that it was taken from.
pub(crate) fn is_handed_over(holder: &Holder, mine: &Holding) -> bool {
    holder.adopted >= Some(mine.acknowledged)
}
