//! The fenced resource takes nothing of a superseded holder, and refuses nobody who holds.

use std::collections::HashMap;

use leasehold::{Mode, Nonce, Token};

use super::book::{Book, Lease, Span};
use super::{Rule, Violation, seconds};
use crate::event::{Event, Kind, Resource, What};

/// What is told, and is no violation.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) unfenced_stale: usize,
    pub(super) refused: usize,
}

/// What one resource has seen of one name.
#[derive(Default)]
struct Seen {
    highest: Option<Token>,
    /// When the latest holder began to believe that announced itself, of all and of those alone.
    latest: u64,
    latest_alone: u64,
}

struct Arrival<'a> {
    at: u64,
    nonce: Nonce,
    kind: Kind,
    token: Token,
    admitted: bool,
    lease: Option<(&'a Lease, Span)>,
}

pub(super) fn check(events: &[Event], book: &Book) -> (Vec<Violation>, Counts) {
    let mut found = Vec::new();
    let mut counts = Counts::default();
    let (mut fenced, mut unfenced) = (HashMap::<_, Seen>::new(), HashMap::<_, Seen>::new());
    for event in events {
        let What::Arrived { nonce, name, resource, kind, token, admitted } = &event.what else {
            continue;
        };
        let lease = book.lease(*nonce).and_then(|lease| Some((lease, lease.belief?)));
        let arrival = Arrival {
            at: event.at,
            nonce: *nonce,
            kind: *kind,
            token: *token,
            admitted: *admitted,
            lease,
        };
        match resource {
            Resource::Fenced => {
                counts.refused += usize::from(!admitted);
                found.extend(fenced.entry(name).or_default().judges(&arrival));
            }
            Resource::Unfenced => {
                let seen = unfenced.entry(name).or_default();
                counts.unfenced_stale += usize::from(seen.highest > Some(*token));
                seen.highest = seen.highest.max(Some(*token));
            }
        }
    }
    (found, counts)
}

impl Seen {
    fn judges(&mut self, arrival: &Arrival<'_>) -> Option<Violation> {
        let Arrival { at, nonce, kind, token, admitted, lease } = arrival;
        let when = seconds(*at);
        if !admitted {
            let (lease, _) = lease.filter(|(_, span)| span.from <= *at && *at <= span.to)?;
            return Some(
                Rule::ValidWrite.broken(format!("{lease} was refused at {when}, while it held")),
            );
        }
        let wrong = if self.highest > Some(*token) {
            let said = format!("a {kind:?} of {nonce} with token {token} was let in at {when}");
            Some(Rule::StaleWrite.broken(format!("{said}, after {:?}", self.highest)))
        } else {
            self.superseded(arrival)
        };
        self.highest = self.highest.max(Some(*token));
        if let (Kind::Announcement, Some((lease, belief))) = (kind, lease) {
            self.latest = self.latest.max(belief.from);
            if lease.mode == Mode::Exclusive {
                self.latest_alone = self.latest_alone.max(belief.from);
            }
        }
        wrong
    }

    /// By the order of the beliefs, whatever the tokens say: they might be wrong.
    fn superseded(&self, arrival: &Arrival<'_>) -> Option<Violation> {
        let (lease, belief) = arrival.lease?;
        let successor = match lease.mode {
            Mode::Exclusive => self.latest,
            Mode::Writer => self.latest_alone,
        };
        (successor > belief.from).then(|| {
            let when = seconds(arrival.at);
            Rule::StaleWrite.broken(format!("{lease} was let in at {when}, after its successor"))
        })
    }
}
