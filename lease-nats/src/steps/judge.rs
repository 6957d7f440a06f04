//! Whether an exclusive that is in the way may be removed.

use lease_core::{
    Claim, Freshness, Judged, Name, Policy, Record, Result, Snapshot, Standing, Target,
};

use crate::memo::Place;
use crate::store::Nats;

/// What is to be done about an exclusive that is in the way.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// It is respected.
    Respect(Box<Standing>),
    /// It may be removed on this evidence.
    Remove(Target, Judged),
    /// It has gone meanwhile.
    Gone,
}

impl Nats {
    /// Judges the exclusive of a place that was just read.
    ///
    /// That it lives is told by the server's clock as it is remembered, which costs nothing; that it
    /// does not is proven by a write of one's own.
    pub(crate) async fn judge(
        &self,
        claim: &Claim,
        place: &Place,
        policy: &Policy,
    ) -> Result<Verdict> {
        let now = self.server_time().await?;
        let shown = place.snapshot(Some(now));
        match verdict(claim, &shown, policy) {
            Verdict::Remove(_, Judged::ByStore) => {
                let look = self.observed(&claim.name).await?;
                Ok(verdict(claim, &look.snapshot(), policy))
            }
            told => Ok(told),
        }
    }

    /// The record of this target if it is stale now, by a look that a write of one's own proves.
    pub(crate) async fn stale_now(&self, name: &Name, target: &Target) -> Result<Option<Record>> {
        let snapshot = self.observed(name).await?.snapshot();
        let record = snapshot.record(target.nonce).filter(|record| record.mode == target.mode);
        Ok(record.filter(|record| record.freshness == Freshness::Stale).cloned())
    }
}

fn verdict(claim: &Claim, shown: &Snapshot, policy: &Policy) -> Verdict {
    let Some(exclusive) = &shown.exclusive else { return Verdict::Gone };
    match policy.judge(exclusive, claim.ttl) {
        Some(judged) => Verdict::Remove(exclusive.target(), judged),
        None => Verdict::Respect(Box::new(shown.standing())),
    }
}
