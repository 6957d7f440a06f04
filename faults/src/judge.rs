//! What a history proves: a pure function from its events to a verdict.

mod beliefs;
mod book;
mod ends;
mod epochs;
mod kept;
mod leaks;
mod losses;
mod outage;
mod writes;

use std::fmt;
use std::time::Duration;

use crate::event::{Event, What};
use book::Book;

/// What a history proves.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// On which kind of store.
    pub backend: String,
    /// How many leases were granted.
    pub grants: usize,
    /// How many things went wrong on purpose.
    pub faults: usize,
    /// How many writes of superseded holders the resource without a fence took: what a fence is
    /// worth.
    pub unfenced_stale_writes: usize,
    /// How many late writes the resource with a fence turned away.
    pub refused_writes: usize,
    /// How many leases were held for longer than the usual ttl while nothing was in their way.
    pub undisturbed: usize,
    /// The longest time that a name was asked for and nobody held it.
    pub longest_outage: Duration,
    /// What was broken.
    pub violations: Vec<Violation>,
}

/// Something that must never be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which rule it breaks.
    pub rule: Rule,
    /// Who, when and how, for people.
    pub said: String,
}

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// No two believe at one moment who exclude each other.
    Overlap,
    /// Epochs rise with each exclusive, and all writers between two of those share theirs.
    Epochs,
    /// The fenced resource takes nothing of a holder whose successor it has seen.
    StaleWrite,
    /// The fenced resource refuses nobody who holds.
    ValidWrite,
    /// A client is told of its loss before it could matter.
    Notice,
    /// A lease is not lost while nothing is in the way of its renewals.
    Kept,
    /// Everybody gets on once the faults are over.
    Progress,
    /// Nothing is left behind.
    Leak,
    /// A run in which nothing happened proves nothing.
    Empty,
}

/// Judges a history.
#[must_use]
pub fn judge(events: &[Event]) -> Verdict {
    let book = Book::of(events);
    let (writes, counts) = writes::check(events, &book);
    let (lost, undisturbed) = kept::check(events, &book);
    let mut verdict = Verdict {
        backend: "?".to_owned(),
        grants: count(events, |what| matches!(what, What::Granted { .. })),
        faults: count(events, What::is_fault),
        unfenced_stale_writes: counts.unfenced_stale,
        refused_writes: counts.refused,
        undisturbed,
        longest_outage: outage::longest(events, &book),
        violations: Vec::new(),
    };
    let found = &mut verdict.violations;
    found.extend(beliefs::check(&book));
    found.extend(epochs::check(&book));
    found.extend(writes);
    found.extend(losses::check(events, &book));
    found.extend(lost);
    found.extend(ends::check(events));
    found.extend(leaks::check(events));
    for event in events {
        if let What::Began { backend, .. } = &event.what {
            verdict.backend.clone_from(backend);
        }
    }
    let mut needed =
        vec![("lease was granted", verdict.grants), ("fault happened", verdict.faults)];
    needed.push(("belief was seen", book.leases().filter(|lease| lease.belief.is_some()).count()));
    needed.push(("write arrived", count(events, |what| matches!(what, What::Arrived { .. }))));
    let none = needed.into_iter().filter(|(_, times)| *times == 0);
    verdict.violations.extend(none.map(|(what, _)| Rule::Empty.broken(format!("no {what}"))));
    verdict
}

impl Verdict {
    /// Whether nothing was broken.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    fn of(&self, rule: Rule) -> usize {
        self.violations.iter().filter(|violation| violation.rule == rule).count()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} grants, {} faults, {} overlaps, {} epoch regressions, {} stale writes accepted, \
             longest outage {:.1} s",
            self.backend,
            self.grants,
            self.faults,
            self.of(Rule::Overlap),
            self.of(Rule::Epochs),
            self.of(Rule::StaleWrite),
            self.longest_outage.as_secs_f64()
        )
    }
}

impl Rule {
    fn broken(self, said: impl Into<String>) -> Violation {
        Violation { rule: self, said: said.into() }
    }
}

fn count(events: &[Event], is: impl Fn(&What) -> bool) -> usize {
    events.iter().filter(|event| is(&event.what)).count()
}

/// A moment of a history, for people.
fn seconds(at: u64) -> String {
    format!("{:.6} s", at as f64 / 1e9)
}
