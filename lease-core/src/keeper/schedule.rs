//! When which lease is renewed, and when it is lost: pure, told the time.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crate::backend::Renewed;
use crate::clock::Moment;
use crate::{Error, Holding, Jitter, LossReason, Result, Timing};

/// Which of a keeper's leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub(super) u64);

/// What an answer to a renewal means for its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is held until then, if nothing else gets through.
    Held {
        /// The end of the belief, counted from the send (rule R4).
        until: Moment,
        /// Whether an exclusive waits for this writer.
        drain: bool,
    },
    /// The renewal failed and is tried again; the belief stands.
    Doubtful,
    /// It is over.
    Lost(LossReason),
    /// The lease is not kept any more.
    Unknown,
}

/// When which lease is renewed, and when it is lost.
///
/// At most one renewal of a lease is in flight. Each is spaced from the last one's send and never
/// caught up, so a stall is followed by one renewal, not by a burst. A failed one is tried again
/// after a quarter of the belief that is left, so more and more often until it ends. An answer
/// that comes after the end of the belief changes nothing: no lease revives.
#[derive(Debug)]
pub struct Schedule {
    leases: HashMap<LeaseId, Kept>,
    /// The next moment of each lease at which something is due.
    due: BTreeSet<(Moment, LeaseId)>,
    jitter: Jitter,
}

#[derive(Debug)]
struct Kept {
    holding: Holding,
    timing: Timing,
    /// How long after its send a renewal may be believed in.
    belief: Duration,
    believed_until: Moment,
    renew_at: Moment,
    in_flight: Option<Moment>,
    /// The belief that the renewal in flight asked for: a later change of the ttl does not alter it.
    asked_belief: Duration,
    /// Whether the ttl was changed while a renewal was in flight, so that another is due at once.
    retimed: bool,
}

impl Kept {
    /// While a renewal is in flight only the end of the belief is due.
    fn due(&self) -> Moment {
        match self.in_flight {
            Some(_) => self.believed_until,
            None => self.renew_at.min(self.believed_until),
        }
    }
}

impl Schedule {
    /// The part of a renewal interval by which renewals are spread.
    const SPREAD: u32 = 10;

    /// The shortest wait before a failed renewal is tried again.
    const RETRY_AT_LEAST: Duration = Duration::from_millis(10);

    /// An empty schedule.
    #[must_use]
    pub fn new(jitter: Jitter) -> Self {
        Self { leases: HashMap::new(), due: BTreeSet::new(), jitter }
    }

    /// Keeps a lease that was granted by a request sent at `sent`.
    ///
    /// `belief` is how long after a send it may be believed in ([`Timing::belief`]).
    pub fn add(
        &mut self,
        id: LeaseId,
        holding: Holding,
        timing: Timing,
        belief: Duration,
        sent: Moment,
    ) {
        let renew_at = sent.plus(self.interval(&timing));
        let believed_until = sent.plus(belief);
        let kept = Kept {
            holding,
            timing,
            belief,
            believed_until,
            renew_at,
            in_flight: None,
            asked_belief: belief,
            retimed: false,
        };
        self.due.insert((kept.due(), id));
        self.leases.insert(id, kept);
    }

    /// Stops keeping a lease; returns its record as the last acknowledged renewal left it.
    pub fn remove(&mut self, id: LeaseId) -> Option<Holding> {
        let kept = self.leases.remove(&id)?;
        self.due.remove(&(kept.due(), id));
        Some(kept.holding)
    }

    /// The record of a lease, as the last acknowledged renewal left it.
    #[must_use]
    pub fn holding(&self, id: LeaseId) -> Option<&Holding> {
        self.leases.get(&id).map(|kept| &kept.holding)
    }

    /// Whether a renewal of this lease is in flight.
    #[must_use]
    pub fn is_in_flight(&self, id: LeaseId) -> bool {
        self.leases.get(&id).is_some_and(|kept| kept.in_flight.is_some())
    }

    /// The renewals in flight, and when each was sent.
    #[must_use]
    pub fn in_flight(&self) -> Vec<(LeaseId, Moment)> {
        self.leases.iter().filter_map(|(id, kept)| Some((*id, kept.in_flight?))).collect()
    }

