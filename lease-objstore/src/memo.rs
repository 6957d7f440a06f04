//! What one client remembers. None of it decides anything alone: it saves requests.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lease_core::{HolderInfo, LossReason, Moment, Name, Nonce, Unreadable};
use object_store::path::Path;

use crate::body::Body;
use crate::judge::Now;
use crate::listing::Seen;
use crate::revision::Genesis;
use crate::time::StoreTime;

/// How many of each kind are remembered.
const MANY: usize = 4096;

/// How much two clocks may drift apart, as the part of the time that passed: one in a hundred.
pub(crate) const DRIFT: u32 = 100;

/// What a claim's file was last known to hold.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// At which write of it.
    pub(crate) stamp: String,
    pub(crate) body: Arc<Result<Body, Unreadable>>,
    /// When this client wrote it, if it did.
    wrote: Option<Wrote>,
}

impl Known {
    pub(crate) const fn new(stamp: String, body: Arc<Result<Body, Unreadable>>) -> Self {
        Self { stamp, body, wrote: None }
    }
}

/// A write of one's own, on one's own clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wrote {
    pub(crate) sent: Moment,
    pub(crate) acknowledged: Moment,
}

/// The store's clock at a write of one's own.
#[derive(Clone, Copy, Debug)]
struct Sample {
    shown: StoreTime,
    wrote: Wrote,
}

/// One of this client's own claims.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    /// The number of an exclusive's claim, from before the request that creates it.
    pub(crate) n: Option<u64>,
    /// Whether its creation was acknowledged. Until then the number may be another's.
    pub(crate) created: bool,
    /// The highest beat that was acknowledged.
    pub(crate) beat: u64,
    pub(crate) info: Arc<HolderInfo>,
}

/// What one client remembers.
#[derive(Debug, Default)]
pub(crate) struct Memo(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    bodies: Bounded<Path, Known>,
    genesis: Bounded<Name, Genesis>,
    own: Bounded<Nonce, Own>,
    spent: Bounded<Nonce, LossReason>,
    strays: Bounded<Name, ()>,
    swept: Bounded<Name, Moment>,
    left: Bounded<Name, Left>,
    sample: Option<Sample>,
}

/// A name as this client left it when it released a claim: nobody held.
#[derive(Clone, Debug)]
pub(crate) struct Left {
    pub(crate) genesis: Genesis,
    /// The number of the claim.
    pub(crate) n: u64,
    pub(crate) at: Moment,
}

impl Memo {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Each change is one insertion or removal, so a panic elsewhere leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn body(&self, path: &Path) -> Option<Known> {
        self.lock().bodies.get(path).cloned()
    }

    /// Whether this client wrote this file at most `age` ago.
    pub(crate) fn wrote_within(&self, path: &Path, here: Moment, age: Duration) -> bool {
        let wrote = self.lock().bodies.get(path).and_then(|known| known.wrote);
        wrote.is_some_and(|wrote| here.since(wrote.sent) <= age)
    }

    pub(crate) fn learn(&self, path: Path, stamp: String, body: Arc<Result<Body, Unreadable>>) {
        self.lock().bodies.insert(path, Known::new(stamp, body));
    }

    /// Remembers a write of one's own; the listing that shows it tells the store's time.
    pub(crate) fn wrote(&self, path: Path, stamp: String, body: Body, wrote: Wrote) {
        let known = Known { stamp, body: Arc::new(Ok(body)), wrote: Some(wrote) };
        self.lock().bodies.insert(path, known);
    }

