//! What the memory store keeps of one name.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::sync::watch;

use super::forgotten_at;
use crate::clock::Moment;
use crate::record::{
    BreakNote, Claim, Freshness, Holding, Judged, Record, Revision, Snapshot, State, Target,
    Unreadable,
};
use crate::{Epoch, Mode, Nonce};

/// What is kept of one name. It stays when nobody holds: the epoch must outlive that.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) epoch: u64,
    pub(super) exclusive: Option<Kept>,
    pub(super) writers: BTreeMap<Nonce, Kept>,
    pub(super) last_break: Option<BreakNote>,
    pub(super) changes: watch::Sender<u64>,
    /// Nonces that were removed, and when they may be forgotten.
    spent: HashMap<Nonce, Moment>,
    /// How many of those there may be before the forgotten ones are dropped.
    spent_limit: usize,
}

/// One record.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) claim: Claim,
    pub(super) ttl: Duration,
    pub(super) beat: u64,
    pub(super) renewed_at: Moment,
    /// The epoch that it was granted, if it is an exclusive and was.
    pub(super) granted: Option<Epoch>,
    pub(super) unreadable: Option<Unreadable>,
    /// The last beat that was adopted by another process.
    pub(super) adopted_from: Option<u64>,
}

impl Entry {
    /// How many spent nonces there may be at the least before forgotten ones are looked for.
    const SPENT_AT_LEAST: usize = 64;

    pub(super) fn starting_at(epoch: u64) -> Self {
        Self {
            epoch,
            exclusive: None,
            writers: BTreeMap::new(),
            last_break: None,
            changes: watch::Sender::new(0),
            spent: HashMap::new(),
            spent_limit: Self::SPENT_AT_LEAST,
        }
    }

    /// The snapshot of a name that was never used.
    pub(super) fn nothing() -> Snapshot {
        Snapshot {
            epoch: Epoch::default(),
            anchor: Revision::new("never used"),
            exclusive: None,
            writers: Vec::new(),
        }
    }

    pub(super) fn snapshot(&self, now: Moment) -> Snapshot {
        Snapshot {
            epoch: self.shown_epoch(),
            anchor: Revision::new(self.changes.borrow().to_string()),
            exclusive: self.exclusive.as_ref().map(|kept| kept.record(now)),
            writers: self.writers.values().map(|kept| kept.record(now)).collect(),
        }
    }

    pub(super) fn shown_epoch(&self) -> Epoch {
        Epoch::new(self.epoch).unwrap_or(Epoch::MAX)
    }

    pub(super) fn next_epoch(&self) -> Option<Epoch> {
        self.shown_epoch().next()
    }

    pub(super) fn kept_mut(&mut self, nonce: Nonce) -> Option<&mut Kept> {
        let exclusive = self.exclusive.as_mut().filter(|kept| kept.claim.nonce == nonce);
        exclusive.or_else(|| self.writers.get_mut(&nonce))
    }

    /// Whether an exclusive waits for this writer.
    pub(super) fn drains(&self, mine: &Holding) -> bool {
        mine.mode == Mode::Writer && self.exclusive.is_some()
    }

    /// Removes a record, by nonce, and spends the nonce.
    pub(super) fn remove(&mut self, nonce: Nonce, now: Moment) -> Option<Kept> {
        let exclusive = self.exclusive.take_if(|kept| kept.claim.nonce == nonce);
        let removed = exclusive.or_else(|| self.writers.remove(&nonce))?;
        self.spend(nonce, removed.ttl, now);
        Some(removed)
    }

    pub(super) fn spend(&mut self, nonce: Nonce, ttl: Duration, now: Moment) {
        if self.spent.len() >= self.spent_limit {
            self.spent.retain(|_, forgotten| *forgotten > now);
            // Each sweep is paid for by as many insertions as it left behind.
            self.spent_limit = (self.spent.len() * 2).max(Self::SPENT_AT_LEAST);
        }
        self.spent.insert(nonce, forgotten_at(now, ttl));
    }

    pub(super) fn is_spent(&self, nonce: Nonce, now: Moment) -> bool {
        self.spent.get(&nonce).is_some_and(|forgotten| *forgotten > now)
    }
}

impl Kept {
    pub(super) fn new(claim: &Claim, now: Moment) -> Self {
        Self {
            claim: claim.clone(),
            ttl: claim.ttl,
            beat: 0,
            renewed_at: now,
            granted: None,
            unreadable: None,
            adopted_from: None,
        }
    }

    pub(super) fn renewed(&mut self, mine: &Holding, now: Moment) {
        self.beat = mine.beat;
        self.ttl = mine.ttl;
        self.renewed_at = now;
    }

    /// R9: whether it may be removed at this step, on that evidence.
    pub(super) fn is_condemned_by(&self, target: &Target, judged: Judged, now: Moment) -> bool {
        self.claim.nonce == target.nonce
            && match judged {
                Judged::ByStore => self.is_stale(now),
                Judged::Observed | Judged::DeadProcess => self.revision() == target.revision,
            }
    }

    fn is_stale(&self, now: Moment) -> bool {
        self.unreadable.is_none() && now.since(self.renewed_at) >= self.ttl
    }

    fn record(&self, now: Moment) -> Record {
        let age = now.since(self.renewed_at);
        Record {
            nonce: self.claim.nonce,
            mode: self.claim.mode,
            state: match (self.claim.mode, self.granted) {
                (Mode::Exclusive, None) => State::Draining,
                _ => State::Granted,
            },
            revision: self.revision(),
            ttl: self.ttl,
            age: Some(age),
            freshness: match &self.unreadable {
                Some(_) => Freshness::Unknown,
                None if self.is_stale(now) => Freshness::Stale,
                None => Freshness::Fresh { left: self.ttl.saturating_sub(age) },
            },
            info: match self.unreadable {
                Some(_) => crate::HolderInfo::default(),
                None => self.claim.info.as_ref().clone(),
            },
            unreadable: self.unreadable.clone(),
        }
    }
}
