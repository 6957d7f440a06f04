//! Renewals go on under load: no lease runs out while nothing is in the way of its renewals.
//!
//! In the way is: a stop of its process; any fault of a server, a way or a disk, wherever that is; and a
//! machine that has more to do than it can, which shows where a process that was not stopped got its
//! turn late. Each of them counts for a ttl longer than it took, for who was thrown back by it needs
//! time, and so does the store.

use std::collections::HashMap;

use super::book::{Book, Lease, Span};
use super::{Rule, Violation, seconds};
use crate::event::{Event, What, Who};

/// What was broken, and how many leases were held for longer than the usual ttl with nothing in the way.
pub(super) fn check(events: &[Event], book: &Book) -> (Vec<Violation>, usize) {
    let ttl = events.iter().find_map(|event| match event.what {
        What::Began { ttl_ms, .. } => Some(ttl_ms * 1_000_000),
        _ => None,
    });
    let ttl = ttl.unwrap_or(0);
    let troubles = Troubles::of(events, ttl);
    let mut found = Vec::new();
    let mut undisturbed = 0;
    for lease in book.leases().filter(|lease| lease.broken.is_none()) {
        let let_go = lease.let_go.unwrap_or(u64::MAX);
        let expired = lease.expired.filter(|at| *at <= let_go);
        let Some(end) = expired.or(lease.belief.map(|belief| belief.to)) else { continue };
        if troubles.touch(lease, Span { from: lease.granted, to: end }) {
            continue;
        }
        // The usual ttl is half the longest.
        undisturbed += usize::from(end.saturating_sub(lease.granted) > ttl / 2);
        found.extend(expired.map(|at| {
            let (from, to) = (seconds(lease.granted), seconds(at));
            Rule::Kept.broken(format!(
                "{lease} ran out at {to}, and nothing was in its way from its grant at {from} on"
            ))
        }));
    }
    (found, undisturbed)
}

/// When something was in the way of renewals.
struct Troubles {
    /// Of all.
    all: Vec<Span>,
    /// Of one process alone.
    of: HashMap<Who, Vec<Span>>,
}

impl Troubles {
    fn of(events: &[Event], ttl: u64) -> Self {
        let mut troubles = Self { all: Vec::new(), of: HashMap::new() };
        let mut stopped: HashMap<Who, u64> = HashMap::new();
        let mut spoiled: HashMap<&str, u64> = HashMap::new();
        for event in events {
            match &event.what {
                What::Stops { client } => drop(stopped.insert(Who::Client(*client), event.at)),
                What::GoesOn { client } => {
                    let who = Who::Client(*client);
                    let from = stopped.remove(&who).unwrap_or(event.at);
                    troubles.of.entry(who).or_default().push(Span { from, to: event.at + ttl });
                }
                What::Spoils { fault } => drop(spoiled.insert(fault, event.at)),
                What::Mends { fault } => {
                    let from = spoiled.remove(fault.as_str()).unwrap_or(event.at);
                    troubles.all.push(Span { from, to: event.at + ttl });
                }
                _ => {}
            }
        }
        // What never ended.
        let to = u64::MAX;
        troubles.all.extend(spoiled.into_values().map(|from| Span { from, to }));
        for (who, from) in stopped {
            troubles.of.entry(who).or_default().push(Span { from, to });
        }
        let late = events.iter().filter_map(|event| {
            let What::Late { by_ms } = event.what else { return None };
            let from = event.at.saturating_sub(by_ms * 1_000_000);
            let stops = troubles.of.get(&event.who).into_iter().flatten();
            // Its own stop explains it.
            let is_stopped = stops.into_iter().any(|stop| stop.overlaps(from, event.at));
            (!is_stopped).then_some(Span { from, to: event.at + ttl })
        });
        let late: Vec<Span> = late.collect();
        troubles.all.extend(late);
        troubles
    }

    fn touch(&self, lease: &Lease, life: Span) -> bool {
        let own = self.of.get(&lease.who).into_iter().flatten();
        self.all.iter().chain(own).any(|trouble| trouble.overlaps(life.from, life.to))
    }
}

impl Span {
    fn overlaps(self, from: u64, to: u64) -> bool {
        self.from <= to && from <= self.to
    }
}
