//! The steps of the toy that change one record: renewing, removing, granting.

use std::time::Duration;

use lease_core::backend::{
    Broken, Committed, Confirmed, Evicted, Installed, Registered, Renewed, Withdrawn,
};
use lease_core::{
    BreakNote, Claim, Epoch, HolderInfo, Holding, Judged, LossReason, Mode, Nonce, Target,
};

use super::{Entry, Kept, Manner, Rules};
use crate::mutants::Fault;

/// How long a condemned record still stands, where a store removes in two steps.
const LINGERS: Duration = Duration::from_millis(150);

impl Entry {
    pub(crate) fn register(&mut self, claim: &Claim, rules: &Rules) -> Registered {
        if self.spent.contains_key(&claim.nonce) && !rules.break_at(Fault::LateRegistrationsRevive)
        {
            return Registered::Void;
        }
        if let Some(there) = self.kept(claim.nonce)
            && !rules.break_at(Fault::ARepeatedRegisterIsAnotherWrite)
        {
            return Registered::Here(there.revision(rules));
        }
        let mut kept = Kept::new(claim, rules);
        if let Some(there) = self.kept(claim.nonce) {
            kept.beat = there.beat + 1;
        }
        let revision = kept.revision(rules);
        self.insert(kept);
        Registered::Here(revision)
    }

    pub(crate) fn install(
        &mut self,
        claim: &Claim,
        over: Option<(&Target, Judged)>,
        rules: &Rules,
    ) -> Installed {
        if self.spent.contains_key(&claim.nonce) && !rules.break_at(Fault::LateInstallationsRevive)
        {
            return Installed::Refused;
        }
        if let Some(there) = &self.exclusive {
            let same_label = there.claim.info.label == claim.info.label;
            let mine = there.claim.nonce == claim.nonce
                || (rules.break_at(Fault::LabelsAreIdentity) && same_label);
            if mine {
                return Installed::Here(there.revision(rules));
            }
            let blind = rules.break_at(Fault::TakeoversAreBlind) && over.is_some();
            let may = over.is_some_and(|(t, judged)| there.is_condemned(t, judged, rules));
            if !may && !blind && !rules.break_at(Fault::InstallsOverAnybody) {
                return Installed::Refused;
            }
            let nonce = there.claim.nonce;
            if self.condemn(nonce, rules) {
                return Installed::Refused;
            }
        }
        if rules.break_at(Fault::EpochRisesAtTheInstall) {
            self.epoch += 1;
        }
        let kept = Kept::new(claim, rules);
        let revision = kept.revision(rules);
        self.insert(kept);
        Installed::Here(revision)
    }

    pub(crate) fn commit(&mut self, mine: &Holding, rules: &Rules) -> Committed {
        let again = rules.break_at(Fault::ARepeatedCommitIsAnother);
        let next = self.epoch + 1;
        let Some(kept) = self.kept(mine.nonce).filter(|k| k.claim.mode == Mode::Exclusive) else {
            if rules.break_at(Fault::CommitsNothing) {
                let epoch = self.next_epoch();
                return Committed::Granted { epoch, revision: mine.revision.clone() };
            }
            return Committed::Lost;
        };
        if let Some(epoch) = kept.granted.filter(|_| !again) {
            return Committed::Granted { epoch, revision: kept.revision(rules) };
        }
        let raised = !rules.break_at(Fault::EpochRisesAtTheInstall);
        let epoch = if raised { next } else { next - 1 };
        kept.granted = Epoch::new(epoch);
        let revision = kept.revision(rules);
        (self.epoch, self.written) = (epoch, self.written + 1);
        Committed::Granted { epoch: self.epoch(), revision }
    }

    /// One's own record, or why it is not one's own any more.
    fn own(&mut self, mine: &Holding, rules: &Rules) -> Result<&mut Kept, LossReason> {
        let strict = rules.manner == Manner::Strict;
        let kept = self.kept(mine.nonce).filter(|k| k.ends.is_none());
        let kept = kept.ok_or(LossReason::Displaced)?;
        if strict && kept.is_stale(rules) {
            return Err(LossReason::Displaced);
        }
        let goes_on = rules.break_at(Fault::TheOldProcessGoesOn);
        if kept.adopted_from >= Some(mine.acknowledged) && !goes_on {
            return Err(LossReason::HandedOver);
        }
        Ok(kept)
    }

