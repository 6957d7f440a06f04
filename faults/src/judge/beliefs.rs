//! No two believe at one moment who exclude each other.

use leasehold::Mode;

use super::book::{Book, Lease, Span};
use super::{Rule, Violation, seconds};

pub(super) fn check(book: &Book) -> Vec<Violation> {
    book.believed().iter().flat_map(|name| of_name(name)).collect()
}

/// Each is compared with the one before it that lasted longest, of all and of those alone: whatever
/// it overlaps, it overlaps one of these.
fn of_name(leases: &[(&Lease, Span)]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut longest: Option<(&Lease, Span)> = None;
    let mut longest_alone: Option<(&Lease, Span)> = None;
    for &(lease, belief) in leases {
        let before = if lease.mode == Mode::Exclusive { longest } else { longest_alone };
        if let Some((other, others)) = before.filter(|(_, others)| belief.from < others.to) {
            let until = belief.to.min(others.to);
            found.push(Rule::Overlap.broken(format!(
                "{lease} and {other} both believed from {} to {}",
                seconds(belief.from),
                seconds(until)
            )));
        }
        let lasts =
            |known: Option<(&Lease, Span)>| known.is_none_or(|(_, span)| span.to < belief.to);
        if lasts(longest) {
            longest = Some((lease, belief));
        }
        if lease.mode == Mode::Exclusive && lasts(longest_alone) {
            longest_alone = Some((lease, belief));
        }
    }
    found
}
