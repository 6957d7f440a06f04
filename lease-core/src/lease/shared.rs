//! What a lease and its keeper share: the belief, read without a lock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::status::{Status, StatusCell};
use crate::clock::{Clock, Moment};
use crate::fence::Fence;
use crate::telemetry;
use crate::{Epoch, Error, Grant, Holding, LossReason, Mode, Name, Nonce, Result};

/// What a lease and its keeper share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) name: Name,
    pub(crate) mode: Mode,
    pub(crate) epoch: Epoch,
    pub(crate) nonce: Nonce,
    /// Which backend keeps it, for those who count.
    kind: &'static str,
    clock: Arc<dyn Clock>,
    /// Until when the lease may be believed in, in nanoseconds on `clock`; 0 once it is over.
    believed_until: AtomicU64,
    /// When the grace after a takeover is over.
    ready_at: Moment,
    status: StatusCell,
    drain: Drain,
    holding: Mutex<Holding>,
    /// Whether somebody removes the record already, or has handed it on.
    leaving: AtomicBool,
}

impl Shared {
    pub(crate) fn new(
        grant: Grant,
        kind: &'static str,
        clock: Arc<dyn Clock>,
        believed_until: Moment,
        ready_at: Moment,
    ) -> Self {
        telemetry::held(kind, grant.holding.mode);
        Self {
            kind,
            name: grant.holding.name.clone(),
            mode: grant.holding.mode,
            epoch: grant.epoch,
            nonce: grant.holding.nonce,
            clock,
            believed_until: AtomicU64::new(nanos(believed_until)),
            ready_at,
            status: StatusCell::held(),
            drain: Drain::default(),
            holding: Mutex::new(grant.holding),
            leaving: AtomicBool::new(false),
        }
    }

    /// Takes it on to remove the record or to hand it on; false if somebody has before.
    pub(crate) fn leaves(&self) -> bool {
        !self.leaving.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn believed_until(&self) -> Moment {
        moment(self.believed_until.load(Ordering::Acquire))
    }

    pub(crate) fn remaining(&self) -> Duration {
        self.believed_until().since(self.clock.now())
    }

    pub(crate) fn check(&self) -> Result<Fence> {
        let until = self.believed_until();
        if self.clock.now() < until {
            Ok(Fence::new(self.name.clone(), self.mode, self.epoch, until))
        } else {
            // Once it was seen to be over it stays so, whatever a late answer says.
            self.end(LossReason::Expired);
            Err(self.lost_error())
        }
    }

    /// A token that is cancelled with the end of the lease.
    pub(crate) fn cancellation(&self) -> CancellationToken {
        self.status.cancellation()
    }

    pub(crate) const fn ready_at(&self) -> Moment {
        self.ready_at
    }

    /// Refuses while the grace after a takeover runs.
    pub(crate) fn ready(&self) -> Result<()> {
        let after = self.ready_at.since(self.clock.now());
        if after.is_zero() { Ok(()) } else { Err(Error::NotYet { name: self.name.clone(), after }) }
    }

    pub(crate) fn status(&self) -> Status {
        match self.status.get() {
            Status::Held | Status::Doubtful if self.remaining().is_zero() => {
                // Once it was seen to be over it stays so.
                self.end(LossReason::Expired);
                self.status.get()
            }
            status => status,
        }
    }

    pub(crate) fn status_changes(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    pub(crate) fn lost_error(&self) -> Error {
        let reason = self.reason().unwrap_or(LossReason::Expired);
        Error::Lost { name: self.name.clone(), epoch: self.epoch, reason }
    }

    /// Ends the lease; the first reason counts.
    pub(crate) fn end(&self, reason: LossReason) {
        let ended = self.status.change(|status| {
            if matches!(status, Status::Lost(_)) {
                return false;
            }
            // Within this step, so that no extension comes after it.
            self.believed_until.store(0, Ordering::Release);
            *status = Status::Lost(reason);
            true
        });
        if !ended {
            return;
        }
        telemetry::ended(self.kind, self.mode, reason);
        if !matches!(reason, LossReason::Released | LossReason::HandedOver) {
            let (name, mode, epoch) = (&self.name, self.mode, self.epoch);
            tracing::warn!(%name, %mode, %epoch, %reason, "a lease was lost");
        }
    }

    /// Takes an acknowledged renewal in: believed in until `until`, unless it is over already.
    pub(crate) fn extend(&self, until: Moment) {
        self.status.change(|status| {
            if matches!(status, Status::Lost(_)) {
                return false;
            }
            self.believed_until.store(nanos(until), Ordering::Release);
            std::mem::replace(status, Status::Held) != Status::Held
        });
    }

    /// Shortens the belief, for a ttl that is being shortened (rule R17).
    pub(crate) fn cut(&self, until: Moment) {
        let before = self.believed_until.fetch_min(nanos(until), Ordering::AcqRel);
        if nanos(until) < before {
            // Whoever waits for the loss has set a timer for the later end.
            self.status.wake();
        }
    }

    /// Why it is over, if it is.
    pub(crate) fn reason(&self) -> Option<LossReason> {
        match self.status.get() {
            Status::Lost(reason) => Some(reason),
            Status::Held | Status::Doubtful => None,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.reason().is_some()
    }

    /// Takes a failed renewal in.
    pub(crate) fn doubt(&self) {
        self.status.change(|status| {
            let held = *status == Status::Held;
            if held {
                *status = Status::Doubtful;
            }
            held
        });
    }

    pub(crate) fn set_drain(&self, drain: bool) {
        self.drain.set(drain);
    }

    pub(crate) fn holding(&self) -> Holding {
        self.holding.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_holding(&self, holding: Holding) {
        *self.holding.lock().unwrap_or_else(PoisonError::into_inner) = holding;
    }

    pub(crate) async fn lost(&self) -> LossReason {
        let mut status = self.status.subscribe();
        loop {
            // Before the look: what comes after it wakes us.
            status.mark_unchanged();
            if let Some(reason) = self.reason() {
                return reason;
            }
            // Its own timer, so that a keeper that is starved or dead does not matter.
            let timer = self.clock.sleep_until(self.believed_until());
            tokio::select! {
                biased;
                _ = status.changed() => {}
                () = timer => if self.remaining().is_zero() {
                    self.end(LossReason::Expired);
                },
            }
        }
    }

    pub(crate) async fn drain_requested(&self) {
        self.drain.requested().await;
    }
}

/// Whether an exclusive waits for this writer.
#[derive(Debug, Default)]
struct Drain {
    is_requested: AtomicBool,
    requested: Notify,
}

impl Drain {
    fn set(&self, drain: bool) {
        if !self.is_requested.swap(drain, Ordering::AcqRel) && drain {
            self.requested.notify_waiters();
        }
    }

    async fn requested(&self) {
        loop {
            // Made before the look: it ends for whatever is told from here on.
            let told = self.requested.notified();
            if self.is_requested.load(Ordering::Acquire) {
                return;
            }
            told.await;
        }
    }
}

/// Over 580 years of uptime fit.
fn nanos(moment: Moment) -> u64 {
    u64::try_from(moment.since_origin().as_nanos()).unwrap_or(u64::MAX)
}

const fn moment(nanos: u64) -> Moment {
    Moment::after_origin(Duration::from_nanos(nanos))
}
