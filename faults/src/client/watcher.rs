//! Asks every lease that is held whether it is, all the time, and tells what it heard.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leasehold::{Lease, Nonce};

use crate::event::{What, Who};
use crate::history::{Recorder, now};

/// Between two looks at all leases: short beside any margin.
const BETWEEN: Duration = Duration::from_millis(5);
/// How often a belief that goes on is told, so that it is known of who is killed: in nanoseconds.
const TOLD_EVERY: u64 = 200_000_000;

/// Watches the leases of this process.
#[derive(Clone, Debug)]
pub(super) struct Watcher {
    who: Who,
    recorder: Recorder,
    watched: Arc<Mutex<Vec<Watched>>>,
}

#[derive(Debug)]
struct Watched {
    lease: Arc<Lease>,
    /// After the first answer that it is held.
    from: Option<u64>,
    /// Before the question of the last one.
    to: u64,
    told: u64,
    is_over: bool,
}

impl Watcher {
    /// Starts a thread of its own: whatever the runtime does, each lease is asked.
    pub(super) fn start(who: Who, recorder: Recorder) -> Self {
        let watcher = Self { who, recorder, watched: Arc::default() };
        let watching = watcher.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(BETWEEN);
                watching.look();
            }
        });
        watcher
    }

    /// Watches this one from now on.
    pub(super) fn add(&self, lease: Arc<Lease>) {
        let mut watched = Watched { lease, from: None, to: 0, told: 0, is_over: false };
        // Twice, for a belief has two ends.
        watched.look(self);
        watched.look(self);
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).push(watched);
    }

    /// Looks once more, and not again.
    pub(super) fn remove(&self, nonce: Nonce) {
        let mut all = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = all.iter().position(|one| one.lease.nonce() == nonce) {
            let mut one = all.swap_remove(index);
            one.look(self);
            one.tell(self);
        }
    }

    fn look(&self) {
        let mut all = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter_mut().for_each(|one| one.look(self));
    }
}

impl Watched {
    fn look(&mut self, watcher: &Watcher) {
        if self.is_over {
            return;
        }
        let before = now();
        let is_held = self.lease.check().is_ok();
        let after = now();
        if is_held {
            self.from = self.from.or(Some(after));
            self.to = before;
            if before.saturating_sub(self.told) > TOLD_EVERY {
                self.tell(watcher);
            }
        } else {
            self.is_over = true;
            self.tell(watcher);
            let nonce = self.lease.nonce();
            watcher.recorder.add(watcher.who, What::Over { nonce });
        }
    }

    fn tell(&mut self, watcher: &Watcher) {
        let nonce = self.lease.nonce();
        if let Some(from) = self.from.filter(|from| *from < self.to && self.told < self.to) {
            self.told = self.to;
            watcher.recorder.add(watcher.who, What::Held { nonce, from, to: self.to });
        }
    }
}
