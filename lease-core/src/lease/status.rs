//! Whether a lease is held, for who asks, for who waits for a change, and for who works until its end.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

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
/// Most leases end with nobody having waited for a change: the channel and the token are made for the
/// first who asks, for they cost as much as all else of a lease in memory.
#[derive(Debug)]
pub(super) struct StatusCell {
    now: Mutex<Status>,
    told: OnceLock<watch::Sender<Status>>,
    /// Cancelled with the end of the lease.
    cancellation: OnceLock<CancellationToken>,
}

impl StatusCell {
    pub(super) const fn held() -> Self {
        Self { now: Mutex::new(Status::Held), told: OnceLock::new(), cancellation: OnceLock::new() }
    }

    pub(super) fn get(&self) -> Status {
        *self.lock()
    }

    /// Changes it as one step, and tells if `change` says that it did; whether it said so.
    pub(super) fn change(&self, change: impl FnOnce(&mut Status) -> bool) -> bool {
        let has_changed = self.change_as_one_step(change);
        if has_changed && let Some(told) = self.told.get() {
            // What it is by then, not what it was changed to: whoever tells last tells the last one.
            told.send_if_modified(|status| {
                let now = self.get();
                std::mem::replace(status, now) != now
            });
        }
        has_changed
    }

    /// Whoever sees the end, by whichever way, sees the token cancelled: both change under the lock.
    fn change_as_one_step(&self, change: impl FnOnce(&mut Status) -> bool) -> bool {
        let mut now = self.lock();
        let has_changed = change(&mut now);
        if let (Status::Lost(_), Some(token)) = (*now, self.cancellation.get()) {
            token.cancel();
        }
        has_changed
    }

    /// A token that is cancelled with the end of the lease.
    pub(super) fn cancellation(&self) -> CancellationToken {
        let now = self.lock();
        let token = self.cancellation.get_or_init(CancellationToken::new);
        if matches!(*now, Status::Lost(_)) {
            token.cancel();
        }
        token.child_token()
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
        // What is done under it is an assignment, a look, or the cancelling of a token, which wakes tasks
        // under a lock of its own just the same; nobody is waited for.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::{Context, Wake, Waker};

    use super::*;

    /// What whoever waits finds when it is woken, before anything else happens.
    struct Woken {
        stop: CancellationToken,
        found: OnceLock<bool>,
    }

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            let _is_first = self.found.set(self.stop.is_cancelled());
        }
    }

    /// Whoever is told of the loss and then looks at the token finds it cancelled.
    #[test]
    fn the_token_is_cancelled_before_anybody_is_told() {
        let status = StatusCell::held();
        let woken = Arc::new(Woken { stop: status.cancellation(), found: OnceLock::new() });
        let waker = Waker::from(woken.clone());
        let mut changes = status.subscribe();
        let mut told = std::pin::pin!(changes.changed());
        assert!(told.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        status.change(|now| {
            *now = Status::Lost(LossReason::Displaced);
            true
        });
        assert_eq!(woken.found.get(), Some(&true));
        assert!(status.cancellation().is_cancelled(), "for who comes later, too");
    }
}
