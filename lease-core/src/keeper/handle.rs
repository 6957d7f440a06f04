//! What a coordinator and its leases hold of their keeper.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::driver::Driver;
use super::engine::{Answers, Engine};
use super::schedule::LeaseId;
use super::{KeeperMode, driver};
use crate::backend::{Renewed, Withdrawn};
use crate::clock::{Clock, Moment, within};
use crate::lease::{Released, Shared};
use crate::{Backend, Effect, Error, Holding, Jitter, LossReason, Result, Timing};

/// What a coordinator and its leases hold of their keeper. Clones are the same keeper.
#[derive(Clone, Debug)]
pub(crate) struct KeeperHandle {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    engine: Mutex<Engine>,
    mode: KeeperMode,
    /// What drives renewals and runs removals in the background, once started.
    driver: Mutex<Option<Driver>>,
    next: AtomicU64,
    /// Tells the driver that something new is due.
    nudge: Arc<Notify>,
    /// Tells releases that a renewal has been answered.
    answered: Notify,
    removals: TaskTracker,
    closing: CancellationToken,
}

impl Inner {
    pub(super) fn engine(&self) -> MutexGuard<'_, Engine> {
        // The engine is whole between any two of its calls, and none of them panics half-way.
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn driver(&self) -> MutexGuard<'_, Option<Driver>> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn clock_and_nudge(&self) -> (Arc<dyn Clock>, Arc<Notify>) {
        (self.engine().clock.clone(), self.nudge.clone())
    }

    pub(super) fn removals(&self) -> TaskTracker {
        self.removals.clone()
    }

    /// Begins where an earlier driver was ended with its runtime, if one was.
    pub(super) fn take_over(&self) {
        self.engine().forget_in_flight();
        self.answered.notify_waiters();
    }

    pub(super) fn finish(&self, answers: Answers) {
        self.engine().finish(answers);
        self.answered.notify_waiters();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.closing.cancel();
        self.nudge.notify_one();
    }
}

impl KeeperHandle {
    pub(crate) fn new(
        backend: Arc<dyn Backend>,
        clock: Arc<dyn Clock>,
        jitter: Jitter,
        mode: KeeperMode,
    ) -> Self {
        let inner = Arc::new(Inner {
            engine: Mutex::new(Engine::new(backend, clock, jitter)),
            mode,
            driver: Mutex::new(None),
            next: AtomicU64::new(0),
            nudge: Arc::new(Notify::new()),
            answered: Notify::new(),
            removals: TaskTracker::new(),
            closing: CancellationToken::new(),
        });
        if let KeeperMode::Driven(driven) = &inner.mode {
            driven.attach(&inner);
        }
        Self { inner }
    }

    /// Starts the driver if it does not run, or not any more since its runtime has ended. Called
    /// before the store is asked for anything, so that no lease is granted that nobody would keep.
    pub(crate) fn start(&self) -> Result<()> {
        let mut driver = self.inner.driver();
        if driver.as_ref().is_some_and(Driver::is_alive) {
            return Ok(());
        }
        *driver = match &self.inner.mode {
            KeeperMode::OwnThread => Some(driver::start_thread(&self.inner)?),
            KeeperMode::CurrentRuntime => Some(driver::start_here(&self.inner)?),
            KeeperMode::Driven(_) => None,
        };
        Ok(())
    }

    /// Keeps a lease that was granted by a request sent at `sent`.
    pub(crate) fn keep(&self, shared: &Arc<Shared>, timing: Timing, sent: Moment) -> LeaseId {
        let id = LeaseId(self.inner.next.fetch_add(1, Ordering::Relaxed));
        self.change(|engine| engine.add(id, shared.clone(), timing, sent));
        id
    }

    pub(crate) fn retime(&self, id: LeaseId, timing: Timing) {
        self.change(|engine| engine.retime(id, timing));
    }

    /// Changes what is due, and wakes the driver where it would look too late.
    fn change(&self, change: impl FnOnce(&mut Engine)) {
        let mut engine = self.inner.engine();
        change(&mut engine);
        let wake = engine.wakes_driver();
        drop(engine);
        if wake {
            self.inner.nudge.notify_one();
        }
    }

