//! What a client does with what it is told.

use super::actions::{Choice, Fate};
use super::canonical::{LEFT, NO_EPOCH, each_nonce};
use super::setting::Setting;
use super::state::{Client, Fault, Key, Mark, Request, Share, State, Step, Then};
use crate::general::{Mode, Nonce, Token};
use crate::rules::Rule;

impl Setting {
    pub(super) fn key(&self, state: &State, index: usize) -> Key {
        match self.clients[index] {
            Mode::Writer => Key::Writer(Nonce::current(index)),
            Mode::Exclusive => {
                Key::Exclusive { n: state.clients[index].n, nonce: Nonce::current(index) }
            }
        }
    }

    /// The client's part of [`super::Action::Client`].
    pub(super) fn go_on(&self, state: &mut State, index: usize, choice: Choice) {
        let key = self.key(state, index);
        let client = &mut state.clients[index];
        match (client.step, choice) {
            (Step::Idle, Choice::Look) => client.step = Step::Look,
            (Step::Looked, Choice::AtOnce) => {
                client.step = Step::Sent(Request::AtOnce(key), Then::List);
                client.rest = self.ttl;
            }
            (Step::Idle | Step::Looked, _) => {
                client.at_once = false;
                let then = if matches!(key, Key::Writer(_)) { Then::Check } else { Then::List };
                client.step = Step::Sent(Request::Create(key), then);
                client.rest = self.ttl;
            }
            (Step::Granting, _) => self.take_grant(state, index),
            (Step::Draining, Choice::Renew) => {
                client.step = Step::Sent(Request::Beat(key), Then::List);
                client.next_rest = self.ttl;
            }
            (Step::Held, Choice::Renew) if self.rules.lack(Rule::F1) => {
                client.step = Step::CheckFirst;
            }
            (Step::Held, Choice::Renew) => {
                client.step = Step::Sent(Request::Beat(key), Then::BeatCheck);
                client.next_rest = self.ttl;
            }
            (Step::Draining | Step::Held, Choice::Leave) => self.leave(state, index),
            (Step::Checked(counts), _) => self.take_check(state, index, counts),
            _ => {}
        }
    }

    fn take_grant(&self, state: &mut State, index: usize) {
        let writer = self.clients[index] == Mode::Writer;
        let client = &mut state.clients[index];
        let token = Token { epoch: client.epoch, writer };
        let is_late = if writer { token < state.top } else { token <= state.top };
        if self.rules.lack(Rule::R4) {
            client.rest = self.ttl;
        }
        let checked = self.rules.keep(if writer { Rule::R5 } else { Rule::R6 });
        if checked && client.rest == 0 {
            self.leave(state, index);
            return;
        }
        client.step = Step::Held;
        client.holds = true;
        client.waits = self.fair;
        if is_late {
            state.fault = Some(Fault::EpochOrder);
        }
        state.top = state.top.max(token);
    }

    /// F3: whether a heartbeat counts is decided when its check is answered.
    fn take_check(&self, state: &mut State, index: usize, counts: bool) {
        use super::setting::Deadline;
        let client = &mut state.clients[index];
        let in_time = client.rest > 0 || self.deadline == Deadline::Sent || self.is_deaf();
        let rest = if self.rules.lack(Rule::R4) { self.ttl } else { client.next_rest };
        if counts && in_time && (rest > 0 || self.is_deaf()) {
            client.step = Step::Held;
            client.rest = rest;
            client.next_rest = 0;
        } else {
            self.idle(state, index, false);
        }
    }

    /// Without rule F3 a holder goes on refreshing, whatever its clock says.
    pub(super) fn is_deaf(&self) -> bool {
        self.rules.lack(Rule::F3)
    }

