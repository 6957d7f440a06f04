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
        let now = *self.lock();
        self.cancel_with(now);
        now
    }

    /// Changes it as one step, and tells if `change` says that it did; whether it said so.
    pub(super) fn change(&self, change: impl FnOnce(&mut Status) -> bool) -> bool {
        let (has_changed, now) = self.change_as_one_step(change);
        self.cancel_with(now);
        if has_changed && let Some(told) = self.told.get() {
            told.send_if_modified(|status| {
                // What it is by then, not what it was changed to: whoever tells last tells the last one.
                let now = *self.lock();
                // Whoever ends it tells of that itself, once the token is cancelled.
                let ends = matches!(now, Status::Lost(_)) && !self.is_cancelled();
                !ends && std::mem::replace(status, now) != now
            });
        }
        has_changed
    }

    fn change_as_one_step(&self, change: impl FnOnce(&mut Status) -> bool) -> (bool, Status) {
        let mut now = self.lock();
        (change(&mut now), *now)
    }

    /// Whoever finds the lease over cancels the token before going on, so that nobody who was told of
    /// the end, or has asked, sees the token without it. To cancel it runs the wakers of those who wait,
    /// which may be anybody's code and ask for the status: no lock is held meanwhile.
    fn cancel_with(&self, now: Status) {
        if let (Status::Lost(_), Some(token)) = (now, self.cancellation.get()) {
            token.cancel();
        }
    }

    /// Whether there is no token that is not cancelled.
    fn is_cancelled(&self) -> bool {
        self.cancellation.get().is_none_or(CancellationToken::is_cancelled)
    }

    /// A token that is cancelled with the end of the lease.
    pub(super) fn cancellation(&self) -> CancellationToken {
        let (token, now) = {
            let now = self.lock();
            let token = self.cancellation.get_or_init(|| {
                let token = CancellationToken::new();
                // Nobody waits for it yet. One that is made after the end is never seen without it.
                if matches!(*now, Status::Lost(_)) {
                    token.cancel();
                }
                token
            });
            (token.child_token(), *now)
        };
        self.cancel_with(now);
        token
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
        let (changes, now) = {
            let now = self.lock();
            (self.told.get_or_init(|| watch::Sender::new(*now)).subscribe(), *now)
        };
        self.cancel_with(now);
        changes
    }

    fn lock(&self) -> MutexGuard<'_, Status> {
        // What is done under it is an assignment or a look: nobody is waited for, and nobody's code runs.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::{Context, Wake, Waker};

    use super::*;

    /// What whoever waits finds when it is woken, before anything else happens: the status, and whether
    /// the token is cancelled.
    struct Woken {
        status: Arc<StatusCell>,
        stop: CancellationToken,
        found: OnceLock<(Status, bool)>,
    }

    impl Woken {
        fn new(status: &Arc<StatusCell>) -> (Arc<Self>, Waker) {
            let (status, stop) = (Arc::clone(status), status.cancellation());
            let woken = Arc::new(Self { status, stop, found: OnceLock::new() });
            (Arc::clone(&woken), Waker::from(woken))
        }
    }

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            let _is_first = self.found.set((self.status.get(), self.stop.is_cancelled()));
        }
    }

    const LOST: Status = Status::Lost(LossReason::Displaced);

    fn end(status: &StatusCell) {
        status.change(|now| {
            *now = LOST;
            true
        });
    }

    /// Whoever is told of the loss and then looks at the token finds it cancelled.
    #[test]
    fn the_token_is_cancelled_before_anybody_is_told() {
        let status = Arc::new(StatusCell::held());
        let (woken, waker) = Woken::new(&status);
        let mut changes = status.subscribe();
        let mut told = std::pin::pin!(changes.changed());
        assert!(told.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        end(&status);
        assert_eq!(woken.found.get(), Some(&(LOST, true)));
        assert!(status.cancellation().is_cancelled(), "for who comes later, too");
    }

    /// A waker is anybody's code: it may ask for the status, or wait for somebody who does.
    #[test]
    fn whoever_the_token_wakes_may_ask_for_the_status() {
        let status = Arc::new(StatusCell::held());
        let (woken, waker) = Woken::new(&status);
        let stop = status.cancellation();
        let mut cancelled = std::pin::pin!(stop.cancelled());
        assert!(cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        end(&status);
        assert_eq!(woken.found.get(), Some(&(LOST, true)));
    }

    /// A token that is first asked for after the end is told of as any other.
    #[test]
    fn an_end_before_anybody_asked_is_told_to_all_who_ask() {
        let status = StatusCell::held();
        end(&status);
        assert!(status.cancellation().is_cancelled());
        assert_eq!(*status.subscribe().borrow(), LOST);
    }
}
