//! What a client remembers, so that it need not ask: it decides nothing that the server does not
//! decide again.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lease_core::{Moment, Name, Nonce};

use crate::record::{Anchor, Spoilt, Writer};

/// More than this of one kind and it starts again from nothing: what is missing is read.
const MOST: usize = 1 << 16;

/// A name's anchor as it was last seen or written.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The last write of its key; zero for none.
    pub(crate) seq: u64,
    /// When that was stored, by the server's clock in nanoseconds, where it was read.
    pub(crate) at: Option<u64>,
    pub(crate) content: Content,
}

/// What stands in an anchor's key.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Nothing, or the mark of somebody's deletion.
    Nothing,
    Anchor(Anchor),
    Spoilt(Spoilt),
}

/// One's own writer's record, and which write it is.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) seq: u64,
    pub(crate) writer: Writer,
}

/// What the server's clock showed, and when that answer came.
#[derive(Clone, Copy, Debug)]
struct Sample {
    server: u64,
    came: Moment,
}

/// What a client remembers of its bucket.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    anchors: Mutex<HashMap<Name, Place>>,
    writers: Mutex<HashMap<Nonce, Written>>,
    /// Writes that were stale when a later write of one's own was stored.
    stale: Mutex<HashSet<(Nonce, u64)>>,
    sample: Mutex<Option<Sample>>,
}

impl Memo {
    pub(crate) fn anchor(&self, name: &Name) -> Option<Place> {
        lock(&self.anchors).get(name).cloned()
    }

    pub(crate) fn set_anchor(&self, name: &Name, place: Place) {
        insert(&self.anchors, name.clone(), place);
    }

    pub(crate) fn writer(&self, nonce: Nonce) -> Option<Written> {
        lock(&self.writers).get(&nonce).cloned()
    }

    pub(crate) fn set_writer(&self, written: Written) {
        insert(&self.writers, written.writer.holder.nonce, written);
    }

    pub(crate) fn forget_writer(&self, nonce: Nonce) {
        lock(&self.writers).remove(&nonce);
    }

    /// Remembers that this write is stale. It stays so: a renewal is another write.
    pub(crate) fn set_stale(&self, nonce: Nonce, seq: u64) {
        let mut stale = lock(&self.stale);
        if stale.len() >= MOST {
            stale.clear();
        }
        stale.insert((nonce, seq));
    }

    pub(crate) fn is_stale(&self, nonce: Nonce, seq: u64) -> bool {
        lock(&self.stale).contains(&(nonce, seq))
    }

    /// Takes in what the server's clock showed in an answer that came at `came`.
    pub(crate) fn sample(&self, server: u64, came: Moment) {
        *lock(&self.sample) = Some(Sample { server, came });
    }

    /// What the server's clock shows at the least, and how old the answer is that this rests on.
    pub(crate) fn server_time(&self, now: Moment) -> Option<(u64, Duration)> {
        let sample = (*lock(&self.sample))?;
        let since = now.since(sample.came);
        let nanos = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        Some((sample.server.saturating_add(nanos), since))
    }
}

fn insert<K: Eq + Hash, V>(map: &Mutex<HashMap<K, V>>, key: K, value: V) {
    let mut map = lock(map);
    if map.len() >= MOST && !map.contains_key(&key) {
        map.clear();
    }
    map.insert(key, value);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is one call on the collection, so a panic elsewhere leaves it whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