    /// Learns the store's time from the writes of one's own among `shown`.
    pub(crate) fn look_for_own<'s>(&self, shown: impl Iterator<Item = (Path, &'s Seen)>) {
        let mut inner = self.lock();
        for (path, seen) in shown {
            let wrote = match inner.bodies.get(&path) {
                Some(known) if known.stamp == seen.stamp => known.wrote,
                _ => None,
            };
            if let Some(wrote) = wrote {
                inner.sample(seen.modified, wrote);
            }
        }
    }

    /// Learns the store's time from a write of one's own.
    pub(crate) fn sample(&self, shown: StoreTime, wrote: Wrote) {
        self.lock().sample(shown, wrote);
    }

    /// The store's time by the last sample, if that is at most `age` old.
    pub(crate) fn now(&self, here: Moment, age: Duration) -> Option<Now> {
        let sample = self.lock().sample?;
        let least = here.since(sample.wrote.acknowledged);
        let most = here.since(sample.wrote.sent);
        (least <= age).then(|| Now {
            from: sample.shown.plus(least - least / DRIFT),
            to: sample.shown.plus(most.saturating_add(most / DRIFT)),
        })
    }

    pub(crate) fn genesis(&self, name: &Name) -> Option<Genesis> {
        self.lock().genesis.get(name).cloned()
    }

    pub(crate) fn set_genesis(&self, name: &Name, genesis: Option<Genesis>) {
        let mut inner = self.lock();
        match genesis {
            Some(genesis) => inner.genesis.insert(name.clone(), genesis),
            None => inner.genesis.remove(name),
        }
    }

    pub(crate) fn own(&self, nonce: Nonce) -> Option<Own> {
        self.lock().own.get(&nonce).cloned()
    }

    pub(crate) fn set_own(&self, nonce: Nonce, own: Own) {
        self.lock().own.insert(nonce, own);
    }

    pub(crate) fn forget(&self, nonce: Nonce) {
        self.lock().own.remove(&nonce);
    }

    /// Remembers that the write with this beat was acknowledged.
    pub(crate) fn acknowledge(&self, nonce: Nonce, beat: u64) {
        if let Some(own) = self.lock().own.get_mut(&nonce) {
            own.beat = own.beat.max(beat);
            own.created = true;
        }
    }

    /// How this client lost or gave up a claim. It never comes back (rule R19).
    pub(crate) fn spent(&self, nonce: Nonce) -> Option<LossReason> {
        self.lock().spent.get(&nonce).copied()
    }

    pub(crate) fn spend(&self, nonce: Nonce, how: LossReason) {
        let mut inner = self.lock();
        if inner.spent.get(&nonce).is_none() {
            inner.spent.insert(nonce, how);
        }
    }

    pub(crate) fn set_left(&self, name: &Name, left: Left) {
        self.lock().left.insert(name.clone(), left);
    }

    /// Somebody has been there since.
    pub(crate) fn forget_left(&self, name: &Name) {
        self.lock().left.remove(name);
    }

    /// How this client left a name, if that is at most `age` ago and was not asked before.
    pub(crate) fn take_left(&self, name: &Name, here: Moment, age: Duration) -> Option<Left> {
        let mut inner = self.lock();
        let left = inner.left.get(name).cloned()?;
        inner.left.remove(name);
        (here.since(left.at) <= age).then_some(left)
    }

    /// A claim that was given away and is taken back by a ticket of its own.
    pub(crate) fn revive(&self, nonce: Nonce) {
        self.lock().spent.remove(&nonce);
    }

    /// Whether strays of this name are told for the first time.
    pub(crate) fn is_news(&self, name: &Name) -> bool {
        let mut inner = self.lock();
        let news = inner.strays.get(name).is_none();
        if news {
            inner.strays.insert(name.clone(), ());
        }
        news
    }

    /// Whether the staging files of this name were not looked at for as long as `every`.
    pub(crate) fn is_due(&self, name: &Name, here: Moment, every: Duration) -> bool {
        let mut inner = self.lock();
        let due = inner.swept.get(name).is_none_or(|last| here.since(*last) >= every);
        if due {
            inner.swept.insert(name.clone(), here);
        }
        due
    }
}

impl Inner {
    fn sample(&mut self, shown: StoreTime, wrote: Wrote) {
        let newer = self.sample.is_none_or(|old| old.wrote.acknowledged <= wrote.acknowledged);
        if newer {
            self.sample = Some(Sample { shown, wrote });
        }
    }
}

/// A map that forgets what was put in first once it has [`MANY`] entries.
#[derive(Debug)]
struct Bounded<K, V> {
    map: HashMap<K, (u64, V)>,
    /// What was put in, and as the how manieth. What was removed since, or put in again, stands there
    /// still.
    order: VecDeque<(u64, K)>,
    puts: u64,
}

impl<K, V> Default for Bounded<K, V> {
    fn default() -> Self {
        Self { map: HashMap::new(), order: VecDeque::new(), puts: 0 }
    }
}

impl<K: Clone + Eq + Hash, V> Bounded<K, V> {
    fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key).map(|(_, value)| value)
    }

    fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.map.get_mut(key).map(|(_, value)| value)
    }

    fn insert(&mut self, key: K, value: V) {
        if let Some(there) = self.get_mut(&key) {
            *there = value;
            return;
        }
        self.puts += 1;
        self.map.insert(key.clone(), (self.puts, value));
        self.order.push_back((self.puts, key));
        while self.order.len() > MANY {
            if let Some((put, oldest)) = self.order.pop_front()
                && self.map.get(&oldest).is_some_and(|(there, _)| *there == put)
            {
                self.map.remove(&oldest);
            }
        }
    }

    fn remove(&mut self, key: &K) {
        self.map.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u32) -> Moment {
        Moment::after_origin(SECOND * seconds)
    }

    #[test]
    fn the_stores_time_is_known_within_the_drift() {
        let memo = Memo::default();
        assert_eq!(memo.now(at(100), SECOND * 1000), None);

        let shown = StoreTime::since_1970(SECOND * 5000);
        memo.sample(shown, Wrote { sent: at(99), acknowledged: at(100) });
        let now = memo.now(at(200), SECOND * 1000).unwrap();
        assert_eq!(now.from, shown.plus(SECOND * 99));
        assert_eq!(now.to, shown.plus(SECOND * 102 + Duration::from_millis(10)));
        assert_eq!(memo.now(at(200), SECOND * 99), None);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut map = Bounded::default();
        for i in 0..3 * MANY {
            map.insert(i, i);
        }
        assert_eq!(map.map.len(), MANY);
        assert_eq!(map.get(&0), None);
        assert_eq!(map.get(&(3 * MANY - 1)), Some(&(3 * MANY - 1)));
    }

    /// A name that is released and taken for years.
    #[test]
    fn what_is_removed_and_put_in_again_is_there() {
        let mut map = Bounded::default();
        for i in 0..3 * MANY {
            map.insert("payroll", i);
            assert_eq!(map.get(&"payroll"), Some(&i));
            map.remove(&"payroll");
        }
        assert!(map.order.len() <= MANY);
    }
}
