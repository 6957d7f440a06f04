//! Whether a lease is held, for who asks and for who waits for a change.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::watch;

use crate::LossReason;

/// Whether a lease is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its last renewal was acknowledged.
    Held,
    /// Renewals fail, but the belief has not run out. It may become either of the others.
    Doubtful,
    /// It is over, for good.
    Lost(LossReason),
}

/// The status of one lease.
///
/// Most leases end with nobody having waited for a change: the channel is made for the first who does,
/// for it costs as much as all else of a lease in memory.
#[derive(Debug)]
pub(super) struct StatusCell {
    now: Mutex<Status>,
    told: OnceLock<watch::Sender<Status>>,
}

impl StatusCell {
    pub(super) const fn held() -> Self {
        Self { now: Mutex::new(Status::Held), told: OnceLock::new() }
    }

    pub(super) fn get(&self) -> Status {
        *self.lock()
    }

    /// Changes it as one step, and tells if `change` says that it did; whether it said so.
    pub(super) fn change(&self, change: impl FnOnce(&mut Status) -> bool) -> bool {
        let has_changed = change(&mut self.lock());
        if has_changed && let Some(told) = self.told.get() {
            // What it is by then, not what it was changed to: whoever tells last tells the last one.
            told.send_if_modified(|status| {
                let now = self.get();
                std::mem::replace(status, now) != now
            });
        }
        has_changed
    }

    /// Wakes those who wait, though nothing has changed.
    pub(super) fn wake(&self) {
        // After whoever is about to wait, who then sees what this is told for, or is woken by it.
        drop(self.lock());
        if let Some(told) = self.told.get() {
            told.send_modify(|_| {});
        }
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Status> {
        let now = self.lock();
        self.told.get_or_init(|| watch::Sender::new(*now)).subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Status> {
        // What is done under it is an assignment or a look, and nobody is told or waited for.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