    /// How many leases are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.leases.len()
    }

    /// Whether none is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.leases.is_empty()
    }

    /// The next moment at which [`expired`](Self::expired) or [`renewals`](Self::renewals) has
    /// something to say; nothing while no lease is kept.
    #[must_use]
    pub fn wake_at(&self) -> Option<Moment> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Drops the leases whose belief has run out, and says which.
    pub fn expired(&mut self, now: Moment) -> Vec<LeaseId> {
        let due = self.due.range(..=(now, LeaseId(u64::MAX)));
        let over: Vec<LeaseId> = due
            .map(|(_, id)| *id)
            .filter(|id| self.leases.get(id).is_some_and(|kept| kept.believed_until <= now))
            .collect();
        for id in &over {
            self.remove(*id);
        }
        over
    }

    /// The renewals to send now, each with its next beat and with how long its answer may take, and
    /// marks them in flight.
    ///
    /// If one is due, those that are due soon go along, so that one request carries many.
    pub fn renewals(&mut self, now: Moment) -> Vec<(LeaseId, Holding, Duration)> {
        let Some((first, _)) = self.due.first() else { return Vec::new() };
        if *first > now {
            return Vec::new();
        }
        // No lease is renewed more than a spread early, whatever the others' intervals are.
        let mut batch = Vec::new();
        let horizon = now.plus(self.longest_spread());
        let candidates: Vec<LeaseId> =
            self.due.range(..=(horizon, LeaseId(u64::MAX))).map(|(_, id)| *id).collect();
        for id in candidates {
            let Some(kept) = self.leases.get_mut(&id) else { continue };
            let early = kept.renew_at.since(now);
            if kept.in_flight.is_some() || early > kept.timing.renew_every() / Self::SPREAD {
                continue;
            }
            self.due.remove(&(kept.due(), id));
            kept.in_flight = Some(now);
            (kept.asked_belief, kept.retimed) = (kept.belief, false);
            kept.holding = kept.holding.next_beat();
            // R17: a ttl that was shortened cuts the belief when the renewal that says so is sent.
            kept.believed_until = kept.believed_until.min(now.plus(kept.belief));
            self.due.insert((kept.due(), id));
            let left = kept.believed_until.since(now);
            batch.push((id, kept.holding.clone(), left.min(kept.timing.call_timeout())));
        }
        batch
    }

    /// Takes in the answer to the renewal of `id` that was sent at `sent`, as of `now`. An error is
    /// no proof of anything: the belief stands until it runs out.
    pub fn answered(
        &mut self,
        id: LeaseId,
        sent: Moment,
        answer: &Result<Renewed, Error>,
        now: Moment,
    ) -> Verdict {
        let Some(kept) = self.leases.get_mut(&id) else { return Verdict::Unknown };
        if kept.in_flight != Some(sent) {
            return Verdict::Unknown;
        }
        self.due.remove(&(kept.due(), id));
        kept.in_flight = None;
        let verdict = if now >= kept.believed_until {
            Verdict::Lost(LossReason::Expired)
        } else {
            kept.take_in(sent, answer, now)
        };
        if let Verdict::Lost(_) = verdict {
            self.leases.remove(&id);
            return verdict;
        }
        if let Verdict::Held { .. } = verdict {
            let timing = kept.timing;
            let interval = self.interval(&timing);
            if let Some(kept) = self.leases.get_mut(&id) {
                kept.renew_at = if kept.retimed { now } else { sent.plus(interval).max(now) };
            }
        }
        if let Some(kept) = self.leases.get(&id) {
            self.due.insert((kept.due(), id));
        }
        verdict
    }

    /// Keeps a lease by other durations from now on: it is due at once.
    pub fn retime(&mut self, id: LeaseId, timing: Timing, belief: Duration, now: Moment) {
        let Some(kept) = self.leases.get_mut(&id) else { return };
        self.due.remove(&(kept.due(), id));
        kept.timing = timing;
        kept.belief = belief;
        kept.holding.ttl = timing.ttl();
        kept.renew_at = now;
        kept.retimed = kept.in_flight.is_some();
        self.due.insert((kept.due(), id));
    }

    /// The end of a lease's belief, as far as this schedule knows.
    #[must_use]
    pub fn believed_until(&self, id: LeaseId) -> Option<Moment> {
        self.leases.get(&id).map(|kept| kept.believed_until)
    }

    /// Renewals come a little early, each by another bit, so that many processes spread out.
    fn interval(&self, timing: &Timing) -> Duration {
        let full = timing.renew_every();
        self.jitter.between(full - full / Self::SPREAD, full)
    }

    fn longest_spread(&self) -> Duration {
        // A day's ttl must not make a scan of all leases: the first due lease sets the horizon.
        let first = self.due.first().and_then(|(_, id)| self.leases.get(id));
        first.map_or(Duration::ZERO, |kept| kept.timing.renew_every() / Self::SPREAD)
    }
}

impl Kept {
    fn take_in(&mut self, sent: Moment, answer: &Result<Renewed>, now: Moment) -> Verdict {
        match answer {
            Ok(Renewed::Renewed { revision, drain }) => {
                self.holding = self.holding.acknowledged(revision.clone());
                self.believed_until = sent.plus(self.asked_belief);
                if self.believed_until <= now {
                    return Verdict::Lost(LossReason::Expired);
                }
                Verdict::Held { until: self.believed_until, drain: *drain }
            }
            Ok(Renewed::Lost(reason)) => Verdict::Lost(*reason),
            // Nothing is assumed: neither that it got through nor that the lease is gone.
            Err(_) => {
                let left = self.believed_until.since(now);
                self.renew_at = now.plus((left / 4).max(Schedule::RETRY_AT_LEAST));
                Verdict::Doubtful
            }
        }
    }
}

#[cfg(test)]
mod tests;
