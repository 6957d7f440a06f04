//! One attempt after another, each with a nonce of its own, and what they may leave behind.

use std::sync::Arc;
use std::time::Duration;

use super::Acquire;
use crate::backend::{Draining, Joined, Taken};
use crate::clock::{Moment, within};
use crate::{
    Claim, Coordinator, Error, Grant, Holding, Lease, LossReason, Mode, Name, Result, Revision,
    Standing,
};

/// What came of one try.
pub(super) enum Outcome {
    Granted(Box<Lease>),
    Refused(Standing),
    Draining(Standing),
    Failed(Error),
}

impl Outcome {
    pub(super) fn into_result(self, name: Name) -> Result<Lease> {
        match self {
            Self::Granted(lease) => Ok(*lease),
            Self::Refused(by) | Self::Draining(by) => Err(Error::Held { name, by: Box::new(by) }),
            Self::Failed(error) => Err(error),
        }
    }
}

/// Attempts to acquire one name. What the last one may have left in the store is withdrawn when
/// this is dropped.
pub(super) struct Attempt<'a> {
    coordinator: &'a Coordinator,
    ask: &'a Acquire,
    pub(super) name: Name,
    /// The attempt that may have left something in the store.
    open: Option<Open>,
    /// Whether whoever was in the way was seen expired: then the grace applies, also where somebody
    /// else has cleared it before we were granted.
    saw_expired: bool,
}

struct Open {
    claim: Claim,
    /// Our exclusive, once it is installed, and when the request was sent that last renewed it.
    draining: Option<(Draining, Moment)>,
}

impl<'a> Attempt<'a> {
    pub(super) const fn new(coordinator: &'a Coordinator, name: Name, ask: &'a Acquire) -> Self {
        Self { coordinator, ask, name, open: None, saw_expired: false }
    }

    /// Goes on with the exclusive that drains, or starts again with a fresh nonce (rule R7).
    pub(super) async fn go(&mut self) -> Outcome {
        let claim = match &self.open {
            Some(open) if open.draining.is_some() => open.claim.clone(),
            _ => {
                // An attempt whose answer was lost may still take effect: it must not be ours then.
                self.withdraw_in_background();
                let claim = self.fresh_claim();
                self.open = Some(Open { claim: claim.clone(), draining: None });
                claim
            }
        };
        match self.ask.mode() {
            Mode::Writer => self.join(&claim).await,
            Mode::Exclusive => self.take(&claim).await,
        }
    }

    async fn join(&mut self, claim: &Claim) -> Outcome {
        let parts = self.coordinator.parts();
        // R4: the belief counts from before anything is sent.
        let sent = parts.clock.now();
        let join = parts.backend.join(claim, self.ask.policy_ref());
        match within(&parts.clock, self.budget(), join).await {
            Some(Ok(Joined::Granted(grant))) => self.granted(grant, sent),
            Some(Ok(Joined::Refused(by))) => {
                self.open = None;
                self.saw_expired |= by.is_expired();
                Outcome::Refused(by)
            }
            Some(Err(error)) => Outcome::Failed(error),
            None => Outcome::Failed(self.unanswered()),
        }
    }

