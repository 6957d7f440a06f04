//! A writer's whole handshake, in one conditional write.

use lease_core::backend::{Evicted, Joined};
use lease_core::{Claim, Grant, Holding, Policy, Result};

use super::judge::Verdict;
use crate::error::is_unclear;
use crate::record::revision;
use crate::store::{Nats, TRIES};
use crate::wire::Put;

impl Nats {
    /// Joins in one write that is stored only while the anchor is as it was seen, free of an
    /// exclusive (rules R1, R3, R11, R24 in one): whoever installs itself moves the anchor.
    pub(crate) async fn joined(&self, claim: &Claim, policy: &Policy) -> Result<Joined> {
        let (mut took_over, mut known) = (false, Some(self.known(&claim.name).await?));
        for _ in 0..TRIES {
            let (place, read) = match known.take() {
                Some(known) => known,
                None => (self.read(&claim.name).await?, true),
            };
            if place.is_held() {
                if !read {
                    // What is remembered may have ended since.
                    continue;
                }
                match self.judge(claim, &place, policy).await? {
                    Verdict::Respect(by) => return Ok(Joined::Refused(*by)),
                    Verdict::Gone => {}
                    Verdict::Remove(target, judged) => {
                        let evicted = self.evicted(&claim.name, &target, judged).await?;
                        took_over |= evicted == Evicted::Condemned;
                        known = self.memo.anchor(&claim.name).map(|place| (place, false));
                    }
                }
                continue;
            }
            let Some((anchor, epoch)) = self.opened_to_writers(claim, &place).await? else {
                continue;
            };
            if let Some(seq) = self.insert_or_find(claim, anchor).await? {
                let created = Holding::created(claim, revision(seq));
                let holding = Holding { epoch: Some(epoch), ..created };
                return Ok(Joined::Granted(Grant { holding, epoch, took_over }));
            }
        }
        Err(self.busy())
    }

    /// Inserts the record at this write of the anchor; nothing if that has moved.
    async fn insert_or_find(&self, claim: &Claim, anchor: u64) -> Result<Option<u64>> {
        match self.insert(claim, anchor).await {
            Ok(Put::Done(seq)) => Ok(Some(seq)),
            Ok(Put::Moved | Put::Busy) => Ok(None),
            // One whose answer was lost counts all the same, if it is there: its condition held.
            Err(error) if is_unclear(&error) => {
                match self.found(&Holding::created(claim, revision(0))).await {
                    Ok(Ok(own)) => Ok(Some(own.seq)),
                    _ => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }
}
