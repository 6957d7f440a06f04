//! A client is told of its loss before it could matter.

use std::collections::HashMap;

use super::book::{Book, Lease, Span};
use super::{Rule, Violation, seconds};
use crate::event::{Event, What, Who};

/// How much later than at once a client may be told: its own check is right at every moment, and
/// this is about the task that waits for the loss, on a machine that has more to do than it can.
const SLACK: u64 = 2_000_000_000;

pub(super) fn check(events: &[Event], book: &Book) -> Vec<Violation> {
    let processes = Processes::of(events);
    let ttl = events.iter().find_map(|event| match event.what {
        What::Began { ttl_ms, .. } => Some(ttl_ms * 1_000_000),
        _ => None,
    });
    let mut found = Vec::new();
    for name in book.believed() {
        for (index, &(lease, belief)) in name.iter().enumerate() {
            let successor = name[index + 1..].iter().find(|(later, _)| later.conflicts_with(lease));
            let Some((successor, next)) = successor else { continue };
            let due = match lease.broken {
                None => next.from,
                Some(at) => next.from.max(at + ttl.unwrap_or(0)),
            };
            let end = [lease.told, lease.let_go].into_iter().flatten().min();
            let wrong = match end {
                Some(end) => end > processes.excused(lease, belief, end).max(due) + SLACK,
                None => !processes.killed.contains_key(&lease.who),
            };
            if wrong {
                let told =
                    end.map_or("never".to_owned(), |end| format!("only at {}", seconds(end)));
                let since = seconds(next.from);
                found.push(Rule::Notice.broken(format!(
                    "{lease} was told {told} that it is lost, and {successor} held from {since} on"
                )));
            }
        }
    }
    found
}

/// What was done to the client processes.
#[derive(Default)]
struct Processes {
    killed: HashMap<Who, u64>,
    goes_on: HashMap<Who, Vec<u64>>,
}

impl Processes {
    fn of(events: &[Event]) -> Self {
        let mut processes = Self::default();
        for event in events {
            match event.what {
                What::Kills { client } => {
                    processes.killed.insert(Who::Client(client), event.at);
                }
                What::GoesOn { client } => {
                    processes.goes_on.entry(Who::Client(client)).or_default().push(event.at);
                }
                _ => {}
            }
        }
        processes
    }

    /// Nobody is told anything while its process is stopped: when it went on for the last time
    /// between the end of its belief and `end`.
    fn excused(&self, lease: &Lease, belief: Span, end: u64) -> u64 {
        let between = |at: &&u64| (belief.to..=end).contains(*at);
        let all = self.goes_on.get(&lease.who);
        all.and_then(|all| all.iter().rev().find(between)).copied().unwrap_or(0)
    }
}
