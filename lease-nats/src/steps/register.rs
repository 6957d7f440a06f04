//! A writer's record by itself, whatever else is there.

use lease_core::backend::Registered;
use lease_core::{Claim, Epoch, Result};

use crate::key::Keys;
use crate::memo::{Content, Place, Written};
use crate::record::{Writer, revision};
use crate::store::{Nats, TRIES};
use crate::wire::{Leaves, Put, When};

impl Nats {
    /// Inserts a writer's record, whatever else is there (step W1).
    ///
    /// The look that follows finds an exclusive beside it, or else makes sure that the next one
    /// looks for writers.
    pub(crate) async fn registered(&self, claim: &Claim) -> Result<Registered> {
        let key = Keys::of(&claim.name).writer(claim.nonce);
        let writer = Writer::new(claim);
        for _ in 0..TRIES {
            if let Some(kept) = self.wire.last(&key).await? {
                // R19: what was removed stays removed, however late its registration comes again.
                return Ok(match kept.ended {
                    true => Registered::Void,
                    false => Registered::Here(revision(kept.seq)),
                });
            }
            // A name that is held has an anchor, by which it is listed.
            let (place, _) = self.known(&claim.name).await?;
            if let Content::Nothing = place.content {
                let fresh = self.fresh_anchor(&claim.name).await?.sharing(true);
                if self.swap(place.seq, fresh, Leaves::Quiet).await? != Put::Busy {
                    self.read(&claim.name).await?;
                }
            }
            let put = self.wire.put(&key, writer.encode(), When::At(0), Leaves::Value).await?;
            if let Put::Done(seq) = put {
                self.memo.set_writer(Written { seq, writer });
                return Ok(Registered::Here(revision(seq)));
            }
        }
        Err(self.busy())
    }

    /// Inserts a writer's record while the anchor is at this write: nobody excludes, and whoever
    /// excludes next looks for writers.
    pub(crate) async fn insert(&self, claim: &Claim, anchor: u64) -> Result<Put> {
        let keys = Keys::of(&claim.name);
        let writer = Writer::new(claim);
        let when = keys.anchor();
        let put = self
            .wire
            .put(&keys.writer(claim.nonce), writer.encode(), When::If(&when, anchor), Leaves::Value)
            .await?;
        if let Put::Done(seq) = put {
            self.memo.set_writer(Written { seq, writer });
        }
        Ok(put)
    }

    /// The write at which the anchor says that writers may be there, and its epoch; nothing if it
    /// moved. The place must not be held.
    pub(crate) async fn opened_to_writers(
        &self,
        claim: &Claim,
        place: &Place,
    ) -> Result<Option<(u64, Epoch)>> {
        let anchor = match &place.content {
            Content::Anchor(anchor) if anchor.shared => {
                return Ok(Some((place.seq, anchor.shown_epoch())));
            }
            Content::Anchor(anchor) => anchor.clone().sharing(true),
            _ => self.fresh_anchor(&claim.name).await?.sharing(true),
        };
        let epoch = anchor.shown_epoch();
        Ok(match self.swap(place.seq, anchor, Leaves::Quiet).await? {
            Put::Done(seq) => Some((seq, epoch)),
            Put::Moved | Put::Busy => None,
        })
    }
}
