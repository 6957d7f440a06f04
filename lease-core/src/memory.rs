//! The reference store: leases within one process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;

use crate::backend::{
    Backend, Broken, Committed, Confirmed, Evicted, Installed, Registered, Renewed, Watch,
    Withdrawn,
};
use crate::clock::{Clock, Moment, SystemClock};
use crate::record::{BreakNote, Claim, Holding, Judged, Revision, Snapshot, Target, Unreadable};
use crate::{Capabilities, Error, HolderInfo, LossReason, Name, Nonce, Result};

mod entry;

use entry::{Entry, Kept};

/// A store within this process: the reference that the others are measured by, and a test double.
///
/// Clones are one store. Its clock is the machine's unless it is given another, so that a test lets
/// a lease expire without waiting:
///
/// ```
/// use std::sync::Arc;
/// use lease_core::clock::ManualClock;
/// use lease_core::memory::Memory;
///
/// let clock = ManualClock::new();
/// let store = Memory::with_clock(Arc::new(clock.clone()));
/// ```
#[derive(Clone, Debug)]
pub struct Memory {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    entries: BTreeMap<Name, Entry>,
    /// No name of this store was granted an epoch above this, also not one that was erased since.
    highest: u64,
}

impl Memory {
    /// The name by which this backend goes in logs and errors.
    pub const KIND: &'static str = "memory";

