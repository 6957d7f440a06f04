//! What the store answers, and where that leads the client.

use super::canonical::NO_EPOCH;
use super::setting::{Resource, Setting};
use super::state::{Fault, Mode, Nonce, Request, State, Step};
use crate::rules::Rule;

impl Setting {
    /// The store's part of [`super::Action::Store`]: it does what was asked and answers.
    ///
    /// Where a client's next step does not depend on when it learns the answer, it is taken here.
    pub(super) fn answer(&self, state: &mut State, index: usize, stale: bool) {
        let nonce = Nonce::current(index);
        match state.clients[index].step {
            Step::Sent(request) => {
                let went_through = self.apply(state, request);
                self.after(state, index, request, went_through);
            }
            Step::Look => self.look(state, index),
            Step::Check => {
                let blocks = |left| left > 0 || self.rules.keep(Rule::R11);
                let (blocked, epoch) = if stale {
                    (state.before.blocked, state.before.epoch)
                } else {
                    (state.exclusive.is_some_and(|there| blocks(there.left)), state.epoch)
                };
                if blocked || state.record(nonce).is_none() {
                    self.leave(state, index);
                } else {
                    state.clients[index].epoch = epoch;
                    state.clients[index].step = Step::Granting;
                }
            }
            Step::List => self.list(state, index),
            Step::LookUpCommit => match state.exclusive.filter(|there| there.nonce == nonce) {
                Some(there) if there.granted => self.granted(state, index),
                Some(_) => state.clients[index].step = Step::List,
                None => self.idle(state, index, false),
            },
            Step::ReadBack => self.read_back(state, index),
            Step::Announce => self.announce(state, index),
            Step::Confirm => {
                let holds = state.record(nonce).is_some();
                state.clients[index].step = Step::Confirmed(holds);
            }
            _ => {}
        }
    }

    fn look(&self, state: &mut State, index: usize) {
        match (self.clients[index], state.exclusive) {
            (Mode::Exclusive, _) => match self.install_over(state) {
                Some(over) => {
                    let nonce = Nonce::current(index);
                    self.send_first(state, index, Request::Install { nonce, over });
                }
                None => self.wait_idle(state, index),
            },
            (Mode::Writer, None) => {
                let epoch = if self.rules.lack(Rule::R1) { state.epoch } else { NO_EPOCH };
                state.clients[index].epoch = epoch;
                state.clients[index].step = Step::Looked;
            }
            (Mode::Writer, Some(there)) if self.clear && there.left == 0 => {
                let target = self.target(&there);
                let request = Request::Evict { target, exclusive: true };
                state.clients[index].step = Step::Sent(request);
            }
            (Mode::Writer, Some(_)) => self.wait_idle(state, index),
        }
    }

    fn wait_idle(&self, state: &mut State, index: usize) {
        self.idle(state, index, false);
        state.clients[index].waits = self.fair;
    }

    /// X2: what a listing of the writers leads to.
    fn list(&self, state: &mut State, index: usize) {
        if state.exclusive.is_none_or(|there| there.nonce != Nonce::current(index)) {
            self.leave(state, index);
            return;
        }
        let stale = state.writers.iter().find(|writer| writer.left == 0).copied();
        let fresh = state.writers.iter().any(|writer| writer.left > 0);
        let ignored = self.rules.lack(Rule::R10);
        let request = match stale {
            Some(writer) if self.evict && !ignored => {
                Request::Evict { target: self.target(&writer), exclusive: false }
            }
            None if !fresh => self.commit_request(index),
            Some(_) if !fresh && ignored => self.commit_request(index),
            // Only an operator can end what is left: waiting would keep writers out for nothing.
            Some(_) if !fresh => return self.leave(state, index),
            _ => {
                state.clients[index].step = Step::Draining;
                state.clients[index].waits = self.fair;
                return;
            }
        };
        state.clients[index].step = Step::Sent(request);
    }

    fn commit_request(&self, index: usize) -> Request {
        Request::Commit { nonce: Nonce::current(index) }
    }

