//! A schedule, its leases and a store: sends what is due and tells the leases what came of it.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tracing::Instrument;

use super::schedule::{LeaseId, Schedule, Verdict};
use crate::backend::Renewed;
use crate::clock::{Clock, Moment, within};
use crate::lease::Shared;
use crate::telemetry;
use crate::{Backend, Error, Holding, Jitter, LossReason, Result, Timing};

/// The answers to one batch of renewals.
#[derive(Debug)]
pub(super) struct Answers {
    sent: Moment,
    answers: Vec<(LeaseId, Result<Renewed>)>,
}

/// What drives renewals, whoever drives it.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) clock: Arc<dyn Clock>,
    schedule: Schedule,
    shared: HashMap<LeaseId, Arc<Shared>>,
    /// When the driver looks again by itself; never, where that is nothing.
    armed: Option<Moment>,
}

impl Engine {
    pub(super) fn new(backend: Arc<dyn Backend>, clock: Arc<dyn Clock>, jitter: Jitter) -> Self {
        Self {
            backend,
            clock,
            schedule: Schedule::new(jitter),
            shared: HashMap::new(),
            armed: None,
        }
    }

    pub(super) fn add(&mut self, id: LeaseId, shared: Arc<Shared>, timing: Timing, sent: Moment) {
        let belief = timing.belief(&self.backend.capabilities());
        self.schedule.add(id, shared.holding(), timing, belief, sent);
        self.shared.insert(id, shared);
    }

    /// Forgets a lease; its record, as far as its last renewal was acknowledged.
    pub(super) fn remove(&mut self, id: LeaseId) -> Option<Holding> {
        self.shared.remove(&id);
        self.schedule.remove(id)
    }

    pub(super) fn retime(&mut self, id: LeaseId, timing: Timing) {
        let belief = timing.belief(&self.backend.capabilities());
        self.schedule.retime(id, timing, belief, self.clock.now());
    }

    pub(super) fn is_in_flight(&self, id: LeaseId) -> bool {
        self.schedule.is_in_flight(id)
    }

    pub(super) fn is_kept(&self, id: LeaseId) -> bool {
        self.shared.contains_key(&id)
    }

    /// When the driver must look again; it is taken to do so from now on.
    ///
    /// Never later than it would have looked before, though what was due then may be over: leases that
    /// come and go so fast would otherwise wake it each time. It looks once in vain instead.
    pub(super) fn arm(&mut self) -> Option<Moment> {
        let now = self.clock.now();
        let before = self.armed.filter(|armed| *armed > now);
        self.armed = self.schedule.wake_at().into_iter().chain(before).min();
        self.armed
    }

    /// Whether the driver is to be woken, for something is due before it would look by itself. It is
    /// taken to look by then, so this is told once.
    ///
    /// To wake another thread costs more than all else that a lease in memory does, and a lease
    /// that is granted is rarely due before those that are there.
    pub(super) fn wakes_driver(&mut self) -> bool {
        let Some(due) = self.schedule.wake_at() else { return false };
        // A timer that should have gone off already is late, as after a suspend.
        let armed = self.armed.filter(|armed| *armed > self.clock.now());
        let wakes = armed.is_none_or(|armed| due < armed);
        if wakes {
            self.armed = Some(due);
        }
        wakes
    }

    /// Ends what has run out, and sends what is due.
    pub(super) fn begin(&mut self) -> Vec<BoxFuture<'static, Answers>> {
        let now = self.clock.now();
        for id in self.schedule.expired(now) {
            if let Some(shared) = self.shared.remove(&id) {
                shared.end(LossReason::Expired);
            }
        }
        let due = self.schedule.renewals(now);
        for (id, _, _) in &due {
            if let (Some(shared), Some(until)) =
                (self.shared.get(id), self.schedule.believed_until(*id))
            {
                shared.cut(until);
            }
        }
        // A lease that ended otherwise (a failed confirm) is not renewed any more.
        let (live, over): (Vec<_>, Vec<_>) =
            due.into_iter().partition(|(id, _, _)| self.is_live(*id));
        for (id, _, _) in over {
            self.remove(id);
        }
        let batch = self.backend.capabilities().renew_batch.max(1);
        live.chunks(batch).map(|chunk| self.send(chunk.to_vec(), now)).collect()
    }

    fn is_live(&self, id: LeaseId) -> bool {
        self.shared.get(&id).is_some_and(|shared| !shared.is_over())
    }

    /// One request for a batch. It takes no longer than the shortest belief in it allows.
    fn send(
        &self,
        batch: Vec<(LeaseId, Holding, Duration)>,
        sent: Moment,
    ) -> BoxFuture<'static, Answers> {
        let (backend, clock) = (self.backend.clone(), self.clock.clone());
        let span =
            tracing::debug_span!("lease.renew", backend = backend.kind(), leases = batch.len());
        Box::pin(
            async move {
                let budget = batch.iter().map(|(_, _, left)| *left).min().unwrap_or_default();
                let (ids, holdings): (Vec<_>, Vec<_>) =
                    batch.into_iter().map(|(id, holding, _)| (id, holding)).unzip();
                let renewals =
                    AssertUnwindSafe(async { backend.renew(&holdings).await }).catch_unwind();
                let mut answers = match within(&clock, budget, renewals).await {
                    Some(Ok(answers)) => answers.into_iter(),
                    // A backend that panics must not take the other leases with it.
                    Some(Err(_)) | None => Vec::new().into_iter(),
                };
                let unanswered =
                    || Err(Error::unclear(backend.kind(), "a renewal was not answered"));
                let answers = ids
                    .into_iter()
                    .map(|id| (id, answers.next().unwrap_or_else(unanswered)))
                    .collect();
                Answers { sent, answers }
            }
            .instrument(span),
        )
    }

    /// Takes the renewals in flight for unanswered: who waited for their answers is gone.
    pub(super) fn forget_in_flight(&mut self) {
        for (id, sent) in self.schedule.in_flight() {
            let unanswered =
                Error::unclear(self.backend.kind(), "the runtime of a renewal has ended");
            self.finish(Answers { sent, answers: vec![(id, Err(unanswered))] });
        }
    }

    /// Tells the leases what came of a batch.
    pub(super) fn finish(&mut self, batch: Answers) {
        let now = self.clock.now();
        for (id, answer) in batch.answers {
            if let Some(until) = self.schedule.believed_until(id) {
                telemetry::renewal(self.backend.kind(), &answer, until.since(now));
            }
            let verdict = self.schedule.answered(id, batch.sent, &answer, now);
            let Some(shared) = self.shared.get(&id) else { continue };
            match verdict {
                Verdict::Held { until, drain } => {
                    if let Some(holding) = self.schedule.holding(id) {
                        shared.set_holding(holding.clone());
                    }
                    shared.set_drain(drain);
                    shared.extend(until);
                }
                Verdict::Doubtful => {
                    if let Err(error) = &answer {
                        tracing::debug!(name = %shared.name, %error, "a renewal failed");
                    }
                    shared.doubt();
                }
                Verdict::Lost(reason) => {
                    shared.end(reason);
                    self.shared.remove(&id);
                }
                Verdict::Unknown => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
