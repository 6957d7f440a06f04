//! Epochs rise with each exclusive, and all writers between two of those share theirs.

use std::collections::HashMap;

use leasehold::{Epoch, Mode};

use super::book::{Book, Lease, Span};
use super::{Rule, Violation};

pub(super) fn check(book: &Book) -> Vec<Violation> {
    let mut found: Vec<Violation> =
        book.believed().iter().flat_map(|name| in_order(name)).collect();
    found.extend(given_twice(book));
    found.extend(against_the_answers(book));
    found
}

/// By the order of the beliefs.
fn in_order(leases: &[(&Lease, Span)]) -> Vec<Violation> {
    let mut found = Vec::new();
    // The highest epoch up to here of either mode, and the writer that lasts longest: writers that
    // hold beside each other share the epoch, so that one stands for all of them.
    let (mut exclusive, mut writer): (Option<&Lease>, Option<&Lease>) = (None, None);
    let mut lasting: Option<(&Lease, Span)> = None;
    for &(lease, belief) in leases {
        let wrong = |before: Option<&Lease>, is: fn(Epoch, Epoch) -> bool| {
            let before = before.filter(|before| is(lease.epoch, before.epoch))?;
            Some(Rule::Epochs.broken(format!("{lease} follows {before}")))
        };
        let beside = |(other, span): (&Lease, Span)| {
            let wrong = belief.from < span.to && lease.epoch != other.epoch;
            wrong.then(|| Rule::Epochs.broken(format!("{lease} holds beside {other}")))
        };
        let is_higher = |known: Option<&Lease>| known.is_none_or(|it| it.epoch < lease.epoch);
        match lease.mode {
            Mode::Exclusive => {
                let not_above = |mine: Epoch, others: Epoch| mine <= others;
                found.extend(wrong(exclusive, not_above).or_else(|| wrong(writer, not_above)));
                if is_higher(exclusive) {
                    exclusive = Some(lease);
                }
            }
            Mode::Writer => {
                let below = |mine: Epoch, others: Epoch| mine < others;
                let order = wrong(exclusive, below).or_else(|| wrong(writer, below));
                found.extend(order.or_else(|| lasting.and_then(beside)));
                if is_higher(writer) {
                    writer = Some(lease);
                }
                if lasting.is_none_or(|(_, span)| span.to < belief.to) {
                    lasting = Some((lease, belief));
                }
            }
        }
    }
    found
}

/// Also where nobody was seen to believe, or an operator came between.
fn given_twice(book: &Book) -> Vec<Violation> {
    let mut given: HashMap<_, &Lease> = HashMap::new();
    let exclusives = book.leases().filter(|lease| lease.mode == Mode::Exclusive);
    exclusives
        .filter_map(|lease| {
            let before = given.insert((&lease.name, lease.epoch), lease)?;
            Some(Rule::Epochs.broken(format!("{lease} was given again, after {before}")))
        })
        .collect()
}

/// By the answers: whoever asks after another was told of its grant gets a higher epoch. It holds
/// for those too who were not seen to believe.
fn against_the_answers(book: &Book) -> Vec<Violation> {
    let mut exclusives: Vec<&Lease> =
        book.leases().filter(|lease| lease.mode == Mode::Exclusive).collect();
    exclusives.sort_by_key(|lease| lease.granted);
    // The highest that was told up to each answer.
    let mut highest: HashMap<&str, Vec<(u64, &Lease)>> = HashMap::new();
    for lease in exclusives {
        let known = highest.entry(&lease.name).or_default();
        if known.last().is_none_or(|(_, before)| before.epoch < lease.epoch) {
            known.push((lease.granted, lease));
        }
    }
    let wrong = |lease: &&Lease| {
        let known = highest.get(lease.name.as_str())?;
        let (_, before) = known[..known.partition_point(|(at, _)| *at < lease.asked)].last()?;
        let is_wrong = match lease.mode {
            Mode::Exclusive => lease.epoch <= before.epoch,
            Mode::Writer => lease.epoch < before.epoch,
        };
        is_wrong.then(|| Rule::Epochs.broken(format!("{lease} was asked for after {before}")))
    };
    book.leases().filter_map(|lease| wrong(&lease)).collect()
}
