//! Everybody gets on once the faults are over, and nothing is left behind.

use std::collections::HashSet;

use super::{Rule, Violation};
use crate::event::{Event, What, Who};

pub(super) fn check(events: &[Event]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut names: &[String] = &[];
    let (mut turns, mut newcomers, mut looked) = (HashSet::new(), HashSet::new(), HashSet::new());
    let mut ended = Vec::new();
    for event in events {
        match &event.what {
            What::Began { names: all, .. } => names = all,
            What::Turn { problem: None, .. } => drop(turns.insert(event.who)),
            What::Turn { name, problem: Some(why) } => {
                let who = event.who;
                found.push(Rule::Progress.broken(format!("{who:?} did not get {name}: {why}")));
            }
            What::Newcomer { name, problem: None } => drop(newcomers.insert(name)),
            What::Newcomer { name, problem: Some(why) } => {
                found.push(Rule::Progress.broken(format!("a newcomer did not get {name}: {why}")));
            }
            What::Left { name, holders } => {
                looked.insert(name);
                let told = |holder| Rule::Leak.broken(format!("{name} still has {holder}"));
                found.extend(holders.iter().map(told));
            }
            What::Knows { names: known } => {
                let strange = known.iter().filter(|name| !names.contains(name));
                found.extend(
                    strange.map(|name| Rule::Leak.broken(format!("a strange name, {name}"))),
                );
            }
            What::ClientEnded { client, problem } => {
                ended.push(Who::Client(*client));
                let told =
                    |why| Rule::Leak.broken(format!("client {client} did not end well: {why}"));
                found.extend(problem.iter().map(told));
            }
            _ => {}
        }
    }
    let idle = ended.iter().filter(|who| !turns.contains(who));
    found.extend(idle.map(|who| Rule::Progress.broken(format!("{who:?} had no last turn"))));
    let unseen = names.iter().filter(|name| !newcomers.contains(name) || !looked.contains(name));
    found.extend(
        unseen.map(|name| Rule::Progress.broken(format!("{name} was not asked at the end"))),
    );
    if ended.is_empty() {
        found.push(Rule::Progress.broken("no client lived to the end"));
    }
    found
}
