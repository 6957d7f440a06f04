//! How large a run is, and what may go wrong in it.

use super::state::{Fault, Mode, State};
use crate::rules::Rules;

/// What may be done to a record whose holder seems gone, and how one knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The store judges at the very step.
    AtTheStep,
    /// The record is still at the revision that was judged.
    ByRevision,
}

/// What the holders write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Nothing: only beliefs are looked at.
    None,
    /// It refuses tokens that are lower than one it has seen.
    Fenced,
    /// It takes whatever arrives; a write arrives within one tick.
    Unfenced,
}

/// One run of the model.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// What it is called.
    pub name: &'static str,
    /// Who takes part.
    pub clients: &'static [Mode],
    /// The rules that are kept.
    pub rules: Rules,
    /// In ticks.
    pub ttl: u8,
    /// A ttl that a renewal may ask for instead, if it is another one.
    pub other_ttl: u8,
    /// By how much a belief ends before the ttl.
    pub margin: u8,
    /// By how much the clients' clocks are late at the end of a belief.
    pub clock_late: u8,
    /// The steps of the store's clock.
    pub granularity: u8,
    /// How many late requests there may be at once.
    pub late: u8,
    /// How many requests may stay without an answer; nothing is any number.
    pub unclear: Option<u8>,
    /// Whether the transport may repeat a request.
    pub repeats: bool,
    /// How many clients may die.
    pub deaths: u8,
    /// Whether all exclusives have one stable name.
    pub same_name: bool,
    /// Whether stale exclusives are taken over, by exclusives.
    pub takeover: bool,
    /// Whether stale exclusives are cleared, by writers.
    pub clear: bool,
    /// Whether stale writers are evicted.
    pub evict: bool,
    /// By what evidence.
    pub evidence: Evidence,
    /// Whether holders renew.
    pub renew: bool,
    /// What is written to.
    pub resource: Resource,
    /// How many writes there may be on their way at once.
    pub writes: u8,
    /// The only property that is looked at, if it is not all.
    pub only: Option<Fault>,
    /// Nobody pauses, and each client wants one turn: who waits for whom?
    pub fair: bool,
}

impl Setting {
    /// Two ticks of ttl, exact clocks, all policies, and nothing that goes wrong but pauses.
    #[must_use]
    pub const fn new(name: &'static str, clients: &'static [Mode]) -> Self {
        Self {
            name,
            clients,
            rules: Rules::correct(),
            ttl: 2,
            other_ttl: 2,
            margin: 0,
            clock_late: 0,
            granularity: 1,
            late: 0,
            unclear: Some(0),
            repeats: false,
            deaths: 0,
            same_name: false,
            takeover: true,
            clear: true,
            evict: true,
            evidence: Evidence::AtTheStep,
            renew: true,
            resource: Resource::None,
            writes: 2,
            only: None,
            fair: false,
        }
    }

    /// Notes that a property fell.
    pub(super) fn fell(&self, state: &mut State, fault: Fault) {
        if self.only.is_none_or(|only| only == fault) {
            state.fault = Some(fault);
        }
    }
}
