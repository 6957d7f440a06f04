//! Removing one's own record.

use std::time::Duration;

use bytes::Bytes;
use lease_core::backend::Withdrawn;
use lease_core::{Epoch, Holding, Jitter, Mode, Nonce, Result, Timing};

use super::own::Own;
use crate::key::Keys;
use crate::memo::{Content, Place};
use crate::record::{Anchor, sequence};
use crate::store::{Nats, TRIES};
use crate::wire::{Leaves, Put, When};

impl Nats {
    pub(crate) async fn withdrawn(&self, mine: &Holding) -> Result<Withdrawn> {
        match mine.mode {
            Mode::Exclusive => self.withdraw_exclusive(mine).await,
            Mode::Writer => self.withdraw_writer(mine).await,
        }
    }

    async fn withdraw_exclusive(&self, mine: &Holding) -> Result<Withdrawn> {
        let mut place = self.memo.anchor(&mine.name).filter(|place| place.holds(mine.nonce));
        let mut refused = false;
        for _ in 0..TRIES {
            let there = match place.take() {
                Some(place) => place,
                None => self.read(&mine.name).await?,
            };
            // A refusal is no proof that nothing was stored (`two_minds`). Whoever else ends a granted
            // exclusive raises the epoch, but for one that has expired and that nobody has followed.
            if refused && there.is_free_under(mine.epoch) {
                return Ok(Withdrawn::Removed);
            }
            let (anchor, withdrawn) = match &there.content {
                Content::Anchor(anchor) if anchor.held_by(mine.nonce).is_some() => {
                    (anchor.without(), Withdrawn::Removed)
                }
                // One's own installation may still be on its way: it must find that the anchor has
                // moved. Where somebody else holds, it has.
                Content::Anchor(anchor) if anchor.x.is_none() && !anchor.is_spent(mine.nonce) => {
                    (anchor.clone().spending(mine.nonce), Withdrawn::NotThere)
                }
                Content::Nothing => {
                    let fresh = self.fresh_anchor(&mine.name).await?;
                    (fresh.spending(mine.nonce), Withdrawn::NotThere)
                }
                _ => return Ok(Withdrawn::NotThere),
            };
            let leaves = match withdrawn {
                Withdrawn::Removed => Leaves::Value,
                Withdrawn::NotThere => Leaves::Quiet,
            };
            if let Put::Done(_) = self.swap(there.seq, anchor, leaves).await? {
                return Ok(withdrawn);
            }
            refused |= withdrawn == Withdrawn::Removed;
        }
        Err(self.busy())
    }

    async fn withdraw_writer(&self, mine: &Holding) -> Result<Withdrawn> {
        let key = Keys::of(&mine.name).writer(mine.nonce);
        let known = self.remembered(mine).map(|own: Own| own.seq);
        let mut at = known.or_else(|| sequence(&mine.revision));
        let (mut void, mut refused) = (false, false);
        // By this the mark is known again that this call has left, and no other.
        let by_this_call = Bytes::from(Jitter::system().nonce().to_string());
        for _ in 0..TRIES {
            let (seq, withdrawn) = match at.take() {
                Some(seq) => (seq, Withdrawn::Removed),
                None => match self.wire.last(&key).await? {
                    Some(kept) if !kept.ended => (kept.seq, Withdrawn::Removed),
                    // A refusal is no proof that nothing was stored: see `two_minds`.
                    Some(kept) if refused && kept.body == by_this_call => {
                        self.memo.forget_writer(mine.nonce);
                        return Ok(Withdrawn::Removed);
                    }
                    // A join that is on its way would replace even a mark, so it is made void first
                    // and looked for after that.
                    _ if !void => {
                        self.void_joins(mine).await?;
                        void = true;
                        continue;
                    }
                    Some(_) => return Ok(Withdrawn::NotThere),
                    None => (0, Withdrawn::NotThere),
                },
            };
            // What was never acknowledged may still be on its way, and must find its nonce spent.
            let lasts = match withdrawn {
                Withdrawn::Removed => brief(mine.ttl),
                Withdrawn::NotThere => long(mine.ttl),
            };
            if let Put::Done(_) = self.end(&key, seq, by_this_call.clone(), lasts).await? {
                self.memo.forget_writer(mine.nonce);
                return Ok(withdrawn);
            }
            refused |= withdrawn == Withdrawn::Removed;
        }
        Err(self.busy())
    }

