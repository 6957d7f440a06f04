//! A small second store, written apart from the reference, with a switch for each rule.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lease_core::clock::ManualClock;
use lease_core::{Clock, Error, Moment, Name, Nonce, Result, Snapshot};
use tokio::sync::watch;

use crate::mutants::Fault;

mod backend;
mod entry;
mod handshake;
mod steps;

pub(crate) use entry::{Entry, Kept};

/// How a store may lawfully differ from the reference. Each of these passes the whole suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As the reference does it.
    Plain,
    /// What is evicted ends a little later, and a takeover must ask again.
    Condemns,
    /// It judges no ages: whoever looks must watch whether a record stands still.
    Observes,
    /// A holder that is late has lost, also where nobody followed it.
    Strict,
    /// No push, one renewal at a time, and epochs that go with the state.
    Modest,
}

/// What a client may do at the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    All,
    ReadOnly,
    Nothing,
}

/// One client of a toy store.
#[derive(Debug)]
pub(crate) struct Toy {
    pub(crate) store: Arc<Store>,
    pub(crate) number: u32,
    pub(crate) reach: Reach,
    memory: Mutex<Memory>,
}

/// The store itself.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) clock: ManualClock,
    pub(crate) fault: Option<Fault>,
    pub(crate) manner: Manner,
    pub(crate) entries: Mutex<BTreeMap<String, Entry>>,
    pub(crate) changes: watch::Sender<u64>,
}

/// What a client remembers between two calls: a good one nothing at all.
#[derive(Debug, Default)]
struct Memory {
    seen: HashMap<Name, Snapshot>,
    confirmed: Vec<Nonce>,
    epochs: HashMap<Name, u64>,
    ttl: Option<Duration>,
    busy: bool,
}

/// What a step goes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) now: Moment,
    pub(crate) fault: Option<Fault>,
    pub(crate) manner: Manner,
    /// The ttl that this client last asked for.
    pub(crate) asker: Option<Duration>,
}

impl Rules {
    pub(crate) fn break_at(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }
}

impl Store {
    pub(crate) fn new(fault: Option<Fault>, manner: Manner) -> Arc<Self> {
        Arc::new(Self {
            clock: ManualClock::new(),
            fault,
            manner,
            entries: Mutex::default(),
            changes: watch::Sender::new(0),
        })
    }

    pub(crate) fn client(self: &Arc<Self>, number: u32, reach: Reach) -> Arc<Toy> {
        Arc::new(Toy { store: Arc::clone(self), number, reach, memory: Mutex::default() })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn breaks(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Where a name is kept.
    pub(crate) fn key(&self, name: &Name) -> String {
        let text = name.as_str();
        match self.fault {
            Some(Fault::NamesFoldCase) => text.to_lowercase(),
            Some(Fault::NamesAreCut) => text.chars().take(255).collect(),
            Some(Fault::NamesLoseTheirSlashes) => text.replace('/', "_"),
            Some(Fault::NamesAreTrimmed) => text.trim().to_owned(),
            _ => text.to_owned(),
        }
    }

    /// The epoch of a name that nobody used: the clock in microseconds, so that it never was
    /// before.
    pub(crate) fn floor(&self) -> u64 {
        if self.manner == Manner::Modest || self.breaks(Fault::EpochGoesWithTheState) {
            return 0;
        }
        u64::try_from(self.clock.now().since_origin().as_micros()).unwrap()
    }
}

impl Toy {
    /// A request on its way: it may be dropped here, and others may come first.
    async fn arrives(&self, writes: bool) -> Result<()> {
        if self.store.breaks(Fault::ADroppedCallJamsTheClient) {
            let jammed = std::mem::replace(&mut self.memory().busy, true);
            if jammed {
                return Err(Error::unreached("toy", "another call is on its way"));
            }
        }
        tokio::task::yield_now().await;
        self.memory().busy = false;
        match self.reach {
            Reach::All => Ok(()),
            Reach::ReadOnly if !writes => Ok(()),
            Reach::ReadOnly if self.store.breaks(Fault::RightsAreRetried) => {
                Err(Error::unreached("toy", "no right to write"))
            }
            Reach::ReadOnly => Err(Error::misconfigured("no right to write", "grant it")),
            Reach::Nothing => Err(Error::unreached("toy", "the network is down")),
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn breaks(&self, fault: Fault) -> bool {
        self.store.breaks(fault)
    }

    fn rules(&self) -> Rules {
        let store = &self.store;
        let skew = match store.fault {
            Some(Fault::ClientClocksJudge) => Duration::from_secs(3600) * self.number,
            _ => Duration::ZERO,
        };
        let asker = self.memory().ttl;
        Rules { now: store.clock.now().plus(skew), fault: store.fault, manner: store.manner, asker }
    }

    /// One atomic step on `name`, which it makes known.
    fn step<T>(&self, name: &Name, step: impl FnOnce(&mut Entry, &Rules) -> T) -> T {
        let rules = self.rules();
        let (key, floor) = (self.store.key(name), self.store.floor());
        let mut entries = self.store.lock();
        let entry = entries.entry(key).or_insert_with(|| Entry::new(name, floor, rules.now));
        let before = entry.written;
        entry.sweep(&rules, floor);
        let answer = step(entry, &rules);
        let changed = entry.written != before;
        drop(entries);
        if changed && !self.breaks(Fault::WatchesNeverWake) {
            self.store.changes.send_modify(|count| *count += 1);
        }
        answer
    }

    /// The same on a name that may be unknown, and stays so.
    fn look<T>(&self, name: &Name, look: impl FnOnce(&mut Entry, &Rules) -> T) -> Option<T> {
        let known = self.store.lock().contains_key(&self.store.key(name));
        known.then(|| self.step(name, look))
    }
}