    async fn take(&mut self, claim: &Claim) -> Outcome {
        let parts = self.coordinator.parts();
        let sent = parts.clock.now();
        let before = self.open.as_mut().and_then(|open| open.draining.take());
        let round = before.as_ref().map(|(draining, _)| draining);
        let take = parts.backend.take(claim, round, self.ask.policy_ref());
        let error = match within(&parts.clock, self.budget(), take).await {
            Some(Ok(Taken::Granted(grant))) => return self.granted(grant, sent),
            Some(Ok(Taken::Draining(draining))) => {
                let waiting_for = draining.waiting_for.clone();
                self.saw_expired |= waiting_for.is_expired();
                if let Some(open) = &mut self.open {
                    open.draining = Some((draining, sent));
                }
                return Outcome::Draining(waiting_for);
            }
            Some(Ok(Taken::Refused(by))) => {
                self.open = None;
                self.saw_expired |= by.is_expired();
                return Outcome::Refused(by);
            }
            // It ran out while we could not renew it: nobody has broken it, and we start again.
            Some(Ok(Taken::Displaced(_))) if before.as_ref().is_some_and(|b| self.ran_out(b.1)) => {
                self.open = None;
                let backend = parts.backend.kind();
                return Outcome::Failed(Error::unclear(
                    backend,
                    "the drain was not renewed in time",
                ));
            }
            // Nobody was told yet that it drains, so nobody has broken it for that: another one was
            // before it, as on a store whose listings are of no one moment. It stays open: what is left
            // of it is withdrawn, for the store may not have answered when it was to be removed.
            Some(Ok(Taken::Displaced(_))) if before.is_none() => {
                let backend = parts.backend.kind();
                return Outcome::Failed(Error::unclear(backend, "another exclusive came first"));
            }
            Some(Ok(Taken::Displaced(epoch))) => {
                self.open = None;
                let reason = LossReason::Displaced;
                return Outcome::Failed(Error::Lost { name: self.name.clone(), epoch, reason });
            }
            Some(Err(error)) => error,
            None => self.unanswered(),
        };
        // Our exclusive is there until its ttl has passed since it was last surely renewed; within
        // that it keeps its place, after it somebody else may have taken over.
        if let Some((draining, last)) = before
            && !self.ran_out(last)
            && let Some(open) = &mut self.open
        {
            open.draining = Some((draining.after_a_failed_round(), last));
        }
        Outcome::Failed(error)
    }

    /// Whether a record that was last renewed by a request sent at `last` may have expired.
    fn ran_out(&self, last: Moment) -> bool {
        self.coordinator.parts().clock.now() >= last.plus(self.ask.timing_ref().ttl())
    }

    /// R5, R6: a grant counts only if it may still be believed in when it arrives.
    fn granted(&mut self, mut grant: Grant, sent: Moment) -> Outcome {
        grant.took_over |= self.saw_expired;
        match self.coordinator.lease(grant, *self.ask.timing_ref(), sent) {
            Ok(lease) => {
                self.open = None;
                Outcome::Granted(Box::new(lease))
            }
            // It stays open: the record is there and is withdrawn before the next try.
            Err(_) => Outcome::Failed(self.unanswered()),
        }
    }

    fn fresh_claim(&self) -> Claim {
        Claim {
            name: self.name.clone(),
            nonce: self.coordinator.parts().jitter.nonce(),
            mode: self.ask.mode(),
            ttl: self.ask.timing_ref().ttl(),
            info: Arc::new(self.ask.info_ref().since_now()),
        }
    }

    /// One try must be over before its grant could not be believed in any more, and soon where the
    /// store does not answer at all. A long list of writers to evict may take longer: the next try
    /// goes on with those that are left.
    fn budget(&self) -> Duration {
        let timing = self.ask.timing_ref();
        let belief = timing.belief(&self.coordinator.parts().backend.capabilities());
        belief.min(timing.call_timeout().saturating_mul(Acquire::CALLS_OF_A_TRY))
    }

    fn unanswered(&self) -> Error {
        Error::unclear(self.coordinator.parts().backend.kind(), "no answer in time for the lease")
    }

    /// Withdraws what is left, as far as one try goes; the rest in the background.
    pub(super) async fn withdraw(&mut self) {
        if let Some(holding) = self.left_behind() {
            let timeout = self.ask.timing_ref().call_timeout();
            self.coordinator.parts().keeper.withdraw(holding, timeout).await;
        }
    }

    fn withdraw_in_background(&mut self) {
        if let Some(holding) = self.left_behind() {
            self.coordinator.parts().keeper.withdraw_in_background(holding);
        }
    }

    fn left_behind(&mut self) -> Option<Holding> {
        let open = self.open.take()?;
        Some(match open.draining {
            Some((draining, _)) => draining.holding,
            None => Holding::created(&open.claim, Revision::new("")),
        })
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.withdraw_in_background();
    }
}