    /// Ends the lease and removes its record; in the background if the caller stops waiting.
    pub(crate) async fn release(&self, id: LeaseId, shared: &Arc<Shared>) -> Result<Released> {
        let believed = shared.check().is_ok();
        shared.leaves();
        shared.end(LossReason::Released);
        let removal = || self.removal(id, shared.clone(), believed);
        let mut unfinished = Unfinished(Some(removal()));
        let released = removal().run().await;
        unfinished.0 = None;
        released
    }

    /// Ends the lease and removes its record in the background, as well as that goes.
    pub(crate) fn abandon(&self, id: LeaseId, shared: &Arc<Shared>) {
        let kept = self.inner.engine().is_kept(id);
        let believed = shared.check().is_ok();
        shared.end(LossReason::Released);
        // One that expired may have been renewed all the same, by a request that was not answered.
        let may_be_there = kept || shared.reason() == Some(LossReason::Expired);
        if shared.leaves() && may_be_there {
            self.removal(id, shared.clone(), believed).spawn();
        }
    }

    /// Ends the lease here and leaves its record for somebody else, renewed once more.
    pub(crate) async fn hand_over(&self, id: LeaseId, shared: &Arc<Shared>) -> Result<Holding> {
        shared.check()?;
        shared.leaves();
        shared.end(LossReason::HandedOver);
        let mut holding = self.settled(id, shared).await.next_beat();
        let (backend, clock) = self.backend_and_clock();
        // The answer to this one makes the revision certain that the ticket stands on.
        let renewal = backend.renew(std::slice::from_ref(&holding));
        let answer = within(&clock, one_try(&holding), renewal).await.and_then(|mut all| all.pop());
        match answer.unwrap_or_else(|| Err(self.unclear("a renewal was not answered")))? {
            Renewed::Renewed { revision, .. } => {
                holding = holding.acknowledged(revision);
                Ok(holding)
            }
            Renewed::Lost(reason) => {
                Err(Error::Lost { name: shared.name.clone(), epoch: shared.epoch, reason })
            }
        }
    }

    /// Removes what an attempt may have left behind: several times, since its request may still be
    /// on its way. Answers after the first try, or after `call_timeout`.
    pub(crate) async fn withdraw(&self, holding: Holding, call_timeout: Duration) {
        let (tell, told) = tokio::sync::oneshot::channel();
        let (_, clock) = self.backend_and_clock();
        if self.spawn(self.withdrawal(holding, Some(tell))) {
            within(&clock, call_timeout, told).await;
        }
    }

    /// The same, without waiting for anything.
    pub(crate) fn withdraw_in_background(&self, holding: Holding) {
        self.spawn(self.withdrawal(holding, None));
    }

    fn withdrawal(
        &self,
        holding: Holding,
        mut tell: Option<tokio::sync::oneshot::Sender<()>>,
    ) -> impl Future<Output = ()> + Send + use<> {
        /// The first repeat comes after this part of the ttl, each next one after twice as long.
        const FIRST_REPEAT: u32 = 100;

        let (backend, clock) = self.backend_and_clock();
        let closing = self.inner.closing.clone();
        async move {
            let end = clock.now().plus(holding.ttl);
            let mut pause = holding.ttl / FIRST_REPEAT;
            loop {
                let withdrawn = within(&clock, one_try(&holding), backend.withdraw(&holding)).await;
                if let Some(tell) = tell.take() {
                    let _ = tell.send(());
                }
                if matches!(withdrawn, Some(Ok(Withdrawn::Removed))) || clock.now() >= end {
                    return;
                }
                tokio::select! {
                    biased;
                    () = clock.sleep_until(clock.now().plus(pause)) => pause *= 2,
                    () = closing.cancelled() => return,
                }
            }
        }
    }

    fn removal(&self, id: LeaseId, shared: Arc<Shared>, believed: bool) -> Removal {
        Removal { keeper: self.clone(), id, shared, believed }
    }

