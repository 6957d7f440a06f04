//! The toy as a backend.

use async_trait::async_trait;
use lease_core::backend::{
    Broken, Committed, Confirmed, Draining, Evicted, Installed, Joined, Registered, Renewed, Taken,
    Watch, Withdrawn,
};
use lease_core::{
    Backend, BreakNote, Capabilities, Claim, Epoch, Error, HolderInfo, Holding, Judged, LossReason,
    Name, Nonce, Policy, Result, Revision, Snapshot, Target, TimeAuthority,
};
use tokio::sync::watch;

use super::{Entry, Manner, Reach, Toy, handshake};
use crate::mutants::Fault;

#[async_trait]
impl Backend for Toy {
    fn kind(&self) -> &'static str {
        "toy"
    }

    fn capabilities(&self) -> Capabilities {
        let all = Capabilities::reference();
        match self.store.manner {
            Manner::Observes => all.with_time(TimeAuthority::Observation),
            Manner::Modest => {
                all.with_push(false).with_renew_batch(1).with_epoch_survives_erasure(false)
            }
            _ if self.breaks(Fault::CapabilitiesDiffer) => {
                all.with_push(self.number.is_multiple_of(2))
            }
            _ => all,
        }
    }

    async fn observe(&self, name: &Name) -> Result<Snapshot> {
        if self.reach == Reach::Nothing && self.breaks(Fault::AnOutageLooksFree) {
            return Ok(nothing());
        }
        self.arrives(false).await?;
        let shown = self.look(name, |entry, rules| entry.snapshot(rules)).unwrap_or_else(nothing);
        let from_a_copy = self.number > 0 && self.breaks(Fault::OthersReadACopy);
        if from_a_copy || self.breaks(Fault::ReadsAreStale) {
            let mut memory = self.memory();
            let old = memory.seen.insert(name.clone(), shown.clone());
            return Ok(old.unwrap_or(shown));
        }
        Ok(shown)
    }

    async fn inspect(&self, name: &Name) -> Result<Snapshot> {
        self.arrives(self.breaks(Fault::InspectionNeedsRights)).await?;
        let look = |entry: &mut Entry, rules: &super::Rules| {
            if self.breaks(Fault::InspectionRenews) {
                for kept in entry.exclusive.iter_mut().chain(entry.writers.values_mut()) {
                    kept.at = rules.now;
                }
            }
            if self.breaks(Fault::InspectionCleansUp) {
                let stale = entry.all().filter(|k| k.is_stale(rules)).map(|k| k.claim.nonce);
                for nonce in stale.collect::<Vec<_>>() {
                    entry.remove(nonce);
                }
            }
            entry.snapshot(rules)
        };
        if self.breaks(Fault::InspectionCreates) {
            return Ok(self.step(name, look));
        }
        Ok(self.look(name, look).unwrap_or_else(nothing))
    }

    async fn register(&self, claim: &Claim) -> Result<Registered> {
        self.arrives(true).await?;
        Ok(self.step(&claim.name, |entry, rules| entry.register(claim, rules)))
    }

    async fn install(
        &self,
        claim: &Claim,
        _seen: &Snapshot,
        over: Option<(&Target, Judged)>,
    ) -> Result<Installed> {
        self.arrives(true).await?;
        if self.breaks(Fault::InstallsInTwoSteps) {
            let free = self.step(&claim.name, |entry, _| entry.exclusive.is_none());
            tokio::task::yield_now().await;
            if free {
                let target = self.step(&claim.name, |entry, _| entry.exclusive.take());
                drop(target);
            }
        }
        Ok(self.step(&claim.name, |entry, rules| entry.install(claim, over, rules)))
    }

    async fn commit(&self, mine: &Holding) -> Result<Committed> {
        self.arrives(true).await?;
        let committed = self.step(&mine.name, |entry, rules| entry.commit(mine, rules));
        if let (Committed::Granted { revision, .. }, true) =
            (&committed, self.breaks(Fault::EachClientCountsEpochs))
        {
            let mut memory = self.memory();
            let own = memory.epochs.entry(mine.name.clone()).or_default();
            *own += 1;
            let epoch = Epoch::new(*own).unwrap();
            return Ok(Committed::Granted { epoch, revision: revision.clone() });
        }
        Ok(committed)
    }

    async fn renew(&self, mine: &[Holding]) -> Vec<Result<Renewed>> {
        if let Err(error) = self.arrives(true).await {
            if self.breaks(Fault::AnOutageHasNoAnswers) {
                return Vec::new();
            }
            let again = |_| Err(Error::unreached("toy", error.to_string()));
            return mine.iter().map(again).collect();
        }
        if mine.is_empty() && self.breaks(Fault::AnEmptyBatchFails) {
            return vec![Err(Error::unclear("toy", "there is nothing to renew"))];
        }
        let first = mine.first().map(|one| one.ttl);
        let mut answers: Vec<_> = mine
            .iter()
            .map(|one| {
                let ttl = first.filter(|_| self.breaks(Fault::ABatchHasOneTtl)).unwrap_or(one.ttl);
                let one = Holding { ttl, ..one.clone() };
                self.look(&one.name, |entry, rules| entry.renew(&one, rules))
                    .unwrap_or(Renewed::Lost(LossReason::StateGone))
            })
            .collect();
        let lost = answers.iter().find(|a| matches!(a, Renewed::Lost(_))).cloned();
        match (self.store.fault, lost) {
            (Some(Fault::ABatchIsAllOrNothing), Some(lost)) => answers.fill(lost),
            (Some(Fault::ABatchIsOutOfOrder), _) => answers.reverse(),
            _ => {}
        }
        answers.into_iter().map(Ok).collect()
    }

    async fn confirm(&self, mine: &Holding) -> Result<Confirmed> {
        if self.breaks(Fault::ConfirmsFromACache) && self.memory().confirmed.contains(&mine.nonce) {
            return Ok(Confirmed::Held { drain: false });
        }
        if self.reach == Reach::Nothing && self.breaks(Fault::AnOutageIsALoss) {
            return Ok(Confirmed::Lost(LossReason::StateGone));
        }
        self.arrives(false).await?;
        self.memory().confirmed.push(mine.nonce);
        let confirmed = self.look(&mine.name, |entry, rules| entry.confirm(mine, rules));
        Ok(confirmed.unwrap_or(Confirmed::Lost(LossReason::StateGone)))
    }

    async fn withdraw(&self, mine: &Holding) -> Result<Withdrawn> {
        match self.arrives(true).await {
            Err(_) if self.breaks(Fault::AnOutageIsARelease) => return Ok(Withdrawn::NotThere),
            arrived => arrived?,
        }
        let withdrawn = self.look(&mine.name, |entry, rules| entry.withdraw(mine, rules));
        let unknown = match self.store.fault {
            Some(Fault::ReleasesOfTheUnknownSucceed) => Withdrawn::Removed,
            _ => Withdrawn::NotThere,
        };
        Ok(withdrawn.unwrap_or(unknown))
    }

    async fn evict(&self, name: &Name, target: &Target, judged: Judged) -> Result<Evicted> {
        self.arrives(true).await?;
        let evicted = self.look(name, |entry, rules| entry.evict(target, judged, rules));
        Ok(evicted.unwrap_or(Evicted::Kept))
    }

    async fn break_record(&self, name: &Name, nonce: Nonce, note: &BreakNote) -> Result<Broken> {
        self.arrives(true).await?;
        let broken = self.look(name, |entry, rules| entry.break_record(nonce, note, rules));
        Ok(broken.unwrap_or(Broken::NotThere))
    }

    async fn last_break(&self, name: &Name) -> Result<Option<BreakNote>> {
        self.arrives(false).await?;
        Ok(self.look(name, |entry, _| entry.note.clone()).flatten())
    }

    async fn adopt(&self, mine: &Holding, info: &HolderInfo) -> Result<Renewed> {
        self.arrives(true).await?;
        let adopted = self.look(&mine.name, |entry, rules| entry.adopt(mine, info, rules));
        Ok(adopted.unwrap_or(Renewed::Lost(LossReason::StateGone)))
    }

    async fn names(&self) -> Result<Vec<Name>> {
        self.arrives(false).await?;
        let entries = self.store.lock();
        let shown = entries.values().map(|entry| match self.store.fault {
            Some(Fault::NamesAreListedAsKeys) => Name::parse(entry.name.portable()).unwrap(),
            _ => entry.name.clone(),
        });
        Ok(shown.collect())
    }

    async fn watch(&self, _: &Name) -> Result<Box<dyn Watch>> {
        if self.store.manner == Manner::Modest || self.breaks(Fault::WatchingIsRefused) {
            return Err(Error::Unsupported { backend: "toy", feature: "watch" });
        }
        self.arrives(false).await?;
        let first = self.store.changes.receiver_count() == 0;
        Ok(Box::new(Changes {
            changes: self.store.changes.subscribe(),
            forgets: self.breaks(Fault::WatchesForget),
            sleeps: !first && self.breaks(Fault::OneWatchWakes),
        }))
    }

    async fn join(&self, claim: &Claim, policy: &Policy) -> Result<Joined> {
        let joined = handshake::join(self, claim, policy).await?;
        Ok(match joined {
            Joined::Refused(by) => Joined::Refused(handshake::told(self, by, claim)),
            granted => granted,
        })
    }

    async fn take(
        &self,
        claim: &Claim,
        draining: Option<&Draining>,
        policy: &Policy,
    ) -> Result<Taken> {
        self.memory().ttl = Some(claim.ttl);
        let taken = handshake::take(self, claim, draining, policy).await?;
        Ok(match taken {
            Taken::Refused(by) => Taken::Refused(handshake::told(self, by, claim)),
            other => other,
        })
    }
}

fn nothing() -> Snapshot {
    Snapshot {
        epoch: Epoch::default(),
        anchor: Revision::new("nothing"),
        exclusive: None,
        writers: Vec::new(),
    }
}

#[derive(Debug)]
struct Changes {
    changes: watch::Receiver<u64>,
    forgets: bool,
    sleeps: bool,
}

#[async_trait]
impl Watch for Changes {
    async fn changed(&mut self) -> Result<()> {
        if self.sleeps {
            return std::future::pending().await;
        }
        if self.forgets {
            self.changes.mark_unchanged();
        }
        self.changes.changed().await.map_err(|gone| Error::unreached("toy", gone))
    }
}
