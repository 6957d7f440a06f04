//! Traces in words.

use std::hash::Hash;

use stateright::Model;

use crate::check::Fall;
use crate::general::Mode;
use crate::live::Trap;

/// A model that can say what happens.
pub trait Told: Model {
    /// What `action` does, in a few words.
    fn tell(&self, before: &Self::State, action: Self::Action, after: &Self::State) -> String;
}

/// What a client is called: its mode, and a number where there are several of it.
#[must_use]
pub fn name(clients: &[Mode], index: u8) -> String {
    let Some(mode) = clients.get(usize::from(index)) else { return "somebody".to_owned() };
    let letter = if *mode == Mode::Writer { 'W' } else { 'X' };
    let alike = clients.iter().filter(|other| *other == mode).count();
    let before = clients.iter().take(usize::from(index)).filter(|other| *other == mode).count();
    if alike == 1 { letter.to_string() } else { format!("{letter}{}", before + 1) }
}

/// The way to a property that fell, one step each.
pub fn of_fall<M>(model: &M, fall: &Fall<M::State, M::Action>) -> Vec<String>
where
    M: Told,
    M::Action: Copy,
{
    let steps = fall.trace.windows(2).filter_map(|pair| match pair {
        [(before, Some(action)), (after, _)] => Some(model.tell(before, *action, after)),
        _ => None,
    });
    steps.collect()
}

/// The way to a trap, and then what goes on for ever.
pub fn of_trap<M>(model: &M, trap: &Trap<M::State, M::Action>) -> (Vec<String>, Vec<String>)
where
    M: Told,
    M::State: Copy + Eq + Hash,
    M::Action: Copy,
{
    let tell = |(before, action): &(M::State, M::Action)| {
        let after = model.next_state(before, *action);
        after.map_or_else(String::new, |after| model.tell(before, *action, &after))
    };
    (trap.way.iter().map(tell).collect(), trap.circle.iter().map(tell).collect())
}
