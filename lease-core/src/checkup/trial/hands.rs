//! The single steps of a trial, each bounded in time, and what they may leave in the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::backend::{Renewed, Taken};
use crate::clock::within;
use crate::{
    Backend, Claim, Clock, Error, Grant, HolderInfo, Holding, Jitter, Mode, Name, Nonce, Policy,
    Result, Revision,
};

/// How long the records of a trial live that is not finished.
const TTL: Duration = Duration::from_secs(60);

/// How long a step may take: some stores let the losers of a race wait for seconds.
const PATIENCE: Duration = Duration::from_secs(30);

const PAUSE: Duration = Duration::from_millis(100);

/// How often a step is tried whose answer was lost.
const TRIES: usize = 3;

/// Two clients, and the name that they try.
pub(super) struct Trial<'t> {
    pub(super) stores: [&'t dyn Backend; 2],
    pub(super) clock: &'t Arc<dyn Clock>,
    pub(super) name: &'t Name,
    info: Arc<HolderInfo>,
    ttl: Duration,
    jitter: Jitter,
    /// What may be in the store, and by which client it was written.
    open: Mutex<HashMap<Nonce, (&'t dyn Backend, Holding)>>,
}

impl<'t> Trial<'t> {
    pub(super) fn new(
        stores: [&'t dyn Backend; 2],
        clock: &'t Arc<dyn Clock>,
        name: &'t Name,
    ) -> Self {
        let info = HolderInfo::of_this_process().label("lease doctor").build().unwrap_or_default();
        let ttl = TTL.max(stores[0].capabilities().min_ttl);
        let (info, jitter, open) = (Arc::new(info), Jitter::system(), Mutex::default());
        Self { stores, clock, name, info, ttl, jitter, open }
    }

    /// One attempt: a grant, or nothing if somebody else is in the way.
    pub(super) async fn ask(&self, store: &'t dyn Backend) -> Result<Option<Grant>> {
        let claim = self.claim(store, Mode::Exclusive);
        let (policy, mut draining) = (Policy::refuse(), None);
        let until = self.clock.now().plus(PATIENCE);
        loop {
            let taken = store.take(&claim, draining.as_ref(), &policy);
            match self.answered(store, taken).await? {
                Taken::Granted(grant) => {
                    self.remember(store, &grant.holding);
                    return Ok(Some(grant));
                }
                Taken::Draining(more) if self.clock.now() < until => draining = Some(more),
                Taken::Draining(more) => {
                    self.release(store, &more.holding).await?;
                    return Ok(None);
                }
                Taken::Refused(_) | Taken::Displaced(_) => {
                    self.forget(claim.nonce);
                    return Ok(None);
                }
            }
            self.pause().await;
        }
    }

    /// A grant of the name that nobody else asks for.
    pub(super) async fn hold(&self, store: &'t dyn Backend) -> Result<Grant> {
        let mut last = Error::unclear(store.kind(), "a name that is free is not granted");
        for _ in 0..TRIES {
            match self.ask(store).await {
                Ok(Some(grant)) => return Ok(grant),
                Ok(None) => self.pause().await,
                Err(error @ Error::Unavailable { .. }) => {
                    self.clear_up().await;
                    last = error;
                }
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Whether the other client lists the name, at once or soon.
    pub(super) async fn is_listed(&self, store: &dyn Backend, time: Duration) -> Result<bool> {
        let until = self.clock.now().plus(time);
        loop {
            if self.answered(store, store.names()).await?.contains(self.name) {
                return Ok(true);
            }
            if self.clock.now() >= until {
                return Ok(false);
            }
            self.pause().await;
        }
    }

    pub(super) async fn renew(&self, store: &dyn Backend, mine: &Holding) -> Result<Renewed> {
        let renewed = async { store.renew(std::slice::from_ref(mine)).await.pop() };
        let none = || Error::unclear(store.kind(), "a renewal was not answered");
        match within(self.clock, PATIENCE, renewed).await.flatten() {
            Some(renewed) => renewed,
            None => Err(none()),
        }
    }

    pub(super) async fn release(&self, store: &dyn Backend, mine: &Holding) -> Result<()> {
        self.answered(store, store.withdraw(mine)).await?;
        self.forget(mine.nonce);
        Ok(())
    }

    /// Withdraws whatever may be left.
    pub(super) async fn clear_up(&self) {
        let left: Vec<_> = self.lock().values().cloned().collect();
        for (store, mine) in left {
            if let Err(error) = self.release(store, &mine).await {
                tracing::debug!(%error, "a record of the trial could not be withdrawn");
            }
        }
    }

    pub(super) fn claim(&self, store: &'t dyn Backend, mode: Mode) -> Claim {
        let claim = Claim {
            name: self.name.clone(),
            nonce: self.jitter.nonce(),
            mode,
            ttl: self.ttl,
            info: Arc::new(self.info.since_now()),
        };
        self.remember(store, &Holding::created(&claim, Revision::new("")));
        claim
    }

    fn remember(&self, store: &'t dyn Backend, holding: &Holding) {
        self.lock().insert(holding.nonce, (store, holding.clone()));
    }

    pub(super) fn forget(&self, nonce: Nonce) {
        self.lock().remove(&nonce);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Nonce, (&'t dyn Backend, Holding)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn answered<T>(
        &self,
        store: &dyn Backend,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let none = || Error::unclear(store.kind(), "no answer within half a minute");
        within(self.clock, PATIENCE, call).await.unwrap_or_else(|| Err(none()))
    }

    pub(super) async fn pause(&self) {
        self.clock.sleep_until(self.clock.now().plus(PAUSE)).await;
    }
}