    /// An empty store on the machine's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// An empty store on this clock.
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Arc::default() }
    }

    /// Forgets all of `name`, as if somebody had deleted it by hand.
    pub fn erase(&self, name: &Name) {
        self.lock().entries.remove(name);
    }

    /// Makes the record of `nonce` unreadable, as if somebody else had written it.
    pub fn garble(&self, name: &Name, nonce: Nonce, how: Unreadable) {
        if let Some(entry) = self.lock().entries.get_mut(name)
            && let Some(kept) = entry.kept_mut(nonce)
        {
            kept.unreadable = Some(how);
        }
    }

    /// How many records of `name` there are, expired ones included.
    #[must_use]
    pub fn records(&self, name: &Name) -> usize {
        let state = self.lock();
        state.entries.get(name).map_or(0, |e| e.writers.len() + usize::from(e.exclusive.is_some()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is one assignment, so a panic elsewhere leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one atomic step on `name` and tells its watchers if it changed something.
    fn step<T>(&self, name: &Name, step: impl FnOnce(&mut Entry, Moment) -> Step<T>) -> T {
        let now = self.clock.now();
        let mut state = self.lock();
        let start = u64::try_from(now.since_origin().as_micros()).unwrap_or(0);
        let floor = state.highest.max(start);
        let entry = state.entries.entry(name.clone()).or_insert_with(|| Entry::starting_at(floor));
        let Step { answer, changed } = step(entry, now);
        let epoch = entry.epoch;
        if changed {
            entry.changes.send_modify(|count| *count += 1);
        }
        state.highest = state.highest.max(epoch);
        answer
    }

    /// The same for one's own record; lost if it, or all of the name, is gone.
    fn own<T>(
        &self,
        mine: &Holding,
        gone: impl FnOnce(LossReason) -> T,
        step: impl FnOnce(&mut Entry, Moment) -> Step<T>,
    ) -> T {
        if !self.lock().entries.contains_key(&mine.name) {
            return gone(LossReason::StateGone);
        }
        self.step(&mine.name, |entry, now| {
            match entry.kept_mut(mine.nonce) {
                None => Step::same(gone(LossReason::Displaced)),
                // Whoever knows of no write since then is the process that it was taken from.
                Some(kept) if kept.adopted_from >= Some(mine.acknowledged) => {
                    Step::same(gone(LossReason::HandedOver))
                }
                Some(_) => step(entry, now),
            }
        })
    }

    fn renew_one(&self, mine: &Holding) -> Renewed {
        self.own(mine, Renewed::Lost, |entry, now| {
            let drain = entry.drains(mine);
            // `own` has seen it under the same lock.
            let Some(kept) = entry.kept_mut(mine.nonce) else {
                return Step::same(Renewed::Lost(LossReason::Displaced));
            };
            if kept.beat == mine.beat {
                // The same write again: it counts once, from when it was first applied.
                return Step::same(Renewed::Renewed { revision: kept.revision(), drain });
            }
            // R2, R8: only over one's own last acknowledged write or an unanswered one since.
            if kept.beat < mine.acknowledged || kept.beat > mine.beat {
                return Step::same(Renewed::Lost(LossReason::Displaced));
            }
            kept.renewed(mine, now);
            // A renewal is no news to a waiter.
            Step::same(Renewed::Renewed { revision: kept.revision(), drain })
        })
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// The answer of one atomic step, and whether watchers are to look.
struct Step<T> {
    answer: T,
    changed: bool,
}

impl<T> Step<T> {
    const fn same(answer: T) -> Self {
        Self { answer, changed: false }
    }

    const fn changed(answer: T) -> Self {
        Self { answer, changed: true }
    }
}

#[async_trait]
impl Backend for Memory {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::reference()
    }

    async fn observe(&self, name: &Name) -> Result<Snapshot> {
        let now = self.clock.now();
        let state = self.lock();
        Ok(state.entries.get(name).map_or_else(Entry::nothing, |entry| entry.snapshot(now)))
    }

    async fn inspect(&self, name: &Name) -> Result<Snapshot> {
        self.observe(name).await
    }

    async fn register(&self, claim: &Claim) -> Result<Registered> {
        Ok(self.step(&claim.name, |entry, now| {
            // R19: what was removed stays removed, however late its registration comes again.
            if entry.is_spent(claim.nonce, now) {
                return Step::same(Registered::Void);
            }
            if let Some(kept) = entry.writers.get(&claim.nonce) {
                return Step::same(Registered::Here(kept.revision()));
            }
            let kept = entry.writers.entry(claim.nonce).or_insert(Kept::new(claim, now));
            Step::changed(Registered::Here(kept.revision()))
        }))
    }

    async fn install(
        &self,
        claim: &Claim,
        _seen: &Snapshot,
        over: Option<(&Target, Judged)>,
    ) -> Result<Installed> {
        Ok(self.step(&claim.name, |entry, now| {
            if entry.is_spent(claim.nonce, now) {
                return Step::same(Installed::Refused);
            }
            if let Some(there) = &entry.exclusive {
                if there.claim.nonce == claim.nonce {
                    return Step::same(Installed::Here(there.revision()));
                }
                // R12: a takeover is a compare-and-swap on the record that was judged.
                let judged = over.is_some_and(|(t, judged)| there.is_condemned_by(t, judged, now));
                if !judged {
                    return Step::same(Installed::Refused);
                }
                entry.remove(there.claim.nonce, now);
            }
            let kept = entry.exclusive.insert(Kept::new(claim, now));
            Step::changed(Installed::Here(kept.revision()))
        }))
    }

    async fn commit(&self, mine: &Holding) -> Result<Committed> {
        Ok(self.own(
            mine,
            |_| Committed::Lost,
            |entry, _| {
                let epoch = entry.next_epoch();
                let Some(kept) = entry.exclusive.as_mut().filter(|x| x.claim.nonce == mine.nonce)
                else {
                    return Step::same(Committed::Lost);
                };
                if let Some(epoch) = kept.granted {
                    return Step::same(Committed::Granted { epoch, revision: kept.revision() });
                }
                // R20: the epoch rises here and nowhere earlier.
                let Some(epoch) = epoch else { return Step::same(Committed::Lost) };
                kept.granted = Some(epoch);
                let revision = kept.revision();
                entry.epoch = epoch.get();
                Step::changed(Committed::Granted { epoch, revision })
            },
        ))
    }

    async fn renew(&self, mine: &[Holding]) -> Vec<Result<Renewed>> {
        mine.iter().map(|one| Ok(self.renew_one(one))).collect()
    }

    async fn confirm(&self, mine: &Holding) -> Result<Confirmed> {
        Ok(self.own(mine, Confirmed::Lost, |entry, _| {
            Step::same(Confirmed::Held { drain: entry.drains(mine) })
        }))
    }

    async fn withdraw(&self, mine: &Holding) -> Result<Withdrawn> {
        Ok(self.step(&mine.name, |entry, now| match entry.remove(mine.nonce, now) {
            Some(_) => Step::changed(Withdrawn::Removed),
            None => {
                // A registration of ours that still comes must find its nonce spent.
                entry.spend(mine.nonce, mine.ttl, now);
                Step::same(Withdrawn::NotThere)
            }
        }))
    }

    async fn evict(&self, name: &Name, target: &Target, judged: Judged) -> Result<Evicted> {
        Ok(self.step(name, |entry, now| {
            let there = entry.kept_mut(target.nonce).map(|kept| &*kept);
            if !there.is_some_and(|kept| kept.is_condemned_by(target, judged, now)) {
                return Step::same(Evicted::Kept);
            }
            entry.remove(target.nonce, now);
            Step::changed(Evicted::Condemned)
        }))
    }

    async fn break_record(&self, name: &Name, nonce: Nonce, note: &BreakNote) -> Result<Broken> {
        Ok(self.step(name, |entry, now| {
            let Some(removed) = entry.remove(nonce, now) else {
                return Step::same(Broken::NotThere);
            };
            // Only a granted exclusive is fenced: writers share their epoch with valid ones, and
            // one that still drained never held.
            if removed.granted.is_some()
                && let Some(next) = entry.next_epoch()
            {
                entry.epoch = next.get();
            }
            entry.last_break = Some(note.clone());
            Step::changed(Broken::Broken { epoch: entry.shown_epoch() })
        }))
    }

    async fn last_break(&self, name: &Name) -> Result<Option<BreakNote>> {
        Ok(self.lock().entries.get(name).and_then(|entry| entry.last_break.clone()))
    }

    async fn adopt(&self, mine: &Holding, info: &HolderInfo) -> Result<Renewed> {
        Ok(self.own(mine, Renewed::Lost, |entry, now| {
            let drain = entry.drains(mine);
            let there = entry.kept_mut(mine.nonce).filter(|kept| kept.beat == mine.acknowledged);
            let Some(kept) = there else {
                return Step::same(Renewed::Lost(LossReason::HandedOver));
            };
            kept.claim.info = Arc::new(info.clone());
            kept.adopted_from = Some(kept.beat);
            kept.renewed(mine, now);
            Step::changed(Renewed::Renewed { revision: kept.revision(), drain })
        }))
    }

    async fn names(&self) -> Result<Vec<Name>> {
        Ok(self.lock().entries.keys().cloned().collect())
    }

    async fn watch(&self, name: &Name) -> Result<Box<dyn Watch>> {
        let changes = self.step(name, |entry, _| Step::same(entry.changes.subscribe()));
        Ok(Box::new(Changes(changes)))
    }
}

#[derive(Debug)]
struct Changes(watch::Receiver<u64>);

#[async_trait]
impl Watch for Changes {
    async fn changed(&mut self) -> Result<()> {
        // The sender goes with the entry, which only `erase` removes.
        self.0.changed().await.map_err(|gone| Error::unreached(Memory::KIND, gone))
    }
}

/// How many ttls a spent nonce is remembered, so that its late requests find it spent.
const REMEMBERED_TTLS: u32 = 4;

/// The shortest time that a spent nonce is remembered.
const REMEMBERED_AT_LEAST: Duration = Duration::from_secs(60);

fn forgotten_at(now: Moment, ttl: Duration) -> Moment {
    now.plus(ttl.saturating_mul(REMEMBERED_TTLS).max(REMEMBERED_AT_LEAST))
}

impl Kept {
    fn revision(&self) -> Revision {
        Revision::new(format!("{}.{}", self.beat, u8::from(self.granted.is_some())))
    }
}
