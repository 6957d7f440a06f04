//! Becoming the exclusive of a name, as yet draining.

use lease_core::backend::Installed;
use lease_core::{Claim, Judged, Mode, Result, Snapshot, State, Target};

use crate::memo::{Content, Place};
use crate::record::{Anchor, Holder, revision, sequence};
use crate::store::{Nats, TRIES};
use crate::wire::{Leaves, Put};

impl Nats {
    /// Installs an exclusive, draining, from the state that was seen (step X1, rule R12).
    pub(crate) async fn installed(
        &self,
        claim: &Claim,
        seen: &Snapshot,
        over: Option<(&Target, Judged)>,
    ) -> Result<Installed> {
        let shown = sequence(&seen.anchor).unwrap_or(0);
        let mut place = self.memo.anchor(&claim.name).filter(|place| place.seq == shown);
        for _ in 0..TRIES {
            let there = match place.take() {
                Some(place) => place,
                None => self.read(&claim.name).await?,
            };
            if there.holds(claim.nonce) {
                return Ok(Installed::Here(revision(there.seq)));
            }
            let anchor = match (&there.content, over) {
                (Content::Nothing, None) => self.fresh_anchor(&claim.name).await?,
                (Content::Anchor(anchor), None) if anchor.x.is_none() => anchor.clone(),
                (_, Some((target, judged))) if target.mode == Mode::Exclusive => {
                    match self.cleared(claim, &there, target, judged).await? {
                        Some(anchor) => anchor,
                        None => return Ok(Installed::Refused),
                    }
                }
                _ => return Ok(Installed::Refused),
            };
            if anchor.is_spent(claim.nonce) {
                return Ok(Installed::Refused);
            }
            // Whatever was said of writers is found out by the drain that follows.
            let anchor = anchor.with(State::Draining, Holder::new(claim)).sharing(true);
            if let Put::Done(seq) = self.swap(there.seq, anchor, Leaves::Value).await? {
                return Ok(Installed::Here(revision(seq)));
            }
        }
        Err(self.busy())
    }

    /// The anchor without the exclusive that was judged, if it may be removed at this very write.
    pub(crate) async fn cleared(
        &self,
        claim: &Claim,
        there: &Place,
        target: &Target,
        judged: Judged,
    ) -> Result<Option<Anchor>> {
        let Some(anchor) = there.cleared(&claim.name, target) else { return Ok(None) };
        let condemned = self.condemned(&claim.name, target, judged).await?;
        Ok(condemned.filter(|seq| *seq == there.seq).map(|_| anchor))
    }
}
