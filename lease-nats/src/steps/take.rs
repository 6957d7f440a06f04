//! An exclusive's handshake: in one write where no writer can be there, else install, drain, commit.

use lease_core::backend::{Committed, Draining, Renewed, Taken};
use lease_core::{
    Claim, Epoch, Freshness, Grant, Holding, Judged, Policy, Record, Result, Standing, State,
    Target,
};

use super::judge::Verdict;
use super::look::Look;
use crate::error::is_unclear;
use crate::memo::{Content, Place};
use crate::record::{Anchor, Holder, revision, sequence};
use crate::store::{Nats, TRIES};
use crate::wire::{Leaves, Put};

/// What came of the first round's write.
enum Begun {
    /// It is installed, and has to look for writers; or is granted already, under this epoch.
    In { holding: Holding, took_over: bool, granted: Option<Epoch> },
    /// Somebody is in the way.
    Refused(Box<Standing>),
}

impl Nats {
    /// One round of the handshake.
    pub(crate) async fn taken(
        &self,
        claim: &Claim,
        draining: Option<&Draining>,
        policy: &Policy,
    ) -> Result<Taken> {
        let (mine, took_over) = match draining {
            Some(draining) => {
                let mine = draining.holding.next_beat();
                let answer = self.renew_all(std::slice::from_ref(&mine)).await.pop();
                match answer.unwrap_or_else(|| Err(self.busy()))? {
                    Renewed::Renewed { revision, .. } => {
                        (mine.acknowledged(revision), draining.took_over)
                    }
                    Renewed::Lost(_) => return self.displaced(claim).await,
                }
            }
            None => match self.begin(claim, policy).await? {
                Begun::In { holding, took_over, granted: None } => (holding, took_over),
                Begun::In { holding, took_over, granted: Some(epoch) } => {
                    return Ok(granted(holding, epoch, took_over));
                }
                Begun::Refused(by) => return Ok(Taken::Refused(*by)),
            },
        };
        self.drain(claim, mine, took_over, policy).await
    }

    /// X2 and X3: looks until no writer is left, clearing away what is stale, and commits.
    async fn drain(
        &self,
        claim: &Claim,
        mine: Holding,
        mut took_over: bool,
        policy: &Policy,
    ) -> Result<Taken> {
        let since = sequence(&mine.revision).unwrap_or(0);
        let mut evicted = false;
        for _ in 0..TRIES {
            let look = self.look_after(&claim.name, since).await?;
            let Content::Anchor(anchor) = &look.place.content else {
                return Ok(Taken::Displaced(look.place.epoch()));
            };
            let Some(x) = anchor.held_by(claim.nonce) else {
                return Ok(Taken::Displaced(look.place.epoch()));
            };
            let mine = Holding { revision: revision(look.place.seq), ..mine.clone() };
            // The answer to an earlier commit may have been lost.
            if x.state == State::Granted {
                return Ok(granted(mine, anchor.shown_epoch(), took_over));
            }
            let writers = look.writers();
            if writers.is_empty() {
                // Nobody can have come since: R24 is the store's here. So the next exclusive need
                // not look, until a writer has opened the name again.
                match self.grant(&look.place, anchor, false).await? {
                    Some(Committed::Granted { epoch, revision }) => {
                        return Ok(granted(Holding { revision, ..mine }, epoch, took_over));
                    }
                    _ => continue,
                }
            }
            let judged: Vec<_> = writers.iter().map(|w| (w, policy.judge(w, claim.ttl))).collect();
            if judged.iter().all(|(writer, verdict)| verdict.is_none() && has_expired(writer)) {
                // Only an operator can end these; while we waited, writers would be kept out for
                // nothing.
                self.withdrawn(&mine).await?;
                return Ok(Taken::Refused(waiting_for(&look, &writers)));
            }
            // One pass of evictions a round: what was renewed meanwhile is waited for.
            if evicted || judged.iter().all(|(_, verdict)| verdict.is_none()) {
                let waiting_for = waiting_for(&look, &writers);
                return Ok(Taken::Draining(Draining { holding: mine, took_over, waiting_for }));
            }
            let stale = judged.iter().filter_map(|(w, verdict)| Some((w.target(), (*verdict)?)));
            let stale: Vec<(Target, Judged)> = stale.collect();
            let evictions =
                stale.iter().map(|(target, judged)| self.evicted(&claim.name, target, *judged));
            futures::future::try_join_all(evictions).await?;
            (evicted, took_over) = (true, true);
        }
        Err(self.busy())
    }