    fn drains(&self, mine: &Holding, rules: &Rules) -> bool {
        let there = mine.mode == Mode::Writer && self.exclusive.is_some();
        there && !rules.break_at(Fault::WritersHearOfNoDrain)
    }

    pub(crate) fn renew(&mut self, mine: &Holding, rules: &Rules) -> Renewed {
        let drain = self.drains(mine, rules);
        if self.kept(mine.nonce).is_none() {
            self.resurrect(mine, rules);
        }
        let by_nonce = rules.break_at(Fault::RenewalsGoByTheNonce);
        let raises = rules.break_at(Fault::EpochRisesAtARenewal);
        let kept = match self.own(mine, rules) {
            Ok(kept) => kept,
            Err(reason) => return Renewed::Lost(reason),
        };
        let again = kept.beat == mine.beat && !rules.break_at(Fault::TheSameBeatCountsTwice);
        if again || rules.break_at(Fault::RenewalsDoNothing) {
            return Renewed::Renewed { revision: kept.revision(rules), drain };
        }
        let own = match rules.fault {
            Some(Fault::UnansweredRenewalsLose) => kept.beat == mine.acknowledged,
            Some(Fault::OvertakenRenewalsCount) => kept.beat >= mine.acknowledged,
            _ => (mine.acknowledged..=mine.beat).contains(&kept.beat),
        };
        if !own && !by_nonce {
            return Renewed::Lost(LossReason::Displaced);
        }
        (kept.beat, kept.at) = (mine.beat, rules.now);
        if !rules.break_at(Fault::RenewalsKeepTheFirstTtl) {
            kept.ttl = mine.ttl;
        }
        if rules.break_at(Fault::RenewalsForgetWho) {
            kept.claim.info = Default::default();
        }
        let revision = kept.revision(rules);
        self.epoch += u64::from(raises);
        Renewed::Renewed { revision, drain }
    }

    /// What a renewal must never do: bring a record back that is not there.
    fn resurrect(&mut self, mine: &Holding, rules: &Rules) {
        let free = mine.mode == Mode::Writer || self.exclusive.is_none();
        let spent = self.spent.get(&mine.nonce).cloned();
        let back = match rules.fault {
            Some(Fault::RenewalsCreate) if free && spent.is_none() => None,
            Some(Fault::LateRenewalsRevive) if free && spent.is_some() => spent.flatten(),
            Some(Fault::RenewalsTakeBack) if spent.is_some() => spent.flatten(),
            _ => return,
        };
        let claim = Claim {
            name: mine.name.clone(),
            nonce: mine.nonce,
            mode: mine.mode,
            ttl: mine.ttl,
            info: Default::default(),
        };
        let kept = back.unwrap_or_else(|| Kept::new(&claim, rules));
        self.insert(kept);
    }

    pub(crate) fn confirm(&mut self, mine: &Holding, rules: &Rules) -> Confirmed {
        let drain = self.drains(mine, rules);
        match self.own(mine, rules) {
            Ok(kept) => {
                if rules.break_at(Fault::ConfirmationsRenew) {
                    kept.at = rules.now;
                }
                Confirmed::Held { drain }
            }
            Err(reason) => Confirmed::Lost(reason),
        }
    }

    pub(crate) fn withdraw(&mut self, mine: &Holding, rules: &Rules) -> Withdrawn {
        let exclusive = self.exclusive.as_ref().map(|kept| kept.claim.nonce);
        let there = self.kept(mine.nonce).map(|kept| kept.revision(rules));
        let nonce = match rules.fault {
            Some(Fault::ReleasesGoByName) => exclusive.unwrap_or(mine.nonce),
            Some(Fault::ReleasesNeedTheRevision) if there.as_ref() != Some(&mine.revision) => {
                return Withdrawn::NotThere;
            }
            Some(Fault::ReleasesWait) if there.is_some() => {
                self.kept(mine.nonce).unwrap().ends = Some(rules.now.plus(mine.ttl));
                return Withdrawn::Removed;
            }
            Some(Fault::OneWriterReleasesAll) if mine.mode == Mode::Writer => {
                self.writers.retain(|nonce, _| *nonce == mine.nonce);
                mine.nonce
            }
            Some(Fault::ReleasesOfNothingSucceed) if there.is_none() => return Withdrawn::Removed,
            _ => mine.nonce,
        };
        if self.remove(nonce).is_none() {
            return Withdrawn::NotThere;
        }
        if rules.break_at(Fault::EpochIsLostOnRelease) {
            self.epoch = 0;
        }
        Withdrawn::Removed
    }