    fn after(&self, state: &mut State, index: usize, request: Request, went_through: bool) {
        let client = &mut state.clients[index];
        match request {
            Request::Register { .. } if self.rules.lack(Rule::R1) => client.step = Step::Granting,
            Request::Register { .. } => client.step = Step::Check,
            Request::Install { .. } if went_through => client.step = Step::List,
            Request::Install { .. } => self.wait_idle(state, index),
            Request::Renew { .. } => self.after_renewal(state, index, went_through),
            Request::Commit { .. } if went_through => self.granted(state, index),
            Request::Commit { .. } => self.idle(state, index, false),
            Request::Withdraw { .. } => {
                self.idle(state, index, true);
                state.clients[index].waits = self.fair && state.clients[index].step == Step::Idle;
            }
            Request::Evict { exclusive: true, .. } => self.idle(state, index, false),
            Request::Evict { exclusive: false, .. } if self.rules.lack(Rule::R15) => {
                client.step = Step::Sent(self.commit_request(index));
            }
            Request::Evict { exclusive: false, .. } => client.step = Step::List,
        }
    }

    fn granted(&self, state: &mut State, index: usize) {
        state.clients[index].epoch = state.epoch;
        state.clients[index].step = Step::Granting;
    }

    fn after_renewal(&self, state: &mut State, index: usize, went_through: bool) {
        let client = &mut state.clients[index];
        match (client.holds, went_through) {
            // Whoever believes in nothing any more learns nothing from this.
            (true, false) if client.rest == 0 => self.idle(state, index, false),
            (true, false) => client.step = Step::Renewed(false),
            // Without these rules it matters when the answer is taken in.
            (true, true) if self.rules.lack(Rule::R4) || self.rules.lack(Rule::R17) => {
                client.step = Step::Renewed(true);
            }
            (_, true) => self.acknowledge(state, index),
            (false, false) => self.idle(state, index, false),
        }
    }

    fn acknowledge(&self, state: &mut State, index: usize) {
        let client = &mut state.clients[index];
        client.acked = client.sent;
        client.rest = client.next_rest;
        client.next_rest = 0;
        client.step = if client.holds { Step::Held } else { Step::List };
        if client.holds && client.rest == 0 {
            self.idle(state, index, false);
        }
    }

    /// R8: a renewal without an answer counts only if the record carries that very write.
    fn read_back(&self, state: &mut State, index: usize) {
        let there = state.record(Nonce::current(index)).copied();
        let client = &mut state.clients[index];
        match there {
            Some(record) if record.beat == client.sent || self.rules.lack(Rule::R8) => {
                self.acknowledge(state, index);
            }
            Some(_) if client.rest > 0 => {
                client.step = Step::Held;
                client.next_rest = 0;
            }
            None if client.rest > 0 => client.step = Step::Renewed(false),
            _ => self.idle(state, index, false),
        }
    }

    fn announce(&self, state: &mut State, index: usize) {
        let token = self.token(state, index);
        if self.is_refused(state, token) {
            if self.is_valid(state, index) {
                self.fell(state, Fault::ValidRefused);
            }
            self.idle(state, index, false);
            return;
        }
        state.gate = state.gate.max(token);
        state.clients[index].step = Step::Confirm;
    }

    /// R21: what the fence refuses.
    fn is_refused(&self, state: &State, token: super::state::Token) -> bool {
        match self.resource {
            Resource::Fenced if self.rules.lack(Rule::R21) => token.epoch < state.gate.epoch,
            Resource::Fenced => token < state.gate,
            Resource::None | Resource::Unfenced => false,
        }
    }

    /// Whether a client holds in every sense: it believes, and its record is there.
    fn is_valid(&self, state: &State, index: usize) -> bool {
        let client = &state.clients[index];
        client.holds && client.rest > 0 && state.record(Nonce::current(index)).is_some()
    }

    /// A write arrives at the resource.
    pub(super) fn land(&self, state: &mut State, write: usize) {
        let write = state.writes.remove(write);
        let owner = usize::from(write.owner);
        if self.is_refused(state, write.token) {
            // Whoever holds by this token would be refused as well.
            let holds_by_it = |index: &usize| {
                self.is_valid(state, *index) && self.token(state, *index) == write.token
            };
            if (0..state.clients.len()).any(|index| holds_by_it(&index)) {
                self.fell(state, Fault::ValidRefused);
            }
            return;
        }
        let superseded = match self.resource {
            Resource::Unfenced => (0..state.clients.len()).any(|other| {
                let client = &state.clients[other];
                let excludes = self.clients[owner].excludes(self.clients[other]);
                other != owner && excludes && client.holds && client.rest > 0
            }),
            _ => write.token < state.at_work,
        };
        if superseded {
            self.fell(state, Fault::LateWrite);
        } else if self.resource == Resource::Fenced && write.token < state.gate {
            self.fell(state, Fault::GateBack);
        }
        if self.resource == Resource::Fenced {
            state.gate = state.gate.max(write.token);
        }
    }
}