    /// X1: the write that makes this claim the exclusive, over a stale one if the policy allows.
    async fn begin(&self, claim: &Claim, policy: &Policy) -> Result<Begun> {
        let mut known = Some(self.known(&claim.name).await?);
        for _ in 0..TRIES {
            let (place, read) = match known.take() {
                Some(known) => known,
                None => (self.read(&claim.name).await?, true),
            };
            if place.is_held() && !read {
                // What is remembered may have ended since.
                continue;
            }
            if let Some(begun) = found(claim, &place) {
                return Ok(begun);
            }
            let (anchor, took_over) = match &place.content {
                Content::Nothing => (self.fresh_anchor(&claim.name).await?, false),
                Content::Anchor(anchor) if anchor.x.is_none() => (anchor.clone(), false),
                _ => match self.judge(claim, &place, policy).await? {
                    Verdict::Respect(by) => return Ok(Begun::Refused(by)),
                    Verdict::Gone => continue,
                    Verdict::Remove(target, judged) => {
                        match self.cleared(claim, &place, &target, judged).await? {
                            Some(anchor) => (anchor, true),
                            None => continue,
                        }
                    }
                },
            };
            if anchor.is_spent(claim.nonce) {
                return Ok(Begun::Refused(Box::new(place.snapshot(None).standing())));
            }
            if let Some(begun) = self.enter(claim, &place, &anchor, took_over).await? {
                return Ok(begun);
            }
        }
        Err(self.busy())
    }

    /// Writes the exclusive: granted at once where no writer can be there, else draining. Nothing
    /// if the anchor has moved.
    async fn enter(
        &self,
        claim: &Claim,
        place: &Place,
        anchor: &Anchor,
        took_over: bool,
    ) -> Result<Option<Begun>> {
        let holder = Holder::new(claim);
        let (anchor, epoch) = if anchor.shared {
            (anchor.with(State::Draining, holder), None)
        } else {
            let epoch = self.epoch_after(anchor.epoch)?;
            let granted = anchor.with(State::Granted, holder);
            (granted.under(epoch), Some(epoch))
        };
        match self.swap(place.seq, anchor, Leaves::Value).await {
            Ok(Put::Done(seq)) => {
                let holding = Holding::created(claim, revision(seq));
                Ok(Some(Begun::In { holding, took_over, granted: epoch }))
            }
            Ok(Put::Moved | Put::Busy) => Ok(None),
            Err(error) if is_unclear(&error) => {
                let there = self.read(&claim.name).await;
                there.ok().and_then(|place| found(claim, &place)).map(Some).ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    async fn displaced(&self, claim: &Claim) -> Result<Taken> {
        Ok(Taken::Displaced(self.read(&claim.name).await?.epoch()))
    }
}

/// One's own exclusive, if an earlier call with this nonce got through, over whomever.
fn found(claim: &Claim, place: &Place) -> Option<Begun> {
    let Content::Anchor(anchor) = &place.content else { return None };
    let x = anchor.held_by(claim.nonce)?;
    let granted = (x.state == State::Granted).then(|| anchor.shown_epoch());
    let holding = Holding::created(claim, revision(place.seq));
    Some(Begun::In { holding, took_over: true, granted })
}

fn granted(mine: Holding, epoch: Epoch, took_over: bool) -> Taken {
    let holding = Holding { epoch: Some(epoch), ..mine };
    Taken::Granted(Grant { holding, epoch, took_over })
}

fn waiting_for(look: &Look, writers: &[Record]) -> Standing {
    // An expired one is told of first: the grace counts for whoever saw it.
    let expired = writers.iter().find(|writer| has_expired(writer));
    let holder = expired.or(writers.first()).cloned();
    Standing { epoch: look.place.epoch(), holder, writers: writers.len() }
}

/// Whether the policy leaves this writer to an operator though it has expired.
fn has_expired(writer: &Record) -> bool {
    matches!(writer.freshness, Freshness::Stale)
}
