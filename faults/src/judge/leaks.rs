//! What is in the store at the end is no more than what its page says that stays.

use std::collections::HashMap;

use leasehold::Name;

use super::{Rule, Violation};
use crate::event::{Event, Thing, What};

const SECOND: u64 = 1000;
const HOUR: u64 = 3600 * SECOND;

/// The claims of a name in files: the last two that were granted; those between, which were
/// withdrawn or opened it to writers; and in a bucket up to three that are not worth a request yet.
const CLAIMS: usize = 10;
/// What one fault leaves for an hour at the most: of each loop of a process, what ended the claim of
/// a writer that could not end it itself.
const MARKS_OF_A_FAULT: usize = 2;
/// And what was under way then: of each loop a file that was being written and a look at the clock.
const SCRAPS_OF_A_FAULT: usize = 4;
/// The shortest time that the end of a writer is marked.
const MARKED: u64 = 60 * SECOND;
/// And how long where nobody knows its ttl, or somebody else ended it.
const MARKED_LONG: u64 = HOUR;
/// How long a look at NATS's clock stays.
const PROBED: u64 = 60 * SECOND;
/// How long NATS keeps a consumer that nobody listens to.
const LISTENED: u64 = 30 * SECOND;
/// What clears away does so when somebody comes by, and servers in their own time.
const SLACK: u64 = 60 * SECOND;
/// The size of a document that remembers all the spent nonces that it may, with room.
const LARGE: u64 = 64 * 1024;
/// How many more threads a process may have at its end than before its first lease: the keeper's, the
/// driver's, and those that its pool keeps for ten seconds.
const THREADS: usize = 32;

/// What a thing is, which tells how many of it there may be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Sort {
    /// There is one, for good.
    Once,
    /// A file of an exclusive's claim, of this name.
    Claim(String),
    /// What is left of a writer, of this name, for some time.
    Mark(String),
    /// Of somebody who was killed or cut off while he wrote or looked.
    Scrap,
    /// A look at NATS's clock.
    Probe,
    /// Who listens on NATS.
    Consumer,
    /// Nobody knows what it is.
    Strange,
}

pub(super) fn check(events: &[Event]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut looked = false;
    for event in events {
        match &event.what {
            What::Remains { things } => {
                looked = true;
                found.extend(End::of(events, event.at).judges(things));
            }
            What::Threads { before, after } if *after > before + THREADS => {
                let who = event.who;
                found.push(format!("{who:?} began with {before} threads and ended with {after}"));
            }
            _ => {}
        }
    }
    if !looked {
        found.push("nobody counted what is in the store".to_owned());
    }
    found.into_iter().map(|said| Rule::Leak.broken(said)).collect()
}

/// The end of a run, in milliseconds.
struct End {
    at: u64,
    calm: u64,
    ttl: u64,
    names: Vec<Name>,
    faults: Vec<u64>,
    ended: Vec<u64>,
}

impl End {
    fn of(events: &[Event], at: u64) -> Self {
        let at = milliseconds(at);
        let mut end = Self { at, calm: 0, ttl: 0, names: vec![], faults: vec![], ended: vec![] };
        for event in events {
            let when = milliseconds(event.at);
            match &event.what {
                What::Began { ttl_ms, names, .. } => {
                    end.ttl = *ttl_ms;
                    let names = names.iter().filter_map(|name| Name::parse(name).ok());
                    end.names = names.collect();
                }
                What::Calm => end.calm = when,
                What::Kills { .. } | What::ClientEnded { .. } => end.ended.push(when),
                _ => {}
            }
            if event.what.is_fault() {
                end.faults.push(when);
            }
        }
        end
    }

    /// How many faults there were in so long a time before the end.
    fn faults_within(&self, time: u64) -> usize {
        self.faults.iter().filter(|at| **at + time >= self.at).count()
    }

    fn judges(&self, things: &[Thing]) -> Vec<String> {
        let mut sorts: HashMap<Sort, HashMap<&str, Left>> = HashMap::new();
        for thing in things {
            let (sort, id) = self.sort(&thing.key);
            let left = sorts.entry(sort).or_default().entry(id).or_default();
            left.age = left.age.min(thing.age_ms);
            left.bytes = left.bytes.max(thing.bytes);
        }
        let bounds = sorts.iter().flat_map(|(sort, left)| self.bounds(sort, left));
        bounds.filter_map(Bound::broken).collect()
    }

