//! An operator's removal of one record.

use bytes::Bytes;
use lease_core::backend::Broken;
use lease_core::{BreakNote, Epoch, Name, Nonce, Result, State};

use super::withdraw::brief;
use crate::key::Keys;
use crate::memo::{Content, Place};
use crate::record::{Anchor, Writer, stand_in};
use crate::store::{Nats, REMOVED, TRIES, two_minds};
use crate::wire::{Leaves, Put, When};

/// Of a record that is gone: whether a write of ours that was refused has removed it after all.
fn whose_doing(refused: Option<Epoch>, now: Epoch) -> Result<Broken> {
    match refused {
        // Its holder, or somebody who has not raised the epoch.
        Some(left) if now < left => Ok(Broken::NotThere),
        Some(_) => Err(two_minds()),
        None => Ok(Broken::NotThere),
    }
}

impl Nats {
    /// Removes the record of this nonce, fresh or not, and keeps the note.
    pub(crate) async fn broken(
        &self,
        name: &Name,
        nonce: Nonce,
        note: &BreakNote,
    ) -> Result<Broken> {
        let broken = self.break_either(name, nonce).await?;
        if broken != Broken::NotThere {
            let body = Bytes::from(serde_json::to_vec(note).unwrap_or_default());
            let key = Keys::of(name).broken();
            self.wire.put(&key, body, When::Always, Leaves::Value).await?;
        }
        Ok(broken)
    }

    /// The note of the last break.
    pub(crate) async fn break_note(&self, name: &Name) -> Result<Option<BreakNote>> {
        let kept = self.wire.last(&Keys::of(name).broken()).await?.filter(|kept| !kept.ended);
        Ok(kept.and_then(|kept| serde_json::from_slice(&kept.body).ok()))
    }

    async fn break_either(&self, name: &Name, nonce: Nonce) -> Result<Broken> {
        // What the first write would have left that was refused: a refusal is no proof that it did not,
        // and it may take place after the next look.
        let mut refused: Option<Epoch> = None;
        for _ in 0..TRIES {
            let place = self.read(name).await?;
            let Some(anchor) = self.broken_anchor(name, &place, nonce)? else {
                match self.break_writer(name, &place, nonce).await? {
                    Some(Broken::NotThere) => return whose_doing(refused, place.epoch()),
                    Some(broken) => return Ok(broken),
                    None => {
                        refused = refused.or(Some(place.epoch()));
                        continue;
                    }
                }
            };
            let epoch = anchor.shown_epoch();
            if let Put::Done(_) = self.swap(place.seq, anchor, Leaves::Value).await? {
                return Ok(Broken::Broken { epoch });
            }
            refused = refused.or(Some(epoch));
        }
        Err(self.busy())
    }

    /// The anchor without the exclusive of this nonce; nothing if it is not there.
    fn broken_anchor(&self, name: &Name, place: &Place, nonce: Nonce) -> Result<Option<Anchor>> {
        let (without, held) = match &place.content {
            Content::Nothing => return Ok(None),
            Content::Anchor(anchor) => match anchor.held_by(nonce) {
                None => return Ok(None),
                Some(x) => (anchor.without(), x.state == State::Granted),
            },
            // It may have been granted: to fence too many is the harmless error.
            Content::Spoilt(_) if stand_in(place.seq) != nonce => return Ok(None),
            Content::Spoilt(spoilt) => (Anchor::instead_of(spoilt, name), true),
        };
        let epoch = if held { self.epoch_after(without.epoch)? } else { without.shown_epoch() };
        Ok(Some(without.under(epoch)))
    }

    async fn break_writer(
        &self,
        name: &Name,
        place: &Place,
        nonce: Nonce,
    ) -> Result<Option<Broken>> {
        let key = Keys::of(name).writer(nonce);
        let Some(kept) = self.wire.last(&key).await?.filter(|kept| !kept.ended) else {
            return Ok(Some(Broken::NotThere));
        };
        let lasts = Writer::decode(&kept.body, name, nonce)
            .map_or(REMOVED, |writer| brief(writer.holder.ttl()).max(REMOVED));
        let put = self.end(&key, kept.seq, Bytes::new(), lasts).await?;
        Ok(matches!(put, Put::Done(_)).then(|| Broken::Broken { epoch: place.epoch() }))
    }
}
