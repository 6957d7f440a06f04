//! The longest time that a name was asked for and nobody held it.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::book::Book;
use crate::event::{Event, What, Who};

/// A change of how many ask and how many hold.
struct Change {
    at: u64,
    asking: i64,
    holding: i64,
}

pub(super) fn longest(events: &[Event], book: &Book) -> Duration {
    let mut changes: HashMap<String, Vec<Change>> = asks(events);
    for lease in book.leases() {
        if let (Some(belief), Some(all)) = (lease.belief, changes.get_mut(&lease.name)) {
            all.push(Change { at: belief.from, asking: 0, holding: 1 });
            all.push(Change { at: belief.to, asking: 0, holding: -1 });
        }
    }
    changes.into_values().map(of_name).max().unwrap_or_default()
}

fn of_name(mut changes: Vec<Change>) -> Duration {
    changes.sort_by_key(|change| change.at);
    let (mut asking, mut holding) = (0, 0);
    let (mut since, mut longest) = (None, 0);
    for change in changes {
        asking += change.asking;
        holding += change.holding;
        let is_out = asking > 0 && holding == 0;
        if let (Some(start), false) = (since, is_out) {
            longest = longest.max(change.at - start);
        }
        since = is_out.then(|| since.unwrap_or(change.at));
    }
    Duration::from_nanos(longest)
}

/// Who is stopped asks for nothing, and who is killed for nothing any more.
fn asks(events: &[Event]) -> HashMap<String, Vec<Change>> {
    let mut changes: HashMap<String, Vec<Change>> = HashMap::new();
    let mut open: HashMap<Who, HashMap<u64, String>> = HashMap::new();
    let mut stopped: HashSet<Who> = HashSet::new();
    for event in events {
        let at = event.at;
        let mut change = |name: &str, asking| {
            changes.entry(name.to_owned()).or_default().push(Change { at, asking, holding: 0 });
        };
        match &event.what {
            What::Asks { call, name, .. } => {
                change(name, 1);
                open.entry(event.who).or_default().insert(*call, name.clone());
            }
            What::Granted { call, .. } | What::NotGranted { call, .. } | What::GaveUp { call } => {
                if let Some(name) = open.entry(event.who).or_default().remove(call) {
                    change(&name, -1);
                }
            }
            What::Stops { client } => {
                let who = Who::Client(*client);
                stopped.insert(who);
                open.entry(who).or_default().values().for_each(|name| change(name, -1));
            }
            What::GoesOn { client } => {
                let who = Who::Client(*client);
                if stopped.remove(&who) {
                    open.entry(who).or_default().values().for_each(|name| change(name, 1));
                }
            }
            What::Kills { client } => {
                let who = Who::Client(*client);
                let asked = open.remove(&who).unwrap_or_default();
                if !stopped.remove(&who) {
                    asked.values().for_each(|name| change(name, -1));
                }
            }
            _ => {}
        }
    }
    changes
}
