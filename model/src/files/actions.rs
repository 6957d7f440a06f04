//! What can happen next.

use super::setting::Setting;
use super::state::{State, Step};
use crate::general::Mode;
use crate::rules::Rule;

pub use crate::general::Fate;

/// What a client decides, where it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The only thing there is to do.
    Go,
    /// Look before asking.
    Look,
    /// Ask to be granted by the creation of the claim.
    AtOnce,
    /// Renew.
    Renew,
    /// Give the lease, or the claim, up.
    Leave,
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The store does what a client asked for last, and answers.
    Store(u8),
    /// A client goes on.
    Client(u8, Choice),
    /// A client gives up waiting for an answer.
    GiveUp(u8, Fate),
    /// A late request arrives.
    Arrive(u8),
    /// A late request is lost for good.
    Lose(u8),
    /// Somebody collects an exclusive's claim.
    CollectClaim(u8),
    /// Somebody collects a writer's end marks.
    CollectShare(u8),
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
                Step::Sent(..) => {
                    actions.push(Action::Store(at));
                    if state.unclear > 0 {
                        actions.push(Action::GiveUp(at, Fate::Applied));
                        actions.push(Action::GiveUp(at, Fate::Lost));
                        if state.late.len() < usize::from(self.late) {
                            actions.push(Action::GiveUp(at, Fate::Late));
                        }
                    }
                }
                Step::Look
                | Step::Check
                | Step::List
                | Step::LookUpMark
                | Step::Last
                | Step::BeatCheck
                | Step::CheckFirst => actions.push(Action::Store(at)),
                _ => {}
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
        if self.collects {
            let claims = state.claims.iter().enumerate();
            let claims = claims.filter(|(_, claim)| self.is_garbage_of_an_exclusive(state, claim));
            actions.extend(claims.map(|(at, _)| Action::CollectClaim(at as u8)));
            let shares = state.shares.iter().enumerate();
            let shares = shares.filter(|(_, share)| self.is_garbage_of_a_writer(share));
            actions.extend(shares.map(|(at, _)| Action::CollectShare(at as u8)));
        }
        let is_quiet = |step| matches!(step, Step::Done | Step::Dead);
        let all_wait = || state.clients.iter().all(|client| client.waits || is_quiet(client.step));
        if !self.fair || all_wait() {
            actions.push(Action::Tick);
        }
    }

    fn choices(&self, state: &State, index: usize, mut choose: impl FnMut(Choice)) {
        let client = &state.clients[index];
        if self.fair && client.waits {
            return;
        }
        match client.step {
            Step::Idle if self.clients[index] == Mode::Exclusive => choose(Choice::Look),
            Step::Idle if self.rules.lack(Rule::R1) => choose(Choice::Look),
            Step::Idle if self.fair && self.rules.keep(Rule::R24) => choose(Choice::Look),
            Step::Idle => {
                // A look may be as old as one likes, so that putting without one covers it.
                choose(Choice::Go);
                let there = self.in_the_way(state);
                if !self.fair && there.is_some_and(|claim| self.is_stale(claim.files.record)) {
                    choose(Choice::Look);
                }
            }
            Step::Looked => {
                choose(Choice::Go);
                if client.at_once {
                    choose(Choice::AtOnce);
                }
            }
            Step::Granting | Step::Checked(_) => choose(Choice::Go),
            Step::Draining => {
                choose(Choice::Renew);
                if !self.fair {
                    choose(Choice::Leave);
                }
            }
            Step::Held => {
                if self.renew && !self.fair {
                    choose(Choice::Renew);
                }
                choose(Choice::Leave);
            }
            _ => {}
        }
    }
}