    /// Waits for the renewal in flight, if any, and stops keeping the lease.
    ///
    /// Not for longer than one request may take, for whoever sent the renewal may be gone. One that
    /// lands after that finds no record and makes none (rule R2).
    async fn settled(&self, id: LeaseId, shared: &Shared) -> Holding {
        let (_, clock) = self.backend_and_clock();
        let settled = async {
            loop {
                let answered = self.inner.answered.notified();
                if !self.inner.engine().is_in_flight(id) {
                    return;
                }
                answered.await;
            }
        };
        within(&clock, one_try(&shared.holding()), settled).await;
        self.inner.engine().remove(id).unwrap_or_else(|| shared.holding())
    }

    /// Runs `work` where renewals run; false if there is no runtime at all.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> bool {
        let driver = self.inner.driver().as_ref().filter(|driver| driver.is_alive()).cloned();
        let runtime = match driver {
            Some(driver) => driver.runtime,
            None => match Handle::try_current() {
                Ok(here) => here,
                Err(_) => return false,
            },
        };
        self.inner.removals.spawn_on(work, &runtime);
        true
    }

    fn backend_and_clock(&self) -> (Arc<dyn Backend>, Arc<dyn Clock>) {
        let engine = self.inner.engine();
        (engine.backend.clone(), engine.clock.clone())
    }

    fn unclear(&self, source: impl Into<crate::BoxError>) -> Error {
        Error::unclear(self.inner.engine().backend.kind(), source)
    }
}

/// How long one request of a removal may take: as long as any call may where nothing else is said.
const fn one_try(holding: &Holding) -> Duration {
    Timing::call_timeout_for(holding.ttl)
}

/// The removal of a lease's record.
struct Removal {
    keeper: KeeperHandle,
    id: LeaseId,
    shared: Arc<Shared>,
    /// Whether the lease was believed in when its removal was asked for.
    believed: bool,
}

/// A removal that its caller has not seen the end of: it goes on in the background when dropped.
struct Unfinished(Option<Removal>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(removal) = self.0.take() {
            removal.spawn();
        }
    }
}

impl Removal {
    fn spawn(self) {
        self.keeper.clone().spawn(async move {
            let _ = self.run().await;
        });
    }

    /// The shortest pause between two tries.
    const PAUSE: Duration = Duration::from_millis(20);

    /// Tries until the store has answered or the record has run out by itself.
    async fn run(self) -> Result<Released> {
        let (backend, clock) = self.keeper.backend_and_clock();
        let closing = self.keeper.inner.closing.clone();
        let holding = self.keeper.settled(self.id, &self.shared).await;
        let believed = self.believed;
        // The keeper's last handle may go while this runs: nothing new is started then.
        drop(self);
        let end = clock.now().plus(holding.ttl);
        let mut pause = Self::PAUSE;
        let mut unclear = false;
        loop {
            let answer = within(&clock, one_try(&holding), backend.withdraw(&holding)).await;
            let answer = answer.unwrap_or_else(|| {
                Err(Error::unclear(backend.kind(), "a release was not answered"))
            });
            let error = match answer {
                Ok(Withdrawn::Removed) => return Ok(Released::Freed),
                // An earlier try may have removed it before its answer was lost. Of a lease that was
                // over before, that is less likely than that somebody else has.
                Ok(Withdrawn::NotThere) if unclear && believed => return Ok(Released::Freed),
                Ok(Withdrawn::NotThere) => return Ok(Released::NotHeld),
                Err(error) => error,
            };
            unclear |= matches!(error, Error::Unavailable { effect: Effect::Unknown, .. });
            let retryable = matches!(error, Error::Unavailable { .. });
            if !retryable || clock.now().plus(pause) >= end {
                return Err(error);
            }
            tokio::select! {
                biased;
                () = clock.sleep_until(clock.now().plus(pause)) => pause *= 2,
                () = closing.cancelled() => return Err(error),
            }
        }
    }
}
