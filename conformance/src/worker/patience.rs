//! Waiting for what the store lets go by itself.

use std::time::Duration;

use lease_core::backend::{Draining, Evicted, Joined, Taken};
use lease_core::{
    Claim, Grant, Judged, Moment, Name, Nonce, Record, Revision, Snapshot, Target, TimeAuthority,
};

use super::Worker;

impl Worker<'_> {
    /// The step of a worker that waits: also one whose own records live long waits for those of
    /// others.
    fn step(&self) -> Duration {
        self.ttl.min(self.store.ttl(&self.capabilities())) / 10
    }

    /// How long a record of this ttl may block its name at the most, its last renewal being now:
    /// its ttl, and as much again for a store that removes in two steps or judges by observation.
    #[must_use]
    pub fn patience(&self, ttl: Duration) -> Duration {
        ttl * 2 + self.capabilities().clock_resolution * 4 + self.step() * 2
    }

    /// Lets a record of this ttl run out.
    pub async fn waits_until_it_expires(&self, ttl: Duration) {
        self.waits(ttl + self.capabilities().clock_resolution * 2 + self.step()).await;
    }

    /// On what evidence this store lets go of what expired.
    #[must_use]
    pub fn evidence(&self) -> Judged {
        match self.capabilities().time {
            TimeAuthority::Observation => Judged::Observed,
            _ => Judged::ByStore,
        }
    }

    /// Becomes the exclusive as soon as what is in the way has expired.
    pub async fn takes_in_time(&self, name: &Name, patience: Duration) -> Grant {
        self.goes_on_in_time(self.exclusive(name), None, patience).await
    }

    /// Becomes the exclusive as soon as the writers that it drains have ended or expired.
    pub async fn goes_on_in_time(
        &self,
        mut claim: Claim,
        mut draining: Option<Draining>,
        patience: Duration,
    ) -> Grant {
        let (start, name) = (self.now(), claim.name.clone());
        let mut watched = Watched::default();
        loop {
            match self.tries_to_take(&claim, draining.as_ref()).await {
                Taken::Granted(grant) => return grant,
                Taken::Draining(more) => draining = Some(more),
                // R7: each attempt has a nonce of its own.
                Taken::Refused(_) => (claim, draining) = (self.exclusive(&name), None),
                Taken::Displaced(_) => panic!("{} was displaced while it drained", self.label),
            }
            self.has_patience(start, patience);
            self.waits_a_step(&name, &mut watched).await;
        }
    }

    /// Becomes a writer as soon as what is in the way has expired.
    pub async fn joins_in_time(&self, name: &Name, patience: Duration) -> Grant {
        let start = self.now();
        let mut watched = Watched::default();
        loop {
            if let Joined::Granted(grant) = self.tries_to_join(name).await {
                return grant;
            }
            self.has_patience(start, patience);
            self.waits_a_step(name, &mut watched).await;
        }
    }

    /// Removes a record that has expired, at once or as soon as the store does.
    pub async fn evicts_in_time(&self, name: &Name, target: &Target) {
        let start = self.now();
        let mut watched = Watched::default();
        let evicted = self.backend.evict(name, target, self.evidence()).await;
        let evicted = evicted.expect("the store answers");
        assert_eq!(evicted, Evicted::Condemned, "an expired record must let itself be removed");
        while self.sees(name).await.record(target.nonce).is_some() {
            self.has_patience(start, self.patience(self.ttl));
            self.waits_a_step(name, &mut watched).await;
        }
    }

    /// Waits a little, and clears away what stood still where the store leaves the judging to
    /// others.
    pub(crate) async fn waits_a_step(&self, name: &Name, watched: &mut Watched) {
        if self.capabilities().time == TimeAuthority::Observation {
            let seen = self.sees(name).await;
            for target in watched.standing_still(&seen, self.now()) {
                // Kept or not, the next look tells.
                self.backend.evict(name, &target, Judged::Observed).await.expect("an answer");
            }
        }
        self.waits(self.step()).await;
    }

    fn has_patience(&self, start: Moment, patience: Duration) {
        assert!(
            self.now().since(start) <= patience,
            "{} must find the name free within {patience:?}",
            self.label
        );
    }
}

/// Since when the revisions of a name have stood still.
#[derive(Debug, Default)]
pub(crate) struct Watched(Vec<(Nonce, Revision, Moment)>);

impl Watched {
    /// The records that stood still for their own ttl.
    fn standing_still(&mut self, seen: &Snapshot, now: Moment) -> Vec<Target> {
        let records = seen.exclusive.iter().chain(&seen.writers);
        records.filter(|record| self.stood_still(record, now)).map(Record::target).collect()
    }

    fn stood_still(&mut self, record: &Record, now: Moment) -> bool {
        let known = self.0.iter().find(|(n, r, _)| (n, r) == (&record.nonce, &record.revision));
        match known {
            Some((.., since)) => record.unreadable.is_none() && now.since(*since) >= record.ttl,
            None => {
                self.0.push((record.nonce, record.revision.clone(), now));
                false
            }
        }
    }
}
