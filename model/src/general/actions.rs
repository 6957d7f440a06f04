//! What can happen next.

use super::setting::{Evidence, Resource, Setting};
use super::state::{Mode, State, Step};
use crate::rules::Rule;

/// What a client decides, where it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The only thing there is to do.
    Go,
    /// Look before asking.
    Look,
    /// Renew.
    Renew,
    /// Renew, asking for the other ttl.
    Retime,
    /// Give the lease, or the claim, up.
    Leave,
    /// Write to the resource: confirm first.
    Write,
}

/// What becomes of a request that its client gives up waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was applied; the answer is lost.
    Applied,
    /// It never arrives.
    Lost,
    /// It arrives at any later moment, or never.
    Late,
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The store does what a client asked for last, and answers.
    Store(u8),
    /// The store answers a read from an old copy: what breaks rule R3.
    StaleRead(u8),
    /// A client goes on.
    Client(u8, Choice),
    /// A client gives up waiting for an answer.
    GiveUp(u8, Fate),
    /// The store does what a client asked for, and a repeat of it is still on its way.
    Repeat(u8),
    /// A late request arrives.
    Arrive(u8),
    /// A late request is lost for good.
    Lose(u8),
    /// A write arrives at the resource.
    Land(u8),
    /// A client dies.
    Die(u8),
    /// Time passes.
    Tick,
}

impl Setting {
    pub(super) fn actions_of(&self, state: &State, actions: &mut Vec<Action>) {
        if state.fault.is_some() {
            return;
        }
        for (index, client) in state.clients.iter().enumerate() {
            let at = index as u8;
            match client.step {
                Step::Sent(_) => {
                    actions.push(Action::Store(at));
                    let has_room = state.late.len() < usize::from(self.late);
                    if self.repeats && has_room {
                        actions.push(Action::Repeat(at));
                    }
                    if state.unclear > 0 {
                        actions.push(Action::GiveUp(at, Fate::Applied));
                        actions.push(Action::GiveUp(at, Fate::Lost));
                        if has_room {
                            actions.push(Action::GiveUp(at, Fate::Late));
                        }
                    }
                }
                Step::Check => {
                    actions.push(Action::Store(at));
                    if self.rules.lack(Rule::R3) {
                        actions.push(Action::StaleRead(at));
                    }
                }
                Step::Look | Step::List | Step::LookUpCommit | Step::Announce | Step::Confirm => {
                    actions.push(Action::Store(at))
                }
                _ => {}
            }
            if matches!(client.step, Step::ReadBack) {
                actions.push(Action::Store(at));
            }
            self.choices(state, index, |choice| actions.push(Action::Client(at, choice)));
            if state.deaths > 0 && !matches!(client.step, Step::Idle | Step::Done | Step::Dead) {
                actions.push(Action::Die(at));
            }
        }
        for index in 0..state.late.len() as u8 {
            actions.push(Action::Arrive(index));
            actions.push(Action::Lose(index));
        }
        actions.extend((0..state.writes.len() as u8).map(Action::Land));
        if self.time_may_pass(state) {
            actions.push(Action::Tick);
        }
    }

    fn choices(&self, state: &State, index: usize, mut choose: impl FnMut(Choice)) {
        let client = &state.clients[index];
        if self.fair && client.waits {
            return;
        }
        match client.step {
            Step::Idle => self.choices_of_idle(state, index, choose),
            Step::Looked | Step::Granting | Step::Renewed(_) | Step::Confirmed(_) => {
                choose(Choice::Go);
            }
            Step::Draining => {
                choose(Choice::Renew);
                if !self.fair {
                    choose(Choice::Leave);
                }
            }
            Step::Held => {
                if self.renew && !self.fair {
                    choose(Choice::Renew);
                    if self.other_ttl != self.ttl {
                        choose(Choice::Retime);
                    }
                }
                let own = state.writes.iter().any(|write| usize::from(write.owner) == index);
                // Without a fence a lease is not given up while a write of one's own is under way.
                if !(own && self.resource == Resource::Unfenced) {
                    choose(Choice::Leave);
                }
                if self.resource != Resource::None
                    && client.at_work
                    && state.writes.len() < usize::from(self.writes)
                {
                    choose(Choice::Write);
                }
            }
            Step::ReadBack if client.rest > 0 && self.renew => choose(Choice::Renew),
            _ => {}
        }
    }

    fn choices_of_idle(&self, state: &State, index: usize, mut choose: impl FnMut(Choice)) {
        match self.clients[index] {
            Mode::Writer if self.fair => {
                choose(if self.rules.keep(Rule::R24) { Choice::Look } else { Choice::Go });
            }
            Mode::Writer => {
                // A look may be as old as one likes, so that inserting without one covers it. One
                // that comes before a clearing is modelled, and so is one that replaces the check.
                if self.rules.lack(Rule::R1) {
                    choose(Choice::Look);
                    return;
                }
                choose(Choice::Go);
                if self.clear && state.exclusive.is_some_and(|there| there.left == 0) {
                    choose(Choice::Look);
                }
            }
            Mode::Exclusive => {
                let at_once = self.evidence == Evidence::AtTheStep && self.rules.keep(Rule::R12);
                choose(if at_once { Choice::Go } else { Choice::Look });
            }
        }
    }

    fn time_may_pass(&self, state: &State) -> bool {
        let is_quiet = |step| matches!(step, Step::Done | Step::Dead);
        let has_arrived = state.writes.iter().all(|write| write.age == 0);
        (self.resource != Resource::Unfenced || has_arrived)
            && (!self.fair
                || state.clients.iter().all(|client| client.waits || is_quiet(client.step)))
    }
}
