//! What the toy keeps of one name, and what it shows of that.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lease_conformance::Damage;
use lease_core::{
    BreakNote, Claim, Epoch, Freshness, HolderInfo, Judged, Mode, Moment, Name, Nonce, Record,
    Revision, Snapshot, State, Target, Unreadable,
};

use super::{Manner, Rules};
use crate::mutants::Fault;

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: Name,
    pub(crate) epoch: u64,
    pub(crate) exclusive: Option<Kept>,
    pub(crate) writers: BTreeMap<Nonce, Kept>,
    pub(crate) spent: BTreeMap<Nonce, Option<Kept>>,
    pub(crate) note: Option<BreakNote>,
    /// Counts the writes that a waiter wants to hear of.
    pub(crate) written: u64,
    touched: Moment,
}

#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) claim: Claim,
    pub(crate) ttl: Duration,
    pub(crate) beat: u64,
    pub(crate) at: Moment,
    pub(crate) granted: Option<Epoch>,
    pub(crate) adopted_from: Option<u64>,
    pub(crate) damage: Option<Damage>,
    /// When it ends, once it is condemned.
    pub(crate) ends: Option<Moment>,
}

impl Entry {
    pub(crate) fn new(name: &Name, floor: u64, now: Moment) -> Self {
        Self {
            name: name.clone(),
            epoch: floor,
            exclusive: None,
            writers: BTreeMap::new(),
            spent: BTreeMap::new(),
            note: None,
            written: 0,
            touched: now,
        }
    }

    /// What happens by itself as time passes.
    pub(crate) fn sweep(&mut self, rules: &Rules, floor: u64) {
        let gone = |kept: &Kept| kept.ends.is_some_and(|at| at <= rules.now);
        let over: Vec<Nonce> = self.all().filter(|k| gone(k)).map(|k| k.claim.nonce).collect();
        for nonce in over {
            self.remove(nonce);
        }
        let silent = rules.now.since(self.touched);
        if rules.break_at(Fault::EpochIsCleanedUp) && silent > Duration::from_secs(3) {
            self.epoch = floor.min(1);
        }
        self.touched = rules.now;
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Kept> {
        self.exclusive.iter().chain(self.writers.values())
    }

    pub(crate) fn kept(&mut self, nonce: Nonce) -> Option<&mut Kept> {
        let exclusive = self.exclusive.as_mut().filter(|kept| kept.claim.nonce == nonce);
        exclusive.or_else(|| self.writers.get_mut(&nonce))
    }

    pub(crate) fn insert(&mut self, kept: Kept) {
        self.written += 1;
        match kept.claim.mode {
            Mode::Exclusive => self.exclusive = Some(kept),
            Mode::Writer => drop(self.writers.insert(kept.claim.nonce, kept)),
        }
    }

    pub(crate) fn remove(&mut self, nonce: Nonce) -> Option<Kept> {
        let exclusive = self.exclusive.take_if(|kept| kept.claim.nonce == nonce);
        let removed = exclusive.or_else(|| self.writers.remove(&nonce))?;
        self.written += 1;
        self.spent.insert(nonce, Some(removed.clone()));
        Some(removed)
    }

    pub(crate) fn epoch(&self) -> Epoch {
        Epoch::new(self.epoch).unwrap()
    }

    pub(crate) fn next_epoch(&mut self) -> Epoch {
        self.epoch += 1;
        self.epoch()
    }

    pub(crate) fn snapshot(&self, rules: &Rules) -> Snapshot {
        let shown =
            |kept: &&Kept| kept.damage.is_none() || !rules.break_at(Fault::UnreadableIsFree);
        let page = if rules.break_at(Fault::ListingsEndAtPageOne) { 16 } else { usize::MAX };
        Snapshot {
            epoch: self.epoch(),
            anchor: Revision::new(self.written.to_string()),
            exclusive: self.exclusive.as_ref().filter(shown).map(|kept| kept.record(rules)),
            writers: self
                .writers
                .values()
                .filter(shown)
                .take(page)
                .map(|k| k.record(rules))
                .collect(),
        }
    }
}

impl Kept {
    pub(crate) fn new(claim: &Claim, rules: &Rules) -> Self {
        let mut claim = claim.clone();
        let mut info = HolderInfo::clone(&claim.info);
        if rules.break_at(Fault::KeysAreCutAtDots) {
            let cut = |(k, v): (String, String)| (k.split('.').next().unwrap().to_owned(), v);
            info.metadata = info.metadata.into_iter().map(cut).collect();
        }
        if rules.break_at(Fault::InfoIsCut) {
            info.metadata.retain(|_, value| value.len() < 4096);
        }
        claim.info = Arc::new(info);
        Self {
            ttl: claim.ttl,
            claim,
            beat: 0,
            at: rules.now,
            granted: None,
            adopted_from: None,
            damage: None,
            ends: None,
        }
    }