    /// Marks a writer's key as ended for this long, if it still is at this write.
    pub(crate) async fn end(
        &self,
        key: &str,
        seq: u64,
        says: Bytes,
        lasts: Duration,
    ) -> Result<Put> {
        self.wire.put(key, says, When::At(seq), Leaves::End(lasts)).await
    }

    /// Makes sure that a join of one's own that is still on its way finds its condition false (rule
    /// R19): moves the anchor on, or proves that it is where no join can be conditional on it.
    async fn void_joins(&self, mine: &Holding) -> Result<()> {
        let key = Keys::of(&mine.name).anchor();
        let mut known = Some(self.known(&mine.name).await?.0);
        for _ in 0..TRIES {
            let place = match known.take() {
                Some(place) => place,
                None => self.read(&mine.name).await?,
            };
            // That it has moved from what is remembered says nothing: the join may have been sent
            // after that.
            let put = match place.content {
                Content::Anchor(anchor @ Anchor { x: None, .. }) => {
                    self.swap(place.seq, anchor, Leaves::Quiet).await?
                }
                _ => self.probe(When::If(&key, place.seq)).await?,
            };
            if let Put::Done(_) = put {
                return Ok(());
            }
        }
        Err(self.busy())
    }
}

impl Place {
    /// Whether nobody holds alone, and nobody has since this epoch was granted.
    fn is_free_under(&self, epoch: Option<Epoch>) -> bool {
        match &self.content {
            Content::Anchor(anchor) => anchor.x.is_none() && epoch == Some(anchor.shown_epoch()),
            _ => false,
        }
    }

    /// Whether the exclusive is there that has this nonce.
    pub(crate) fn holds(&self, nonce: Nonce) -> bool {
        matches!(&self.content, Content::Anchor(anchor) if anchor.held_by(nonce).is_some())
    }
}

/// How long the end of a record is marked whose insertion was acknowledged: nothing of it is on its
/// way any more. Marks that stay lengthen the next exclusive's list.
///
/// No shorter than the ttl: a server that was killed may show again what a mark had replaced once the
/// mark is over, and that must have expired by then.
pub(crate) fn brief(ttl: Duration) -> Duration {
    const AT_LEAST: Duration = Duration::from_secs(5);
    // No lease is longer, and what a record tells beyond is none that can be waited for.
    ttl.clamp(AT_LEAST, Timing::MAX_TTL)
}

/// How long the end of a record is marked whose insertion may still arrive: no shorter than that.
fn long(ttl: Duration) -> Duration {
    const BETWEEN: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(24 * 3600)];
    ttl.saturating_mul(4).clamp(BETWEEN[0], BETWEEN[1]).max(brief(ttl))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::the_shortest(Duration::from_millis(1))]
    #[case::of_seconds(Duration::from_secs(15))]
    #[case::of_a_day(Duration::from_secs(24 * 3600))]
    #[case::of_a_month(Duration::from_secs(30 * 24 * 3600))]
    #[case::the_longest(Timing::MAX_TTL)]
    fn the_mark_of_an_end_outlives_what_has_ended(#[case] ttl: Duration) {
        assert!(brief(ttl) >= ttl, "{:?}", brief(ttl));
        assert!(long(ttl) >= brief(ttl), "{:?}", long(ttl));
    }

    /// A record may tell any number; the server takes no time that overflows in nanoseconds.
    #[test]
    fn no_mark_lasts_longer_than_any_lease() {
        assert_eq!(brief(Duration::MAX), Timing::MAX_TTL);
        assert_eq!(long(Duration::MAX), Timing::MAX_TTL);
    }
}