    /// Ends one's own claim. An exclusive's fate is sealed before, unless it is known already: no
    /// request of one's own may be on its way that could still seal it (rule F8).
    pub(super) fn leave(&self, state: &mut State, index: usize) {
        let key = self.key(state, index);
        let client = &mut state.clients[index];
        let is_sealed = client.holds || matches!(client.step, Step::Granting | Step::Last);
        client.had_its_turn |= client.holds && self.fair;
        client.step = match key {
            Key::Writer(nonce) => {
                // A creation that was never answered may still come: it must find its nonce spent.
                let is_there = |share: &Share| share.nonce == nonce && share.files.record.is_some();
                let there = state.shares.iter().any(is_there);
                let deletes = there || self.rules.lack(Rule::R19);
                let request = if deletes { Request::Delete(nonce) } else { Request::Release(key) };
                Step::Sent(request, Then::Out)
            }
            Key::Exclusive { .. } if is_sealed && client.at_once => {
                Step::Sent(Request::LetGo(key), Then::Out)
            }
            Key::Exclusive { .. } if is_sealed || self.rules.lack(Rule::F8) => {
                Step::Sent(Request::Release(key), Then::Out)
            }
            Key::Exclusive { n, .. } => Step::Sent(Request::Mark(n, Mark::Void), Then::Release),
        };
        client.holds = false;
        client.rest = 0;
        client.next_rest = 0;
        client.epoch = NO_EPOCH;
    }

    /// Ends an attempt. If it is said to have left nothing behind, so it must be, and nothing may
    /// be on its way that would still put something there.
    pub(super) fn idle(&self, state: &mut State, index: usize, clean: bool) {
        let current = Nonce::current(index);
        let client = &state.clients[index];
        let counts = match self.clients[index] {
            Mode::Writer => {
                state.shares.iter().any(|s| s.nonce == current && self.counts(&s.files))
            }
            Mode::Exclusive => {
                let mine = state.claims.iter().filter(|claim| claim.n == client.n);
                mine.into_iter().any(|claim| self.counts(&claim.files))
            }
        };
        if clean && (counts || self.is_created_later(state, index)) {
            state.fault = Some(Fault::Leftover);
        }
        let had_its_turn = self.fair && (client.had_its_turn || client.holds);
        state.clients[index] = idle();
        if had_its_turn {
            state.clients[index].step = Step::Done;
        }
        if self.rules.keep(Rule::R7) {
            each_nonce(state, |nonce| {
                if *nonce == current {
                    nonce.attempt = LEFT;
                }
            });
        }
    }

    /// Whether a writer's creation is on its way that finds no end mark.
    fn is_created_later(&self, state: &State, index: usize) -> bool {
        let key = Key::Writer(Nonce::current(index));
        let released = |share: &Share| Key::Writer(share.nonce) == key && share.files.released;
        state.late.contains(&Request::Create(key)) && !state.shares.iter().any(released)
    }

    /// Goes on without an answer: nothing is assumed.
    pub(super) fn give_up(&self, state: &mut State, index: usize, fate: Fate) {
        let Step::Sent(request, then) = state.clients[index].step else { return };
        // 255 stands for any number.
        if state.unclear != u8::MAX {
            state.unclear -= 1;
        }
        match fate {
            Fate::Applied => {
                self.apply(state, request);
            }
            Fate::Late => state.late.push(request),
            Fate::Lost => {}
        }
        let client = &mut state.clients[index];
        let is_there = fate == Fate::Applied || self.rules.lack(Rule::R8);
        client.step = match then {
            Then::Check if self.rules.lack(Rule::R1) => return self.leave(state, index),
            Then::Check | Then::Opened => Step::Check,
            // A heartbeat without an answer prolongs nothing.
            Then::List if matches!(request, Request::Beat(_)) => {
                client.next_rest = 0;
                Step::Draining
            }
            Then::List | Then::Clear(_) => Step::List,
            Then::Kill | Then::LookAgain | Then::Release | Then::Out => {
                return self.idle(state, index, false);
            }
            Then::Last => Step::LookUpMark,
            // R8: the file's content tells whether this very write is there.
            Then::BeatCheck if is_there => Step::BeatCheck,
            Then::BeatCheck | Then::Beaten if client.rest > 0 || self.is_deaf() => {
                client.next_rest = 0;
                Step::Held
            }
            Then::BeatCheck | Then::Beaten => return self.idle(state, index, false),
        };
    }
}

/// A client in no attempt.
pub(super) fn idle() -> Client {
    Client { epoch: NO_EPOCH, ..Client::default() }
}
