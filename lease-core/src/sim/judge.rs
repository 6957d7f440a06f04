//! Watches a schedule and says what was broken.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::history::{Event, Happening};
use crate::lease::Shared as Belief;
use crate::{Epoch, Mode, Nonce, Token};

/// What came of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The seed that repeats it.
    pub seed: u64,
    /// How many leases were granted.
    pub grants: usize,
    /// How many faults there were: spoiled requests, stops, crashes and breaks.
    pub faults: usize,
    /// How many writes of stalled holders an unfenced resource would have taken after a later
    /// holder had written: what a fence is worth.
    pub stale_writes: usize,
    /// What was broken, in words; nothing if all is well.
    pub violations: Vec<String>,
    /// What happened.
    pub history: Vec<Event>,
}

impl Report {
    pub(super) fn new(seed: u64, history: Vec<Event>, verdicts: &Verdicts) -> Self {
        let count =
            |of: fn(&Happening) -> bool| history.iter().filter(|e| of(&e.happening)).count();
        Self {
            seed,
            grants: count(|h| matches!(h, Happening::Granted(..))),
            faults: count(|h| {
                matches!(
                    h,
                    Happening::Spoiled { .. }
                        | Happening::Stops(_)
                        | Happening::Crashes
                        | Happening::Broken(_)
                )
            }),
            stale_writes: verdicts.stale_writes,
            violations: verdicts.violations.clone(),
            history,
        }
    }
}

/// The judge of one schedule.
#[derive(Debug, Default)]
pub(super) struct Judge(Mutex<Verdicts>);

#[derive(Debug, Default)]
pub(super) struct Verdicts {
    holders: Vec<Arc<Belief>>,
    /// Whose lease an operator broke: from then on it may believe beside its successor.
    broken: HashSet<Nonce>,
    highest_exclusive: Option<Epoch>,
    highest_written: Option<Token>,
    stale_writes: usize,
    violations: Vec<String>,
}

impl Judge {
    pub(super) fn lock(&self) -> MutexGuard<'_, Verdicts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn says(&self, violation: String) {
        self.lock().violations.push(violation);
    }

    /// A lease was granted: nobody who conflicts believes, and its epoch lies right.
    pub(super) fn granted(&self, belief: Arc<Belief>) {
        let mut verdicts = self.lock();
        // One that was broken before its answer came has a successor already.
        let highest =
            verdicts.highest_exclusive.filter(|_| !verdicts.broken.contains(&belief.nonce));
        match (belief.mode, highest) {
            (Mode::Exclusive, Some(highest)) if belief.epoch <= highest => {
                let problem =
                    format!("exclusive epoch {} was granted after {highest}", belief.epoch);
                verdicts.violations.push(problem);
            }
            (Mode::Writer, Some(highest)) if belief.epoch < highest => {
                let problem = format!("writer epoch {} was granted after {highest}", belief.epoch);
                verdicts.violations.push(problem);
            }
            (Mode::Exclusive, _) => {
                verdicts.highest_exclusive = verdicts.highest_exclusive.max(Some(belief.epoch));
            }
            (Mode::Writer, _) => {}
        }
        verdicts.holders.retain(|holder| !holder.is_over());
        verdicts.holders.push(belief);
        verdicts.look();
    }

    /// Looks at all who believe now.
    pub(super) fn look(&self) {
        self.lock().look();
    }

    pub(super) fn broken(&self, nonce: Nonce) {
        self.lock().broken.insert(nonce);
    }

    /// A write has arrived at a resource.
    pub(super) fn wrote(&self, belief: &Belief, token: Token, admitted: bool) {
        let mut verdicts = self.lock();
        if verdicts.highest_written.is_some_and(|highest| token < highest) {
            verdicts.stale_writes += 1;
            if admitted {
                let problem = format!("the gate took token {token} after a higher one");
                verdicts.violations.push(problem);
            }
        }
        verdicts.highest_written = verdicts.highest_written.max(Some(token));
        let valid = !belief.remaining().is_zero() && !verdicts.broken.contains(&belief.nonce);
        if !admitted && valid {
            let problem = format!("the gate refused token {token} of a valid {}", belief.mode);
            verdicts.violations.push(problem);
        }
    }
}

impl Verdicts {
    fn look(&mut self) {
        let valid: Vec<_> = self
            .holders
            .iter()
            .filter(|h| !h.remaining().is_zero() && !self.broken.contains(&h.nonce))
            .collect();
        let mut problems = Vec::new();
        for (n, one) in valid.iter().enumerate() {
            for other in &valid[n + 1..] {
                if one.mode == Mode::Exclusive || other.mode == Mode::Exclusive {
                    problems.push(format!(
                        "{} {} and {} {} believe at once",
                        one.mode, one.epoch, other.mode, other.epoch
                    ));
                } else if one.epoch != other.epoch {
                    problems.push(format!(
                        "writers of epochs {} and {} believe at once",
                        one.epoch, other.epoch
                    ));
                }
            }
        }
        for problem in problems {
            if !self.violations.contains(&problem) {
                self.violations.push(problem);
            }
        }
    }
}
