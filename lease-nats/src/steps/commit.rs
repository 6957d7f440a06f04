//! Granting an exclusive that has drained.

use lease_core::backend::Committed;
use lease_core::{Epoch, Holding, Result, State};

use crate::memo::{Content, Place};
use crate::record::{Anchor, revision};
use crate::store::{Nats, TRIES};
use crate::wire::{Leaves, Put};

impl Nats {
    /// Grants one's own exclusive and raises the epoch (step X3, rule R20).
    pub(crate) async fn committed(&self, mine: &Holding) -> Result<Committed> {
        let mut place = self.memo.anchor(&mine.name).filter(|place| place.holds(mine.nonce));
        for _ in 0..TRIES {
            let (there, read) = match place.take() {
                Some(place) => (place, false),
                None => (self.read(&mine.name).await?, true),
            };
            let Content::Anchor(anchor) = &there.content else { return Ok(Committed::Lost) };
            let Some(x) = anchor.held_by(mine.nonce) else { return Ok(Committed::Lost) };
            if super::own::is_handed_over(&x.holder, mine) {
                return Ok(Committed::Lost);
            }
            if x.state == State::Granted {
                if !read {
                    // What is remembered may have ended since.
                    continue;
                }
                let (epoch, revision) = (anchor.shown_epoch(), revision(there.seq));
                return Ok(Committed::Granted { epoch, revision });
            }
            if let Some(committed) = self.grant(&there, anchor, anchor.shared).await? {
                return Ok(committed);
            }
        }
        Err(self.busy())
    }

    /// Grants the exclusive that an anchor holds, if it still is at this write; `shared` says
    /// whether writers may be there.
    pub(crate) async fn grant(
        &self,
        there: &Place,
        anchor: &Anchor,
        shared: bool,
    ) -> Result<Option<Committed>> {
        let epoch: Epoch = self.epoch_after(anchor.epoch)?;
        let mut granted = anchor.clone().under(epoch).sharing(shared);
        if let Some(x) = &mut granted.x {
            x.state = State::Granted;
        }
        Ok(match self.swap(there.seq, granted, Leaves::Value).await? {
            Put::Done(seq) => Some(Committed::Granted { epoch, revision: revision(seq) }),
            Put::Moved | Put::Busy => None,
        })
    }
}
