//! What a client does with what it is told.

use super::actions::{Choice, Fate};
use super::canonical::{LEFT, NO_EPOCH, each_nonce, is_created_later};
use super::setting::{Evidence, Resource, Setting};
use super::state::{Client, Fault, Mode, Nonce, Over, Request, State, Step, Token, Write};
use crate::rules::Rule;

impl Setting {
    /// How long a grant or renewal that is sent now, for this ttl, may be believed in.
    pub(super) const fn belief(&self, ttl: u8) -> u8 {
        let margin = if self.rules.keep(Rule::R18) { self.margin } else { 0 };
        ttl + self.clock_late - margin
    }

    pub(super) fn token(&self, state: &State, index: usize) -> Token {
        let writer = self.clients[index] == Mode::Writer;
        Token { epoch: state.clients[index].epoch, writer }
    }

    /// The client's part of [`super::Action::Client`].
    pub(super) fn go_on(&self, state: &mut State, index: usize, choice: Choice) {
        let client = &mut state.clients[index];
        match (client.step, choice) {
            (Step::Idle, Choice::Look) => client.step = Step::Look,
            (Step::Idle | Step::Looked, _) => self.ask(state, index),
            (Step::Granting, _) => self.take_grant(state, index),
            (Step::Draining | Step::Held, Choice::Leave) => self.leave(state, index),
            (Step::Draining | Step::ReadBack, _) | (_, Choice::Renew) => {
                self.send_renewal(state, index, self.ttl);
            }
            (_, Choice::Retime) => self.send_renewal(state, index, self.other_ttl),
            (_, Choice::Write) => client.step = Step::Confirm,
            (Step::Renewed(true), _) => {
                client.step = Step::Held;
                client.acked = client.sent;
                let from_the_answer = self.rules.lack(Rule::R4);
                client.rest =
                    if from_the_answer { self.belief(self.ttl) } else { client.next_rest };
                client.next_rest = 0;
            }
            (Step::Renewed(false), _) => self.idle(state, index, false),
            (Step::Confirmed(holds), _) => self.take_confirmation(state, index, holds),
            _ => {}
        }
    }

    /// W1 and X1: sends the request that asks for the lease.
    pub(super) fn ask(&self, state: &mut State, index: usize) {
        let nonce = Nonce::current(index);
        let request = match self.clients[index] {
            Mode::Writer => Request::Register { nonce },
            Mode::Exclusive => Request::Install { nonce, over: Over::FreeOrStale },
        };
        self.send_first(state, index, request);
    }

    pub(super) fn send_first(&self, state: &mut State, index: usize, request: Request) {
        let client = &mut state.clients[index];
        client.step = Step::Sent(request);
        client.rest = self.belief(self.ttl);
    }

    fn take_grant(&self, state: &mut State, index: usize) {
        let token = self.token(state, index);
        let is_late = if token.writer { token < state.top } else { token <= state.top };
        let client = &mut state.clients[index];
        if self.rules.lack(Rule::R4) {
            client.rest = self.belief(self.ttl);
        }
        let checked = self.rules.keep(if token.writer { Rule::R5 } else { Rule::R6 });
        if checked && client.rest == 0 {
            self.leave(state, index);
            return;
        }
        client.holds = true;
        client.waits = self.fair;
        client.at_work = self.rules.lack(Rule::R22) || self.resource != Resource::Fenced;
        client.step = if client.at_work { Step::Held } else { Step::Announce };
        if client.at_work && self.resource == Resource::Fenced {
            state.at_work = state.at_work.max(token);
        }
        state.top = state.top.max(token);
        if is_late {
            self.fell(state, Fault::EpochOrder);
        }
    }

    fn send_renewal(&self, state: &mut State, index: usize, ttl: u8) {
        let client = &mut state.clients[index];
        let from = client.acked;
        client.sent += 1;
        client.next_rest = self.belief(ttl);
        let shorter = ttl < self.ttl || ttl < self.other_ttl;
        if client.holds && shorter && self.rules.keep(Rule::R17) {
            client.rest = client.rest.min(client.next_rest);
        }
        let exclusive = self.clients[index] == Mode::Exclusive;
        let (nonce, beat) = (Nonce::current(index), client.sent);
        client.step = Step::Sent(Request::Renew { nonce, from, beat, ttl, exclusive });
    }

    /// Steps (3) to (5) of the guard, and the confirmation after an announcement.
    fn take_confirmation(&self, state: &mut State, index: usize, holds: bool) {
        let token = self.token(state, index);
        let client = &mut state.clients[index];
        if !holds || (client.rest == 0 && self.rules.keep(Rule::R23)) {
            self.idle(state, index, false);
            return;
        }
        client.step = Step::Held;
        if client.at_work {
            // A fence knows a write by its token alone.
            let owner = if self.resource == Resource::Fenced { u8::MAX } else { index as u8 };
            state.writes.push(Write { token, owner, age: 0 });
        } else {
            client.at_work = true;
            state.at_work = state.at_work.max(token);
        }
        if state.clients[index].rest == 0 {
            self.idle(state, index, false);
        }
    }

    /// Removes one's own record.
    pub(super) fn leave(&self, state: &mut State, index: usize) {
        let client = &mut state.clients[index];
        let exclusive = self.clients[index] == Mode::Exclusive;
        let waits = client.holds;
        *client = Client { acked: client.acked, sent: client.sent, epoch: NO_EPOCH, ..idle() };
        // In a run of one turn each, this marks that the turn was had.
        client.at_work = waits && self.fair;
        client.step = Step::Sent(Request::Withdraw { nonce: Nonce::current(index), exclusive });
    }

    /// Ends an attempt. If it is said to have left nothing behind, so it must be, and nothing may
    /// be on its way that would still put something there.
    pub(super) fn idle(&self, state: &mut State, index: usize, clean: bool) {
        let current = Nonce::current(index);
        if clean && (state.record(current).is_some() || is_created_later(state, current)) {
            self.fell(state, Fault::Leftover);
        }
        let had_its_turn =
            self.fair && (state.clients[index].at_work || state.clients[index].holds);
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

    /// Goes on without an answer: nothing is assumed.
    pub(super) fn give_up(&self, state: &mut State, index: usize, fate: Fate) {
        let Step::Sent(request) = state.clients[index].step else { return };
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
        client.step = match request {
            Request::Register { .. } if self.rules.lack(Rule::R1) => {
                return self.leave(state, index);
            }
            Request::Register { .. } => Step::Check,
            Request::Install { .. } => Step::List,
            Request::Renew { .. } if client.holds => Step::ReadBack,
            Request::Renew { .. } => Step::Draining,
            Request::Commit { .. } => Step::LookUpCommit,
            Request::Withdraw { .. } => return self.idle(state, index, false),
            Request::Evict { exclusive: true, .. } => Step::Idle,
            Request::Evict { exclusive: false, .. } => Step::List,
        };
    }

    /// What an exclusive's look at the anchor leads to.
    pub(super) fn install_over(&self, state: &State) -> Option<Over> {
        let blind = self.rules.lack(Rule::R12);
        match state.exclusive {
            None if blind => Some(Over::Anything),
            None => Some(Over::Free),
            Some(there) if there.left == 0 && self.takeover => match self.evidence {
                _ if blind => Some(Over::Anything),
                Evidence::AtTheStep => Some(Over::FreeOrStale),
                Evidence::ByRevision => Some(Over::Exactly(self.target(&there))),
            },
            Some(_) => None,
        }
    }
}

/// A client in no attempt.
pub(super) fn idle() -> Client {
    Client { epoch: NO_EPOCH, ..Client::default() }
}
