//! What the store answers, and where that leads the client.

use super::setting::Setting;
use super::state::{Key, Mark, Request, State, Step, Then};
use crate::general::{Mode, Nonce};
use crate::rules::Rule;

impl Setting {
    /// The store's part of [`super::Action::Store`]: it does what was asked and answers.
    ///
    /// Where a client's next step does not depend on when it learns the answer, it is taken here.
    pub(super) fn answer(&self, state: &mut State, index: usize) {
        match state.clients[index].step {
            Step::Sent(request, then) => {
                let went_through = self.apply(state, request);
                self.after(state, index, then, went_through);
            }
            Step::Look => self.look(state, index),
            Step::Check => {
                let blocked = self.in_the_way(state).is_some_and(|claim| {
                    self.rules.keep(Rule::R11) || !self.is_stale(claim.files.record)
                });
                if blocked || !self.is_own_alive(state, index) {
                    self.leave(state, index);
                } else {
                    let closed = self.at_once && self.is_closed(state);
                    let open = Request::Open(self.next_number(state));
                    state.clients[index].epoch = self.epoch(state);
                    state.clients[index].step = if closed && self.rules.keep(Rule::F11) {
                        Step::Sent(open, Then::Opened)
                    } else {
                        Step::Granting
                    };
                }
            }
            Step::List => self.list(state, index),
            Step::LookUpMark => self.look_up_mark(state, index),
            Step::Last if self.is_own_alive(state, index) => {
                state.clients[index].epoch = state.clients[index].n;
                state.clients[index].step = Step::Granting;
            }
            Step::Last => self.leave(state, index),
            Step::BeatCheck => {
                state.clients[index].step = Step::Checked(self.is_own_alive(state, index));
            }
            Step::CheckFirst if self.is_own_alive(state, index) => {
                let beat = Request::Beat(self.key(state, index));
                state.clients[index].step = Step::Sent(beat, Then::Beaten);
                state.clients[index].next_rest = self.ttl;
            }
            Step::CheckFirst => self.idle(state, index, false),
            _ => {}
        }
    }

    fn look(&self, state: &mut State, index: usize) {
        match self.in_the_way(state) {
            None => {
                let epoch = self.epoch(state);
                let next = self.next_number(state);
                let may = self.is_closed(state) || self.rules.lack(Rule::F12);
                let client = &mut state.clients[index];
                client.step = Step::Looked;
                if self.clients[index] == Mode::Exclusive {
                    client.n = next;
                    client.at_once = self.at_once && may;
                } else if self.rules.lack(Rule::R1) {
                    client.epoch = epoch;
                }
            }
            Some(claim) if self.is_stale(claim.files.record) => {
                let key = Key::Exclusive { n: claim.n, nonce: claim.nonce };
                let is_sealed = claim.files.mark.is_some() || self.rules.lack(Rule::F7);
                state.clients[index].n = claim.n;
                state.clients[index].step = if is_sealed {
                    Step::Sent(Request::Kill(key), Then::LookAgain)
                } else {
                    Step::Sent(Request::Mark(claim.n, self.fate(state, &claim)), Then::Kill)
                };
            }
            Some(_) => {
                self.idle(state, index, false);
                state.clients[index].waits = self.fair;
            }
        }
    }

    /// What a listing leads to while an exclusive drains.
    fn list(&self, state: &mut State, index: usize) {
        let mine = |claim: &super::state::Claim| {
            claim.n == state.clients[index].n && self.is_mine(claim, index)
        };
        if !state.claims.iter().any(mine) {
            // The number is another's, or nobody's: there is nothing of one's own to end.
            self.idle(state, index, false);
            return;
        }
        if !self.is_own_alive(state, index) {
            self.leave(state, index);
            return;
        }
        let client = &state.clients[index];
        let rest = if client.next_rest > 0 { client.next_rest } else { client.rest };
        let is_stale = |age| self.is_stale(age);
        let stale = self.live(state).find(|share| is_stale(share.files.record)).copied();
        let fresh = self.live(state).any(|share| !is_stale(share.files.record));
        if client.at_once && (stale.is_some() || fresh) {
            // The usual way waits for them.
            self.leave(state, index);
            return;
        }
        let client = &mut state.clients[index];
        client.rest = rest;
        client.next_rest = 0;
        client.step = match stale {
            Some(share) if self.rules.keep(Rule::R10) => {
                Step::Sent(Request::Kill(Key::Writer(share.nonce)), Then::Clear(share.nonce))
            }
            _ if fresh => {
                client.waits = self.fair;
                Step::Draining
            }
            _ if client.at_once => {
                client.epoch = client.n;
                Step::Granting
            }
            _ => Step::Sent(Request::Mark(client.n, Mark::Granted), Then::Last),
        };
    }

    fn look_up_mark(&self, state: &mut State, index: usize) {
        let n = state.clients[index].n;
        let found = state.claims.iter().find(|claim| claim.n == n);
        match found.map(|claim| claim.files.mark) {
            Some(Some(Mark::Granted)) => state.clients[index].step = Step::Last,
            Some(None) => state.clients[index].step = Step::List,
            Some(Some(Mark::Void)) | None => self.leave(state, index),
        }
    }

    fn after(&self, state: &mut State, index: usize, then: Then, went_through: bool) {
        let key = self.key(state, index);
        let n = state.clients[index].n;
        let ends = |nonce: Nonce| {
            let share = state.shares.iter().find(|share| share.nonce == nonce);
            share.is_none_or(|share| self.is_over(&share.files))
        };
        let step = match then {
            Then::Check if self.rules.lack(Rule::R1) => Step::Granting,
            Then::Check => Step::Check,
            Then::Opened if went_through => Step::Granting,
            Then::Opened => Step::Check,
            Then::List if !went_through => {
                self.idle(state, index, false);
                state.clients[index].waits = self.fair;
                return;
            }
            Then::List => Step::List,
            Then::Clear(_) if self.rules.lack(Rule::R15) => {
                Step::Sent(Request::Mark(n, Mark::Granted), Then::Last)
            }
            Then::Clear(nonce) if ends(nonce) => Step::Sent(Request::Delete(nonce), Then::List),
            Then::Clear(_) => Step::List,
            Then::Kill => {
                let nonce = state.claims.iter().find(|claim| claim.n == n).map(|claim| claim.nonce);
                let nonce = nonce.unwrap_or(Nonce::NOBODYS);
                Step::Sent(Request::Kill(Key::Exclusive { n, nonce }), Then::LookAgain)
            }
            Then::LookAgain => {
                let exclusive = self.clients[index] == Mode::Exclusive;
                if self.rules.lack(Rule::R15) && exclusive {
                    state.clients[index].n = self.next_number(state);
                    state.clients[index].step = Step::Looked;
                    return;
                }
                return self.idle(state, index, false);
            }
            Then::Last if went_through => Step::Last,
            // Void: its fate is sealed by somebody else, so it may be released at once.
            Then::Last | Then::Release => Step::Sent(Request::Release(key), Then::Out),
            Then::Out => {
                self.idle(state, index, true);
                state.clients[index].waits = self.fair && state.clients[index].step == Step::Idle;
                return;
            }
            Then::BeatCheck => Step::BeatCheck,
            Then::Beaten => Step::Checked(true),
        };
        state.clients[index].step = step;
    }
}