    pub(crate) fn evict(&mut self, target: &Target, judged: Judged, rules: &Rules) -> Evicted {
        let nonce = match (rules.fault, &self.exclusive) {
            (Some(Fault::EvictsByPlace), Some(there)) if target.mode == Mode::Exclusive => {
                there.claim.nonce
            }
            _ => target.nonce,
        };
        let may = self.kept(nonce).is_some_and(|k| k.is_condemned(target, judged, rules));
        if !may {
            return Evicted::Kept;
        }
        self.condemn(nonce, rules);
        if rules.break_at(Fault::EpochIsLostOnExpiry) {
            self.epoch = 0;
        }
        Evicted::Condemned
    }

    /// Removes a record; whether it still stands for a while.
    fn condemn(&mut self, nonce: Nonce, rules: &Rules) -> bool {
        if rules.manner == Manner::Condemns {
            let end = rules.now.plus(LINGERS);
            let Some(kept) = self.kept(nonce) else { return false };
            kept.ends = kept.ends.or(Some(end));
            return true;
        }
        self.remove(nonce);
        false
    }

    pub(crate) fn break_record(&mut self, nonce: Nonce, note: &BreakNote, rules: &Rules) -> Broken {
        let nonce = match (rules.fault, &self.exclusive) {
            (Some(Fault::BreaksGoByName), Some(there)) => there.claim.nonce,
            _ => nonce,
        };
        let unreadable = self.kept(nonce).is_some_and(|kept| kept.damage.is_some());
        if unreadable && rules.break_at(Fault::UnreadableIsUnbreakable) {
            return Broken::NotThere;
        }
        let Some(removed) = self.remove(nonce) else {
            return match rules.fault {
                Some(Fault::BreaksOfNothingSucceed) => Broken::Broken { epoch: self.epoch() },
                _ => Broken::NotThere,
            };
        };
        let fences = match rules.fault {
            Some(Fault::ABreakDoesNotFence) => false,
            Some(Fault::ABreakOfAWriterFences) => removed.claim.mode == Mode::Writer,
            Some(Fault::ABreakOfADrainFences) => removed.claim.mode == Mode::Exclusive,
            _ => removed.granted.is_some(),
        };
        self.epoch += u64::from(fences);
        if rules.break_at(Fault::ABreakEndsEveryWriter) {
            self.writers.clear();
        }
        if !rules.break_at(Fault::BreaksKeepNoNote) {
            self.note = Some(note.clone());
        }
        Broken::Broken { epoch: self.epoch() }
    }

    pub(crate) fn adopt(&mut self, mine: &Holding, info: &HolderInfo, rules: &Rules) -> Renewed {
        let drain = self.drains(mine, rules);
        let twice = rules.break_at(Fault::TicketsWorkTwice);
        let old = rules.break_at(Fault::OldTicketsWork);
        let Some(kept) = self.kept(mine.nonce) else { return Renewed::Lost(LossReason::Displaced) };
        let spent = kept.adopted_from == Some(mine.acknowledged);
        if !(kept.beat == mine.acknowledged || (spent && twice) || (!spent && old)) {
            return Renewed::Lost(LossReason::HandedOver);
        }
        if !rules.break_at(Fault::AdoptionKeepsTheOldInfo) {
            kept.claim.info = std::sync::Arc::new(info.clone());
        }
        kept.adopted_from = Some(mine.acknowledged);
        (kept.beat, kept.at, kept.ttl) = (mine.beat, rules.now, mine.ttl);
        Renewed::Renewed { revision: kept.revision(rules), drain }
    }
}