    pub(crate) fn revision(&self, rules: &Rules) -> Revision {
        let beat = if rules.break_at(Fault::RevisionsStandStill) { 0 } else { self.beat };
        Revision::new(format!("{beat}/{}", self.granted.is_some()))
    }

    /// The damage that makes it unreadable.
    fn unreadable(&self, rules: &Rules) -> Option<Unreadable> {
        match self.damage? {
            Damage::NewerVersion if rules.break_at(Fault::NewerIsCorrupt) => {
                Some(Unreadable::Corrupt("format 99".into()))
            }
            Damage::NewerVersion => Some(Unreadable::NewerVersion(99)),
            Damage::UnknownField if rules.break_at(Fault::UnknownFieldsAreCorrupt) => {
                Some(Unreadable::Corrupt("an unknown field".into()))
            }
            Damage::UnknownField => None,
            Damage::Empty | Damage::Truncated => Some(Unreadable::Corrupt("cut off".into())),
        }
    }

    fn judged_ttl(&self, rules: &Rules) -> Duration {
        match rules.fault {
            Some(Fault::TheReadersTtlCounts) => rules.asker.unwrap_or(self.ttl),
            Some(Fault::ExpiresTooEarly) => self.ttl / 2,
            Some(Fault::NothingExpires) => Duration::MAX,
            Some(Fault::LongTtlsWrap) => {
                let ms = u64::try_from(self.ttl.as_millis()).unwrap();
                Duration::from_millis(ms & u64::from(u32::MAX >> 1) & 0xFFF_FFFF)
            }
            Some(Fault::TtlsAreWholeSeconds) => Duration::from_secs(self.ttl.as_secs()),
            Some(Fault::WritersNeverExpire) if self.claim.mode == Mode::Writer => Duration::MAX,
            _ => self.ttl,
        }
    }

    pub(crate) fn is_stale(&self, rules: &Rules) -> bool {
        let age = rules.now.since(self.at);
        self.unreadable(rules).is_none() && age >= self.judged_ttl(rules)
    }

    /// Whether it may be removed on that evidence.
    pub(crate) fn is_condemned(&self, target: &Target, judged: Judged, rules: &Rules) -> bool {
        if rules.break_at(Fault::EvictsTheLiving) && self.claim.nonce == target.nonce {
            return true;
        }
        let same = self.claim.nonce == target.nonce || rules.break_at(Fault::EvictsByPlace);
        same && match judged {
            Judged::ByStore => rules.manner != Manner::Observes && self.is_stale(rules),
            _ if rules.break_at(Fault::EvictsAnyRevision) => true,
            _ => self.revision(rules) == target.revision,
        }
    }

    fn record(&self, rules: &Rules) -> Record {
        let (age, unreadable) = (rules.now.since(self.at), self.unreadable(rules));
        let observes = rules.manner == Manner::Observes;
        let granted = self.granted.is_some()
            || self.claim.mode == Mode::Writer
            || rules.break_at(Fault::DrainsAreShownAsGrants);
        Record {
            nonce: self.claim.nonce,
            mode: self.claim.mode,
            state: if granted { State::Granted } else { State::Draining },
            revision: self.revision(rules),
            ttl: self.ttl,
            age: (!observes).then_some(age),
            freshness: match (observes || unreadable.is_some(), self.is_stale(rules)) {
                (true, _) => Freshness::Unknown,
                (false, true) => Freshness::Stale,
                (false, false) => {
                    Freshness::Fresh { left: self.judged_ttl(rules).saturating_sub(age) }
                }
            },
            info: match unreadable {
                Some(_) => HolderInfo::default(),
                None => HolderInfo::clone(&self.claim.info),
            },
            unreadable,
        }
    }
}