    /// What bounds so many of a sort.
    fn bounds<'a>(&self, sort: &Sort, left: &HashMap<&'a str, Left>) -> Vec<Bound<'a>> {
        // Nobody came by since the storm was over, but for the last turns.
        let late = self.at.saturating_sub(self.calm) + SLACK;
        let bound = |what: String, is: &dyn Fn(&Left) -> bool, at_most| {
            let those = left.iter().filter(|(_, left)| is(left)).map(|(id, _)| *id).collect();
            Bound { what, those, at_most }
        };
        let older = |what: String, age: u64, at_most| bound(what, &|left| left.age > age, at_most);
        match sort {
            Sort::Once => vec![bound("too large".to_owned(), &|left| left.bytes > LARGE, 0)],
            Sort::Claim(name) => vec![bound(format!("claims of {name}"), &|_| true, CLAIMS)],
            Sort::Mark(name) => {
                let (short, long) = (MARKED.max(4 * self.ttl) + late, MARKED_LONG + late);
                let of_faults = MARKS_OF_A_FAULT * self.faults_within(long);
                vec![
                    older(format!("old marks of writers of {name}"), short, of_faults),
                    older(format!("marks of writers of {name} that nothing keeps"), long, 0),
                ]
            }
            Sort::Scrap => {
                let of_faults = SCRAPS_OF_A_FAULT * self.faults_within(HOUR + late);
                let old = 2 * HOUR + late;
                vec![
                    bound("scraps".to_owned(), &|_| true, of_faults),
                    older("scraps that somebody should have found".to_owned(), old, 0),
                ]
            }
            Sort::Probe => vec![older("old looks at the clock".to_owned(), PROBED + SLACK, 0)],
            Sort::Consumer => {
                let is_late = |at: &&u64| **at + LISTENED + SLACK >= self.at;
                // And the newcomer. One that was lost is made anew beside it.
                let listened = self.ended.iter().filter(is_late).count() + 1;
                vec![bound("consumers".to_owned(), &|_| true, 2 * listened)]
            }
            Sort::Strange => vec![bound("strange things".to_owned(), &|_| true, 0)],
        }
    }

    /// What a thing is, and which one: all files of a claim are one.
    fn sort<'a>(&self, key: &'a str) -> (Sort, &'a str) {
        for name in &self.names {
            let portable = name.portable();
            let of = |start: &str, end: &str| key.strip_prefix(&format!("{start}{portable}{end}"));
            let sort = if let Some(file) = of("", "/") {
                sort_of_file(name, file)
            } else if let Some(rest) = of("r.", ".") {
                match rest {
                    "x" | "b" => Sort::Once,
                    _ if rest.starts_with("w.") => return (Sort::Mark(name.to_string()), key),
                    _ => Sort::Strange,
                }
            } else if key.strip_prefix("leases/") == Some(name.as_str()) {
                Sort::Once
            } else {
                continue;
            };
            let file = key.len() - key.rsplit('/').next().unwrap_or_default().len();
            let end = key[file..].find('.').map_or(key.len(), |dot| file + dot);
            let is_claim = matches!(sort, Sort::Claim(_) | Sort::Mark(_));
            return (sort, if is_claim { &key[..end] } else { key });
        }
        let sort = match key {
            "leasehold.json" => Sort::Once,
            _ if is_staging(key) || key.starts_with("p-") => Sort::Scrap,
            _ if key.starts_with("p.") => Sort::Probe,
            _ if key.starts_with("consumer/") => Sort::Consumer,
            _ => Sort::Strange,
        };
        (sort, key)
    }
}

/// Files that are one claim, or one thing alone.
struct Left {
    /// Since the last write of any of them.
    age: u64,
    bytes: u64,
}

impl Default for Left {
    fn default() -> Self {
        Self { age: u64::MAX, bytes: 0 }
    }
}

/// Of what there may be so many.
struct Bound<'a> {
    what: String,
    those: Vec<&'a str>,
    at_most: usize,
}

impl Bound<'_> {
    fn broken(self) -> Option<String> {
        let Self { what, those, at_most } = self;
        let one = those.iter().min().filter(|_| those.len() > at_most)?;
        let count = those.len();
        Some(format!("the store still has {count} {what}, more than {at_most}: one is {one}"))
    }
}

/// A file in the folder of a name.
fn sort_of_file(name: &Name, file: &str) -> Sort {
    match file {
        "genesis" | "broken" => Sort::Once,
        _ if is_staging(file) || file.starts_with("p-") => Sort::Scrap,
        _ if file.starts_with("x-") => Sort::Claim(name.to_string()),
        _ if file.starts_with("s-") => Sort::Mark(name.to_string()),
        _ => Sort::Strange,
    }
}

/// Whether it is written as `name#<number>`: it gets its name when it is whole.
fn is_staging(key: &str) -> bool {
    key.rsplit_once('#').is_some_and(|(_, number)| number.bytes().all(|b| b.is_ascii_digit()))
}

const fn milliseconds(nanoseconds: u64) -> u64 {
    nanoseconds / 1_000_000
}
