//! What the store does with a request, whenever it arrives.

use super::setting::{Evidence, Setting};
use super::state::{Before, Nonce, Over, Record, Request, State, Step, Target};
use crate::rules::Rule;

impl Setting {
    /// Applies a request; says whether it went through.
    pub(super) fn apply(&self, state: &mut State, request: Request) -> bool {
        match request {
            Request::Register { nonce } => self.register(state, nonce),
            Request::Install { nonce, over } => self.install(state, nonce, over),
            Request::Renew { .. } => self.renew(state, request),
            Request::Commit { nonce } => self.commit(state, nonce),
            Request::Withdraw { nonce, exclusive } => {
                let any = exclusive && self.rules.lack(Rule::R14);
                let removed = self.remove(state, exclusive, |there| any || there.nonce == nonce);
                // One's own creation that still comes must find its nonce spent.
                self.void(state, nonce);
                removed
            }
            Request::Evict { target, exclusive } => {
                let any = exclusive && self.rules.lack(Rule::R13);
                let unjudged = !exclusive && self.rules.lack(Rule::R9);
                let is_gone = |record: &Record| match self.evidence {
                    _ if unjudged => true,
                    Evidence::AtTheStep => record.left == 0,
                    Evidence::ByRevision => record.beat == target.beat,
                };
                self.remove(state, exclusive, |record| {
                    any || record.nonce == target.nonce && is_gone(record)
                })
            }
        }
    }

    /// A record as seen, for a later request.
    pub(super) fn target(&self, record: &Record) -> Target {
        let beat = match self.evidence {
            Evidence::AtTheStep => 0,
            Evidence::ByRevision => record.beat,
        };
        Target { nonce: record.nonce, beat }
    }

    fn register(&self, state: &mut State, nonce: Nonce) -> bool {
        if state.record(nonce).is_none() {
            let left = self.stamped(state, self.ttl);
            state.writers.push(Record { nonce, left, ..Record::default() });
        }
        true
    }

    fn install(&self, state: &mut State, nonce: Nonce, over: Over) -> bool {
        if state.exclusive.is_some_and(|there| there.nonce == nonce) {
            return true;
        }
        let goes = match (state.exclusive, over) {
            (None, _) | (_, Over::Anything) => true,
            (Some(_), Over::Free) => false,
            (Some(there), Over::Exactly(target)) => self.target(&there) == target,
            (Some(there), Over::FreeOrStale) => {
                self.takeover && there.left == 0 || self.is_taken_back(state, &there)
            }
        };
        if goes {
            self.note_before(state);
            if let Some(there) = state.exclusive.take() {
                self.void(state, there.nonce);
            }
            let left = self.stamped(state, self.ttl);
            state.exclusive = Some(Record { nonce, left, ..Record::default() });
            if self.rules.lack(Rule::R20) {
                state.epoch += 1;
            }
        }
        goes
    }

    /// R16: a record of one's own name goes at once if its process is dead.
    fn is_taken_back(&self, state: &State, there: &Record) -> bool {
        let owner = state.clients.get(usize::from(there.nonce.owner));
        let is_dead = owner.is_some_and(|owner| owner.step == Step::Dead);
        self.same_name && (is_dead || self.rules.lack(Rule::R16))
    }

    fn renew(&self, state: &mut State, request: Request) -> bool {
        let Request::Renew { nonce, from, beat, ttl, exclusive } = request else { return false };
        let left = self.stamped(state, ttl);
        let granted = exclusive;
        let upsert = self.rules.lack(Rule::R2);
        let there = if exclusive {
            state.exclusive.iter_mut().find(|record| record.nonce == nonce)
        } else {
            state.writers.iter_mut().find(|record| record.nonce == nonce)
        };
        match there {
            Some(record) if upsert || (from..beat).contains(&record.beat) => {
                *record = Record { beat, left, ..*record };
                true
            }
            None if upsert && exclusive => {
                state.exclusive = Some(Record { nonce, beat, left, granted });
                true
            }
            None if upsert => {
                state.writers.push(Record { nonce, beat, left, granted: false });
                true
            }
            _ => false,
        }
    }

    fn commit(&self, state: &mut State, nonce: Nonce) -> bool {
        let before = *state;
        let Some(there) = state.exclusive.as_mut().filter(|there| there.nonce == nonce) else {
            return false;
        };
        // Repeated it answers with the epoch that was given.
        if !there.granted {
            there.granted = true;
            if self.rules.keep(Rule::R20) {
                state.epoch += 1;
            }
            self.note_before_of(state, &before);
        }
        true
    }

    fn remove(&self, state: &mut State, exclusive: bool, is_it: impl Fn(&Record) -> bool) -> bool {
        let removed = if exclusive {
            let before = *state;
            let removed = state.exclusive.take_if(|record| is_it(record));
            if removed.is_some() {
                self.note_before_of(state, &before);
            }
            removed
        } else {
            let index = state.writers.iter().position(is_it);
            index.map(|index| state.writers.remove(index))
        };
        if let Some(record) = removed {
            self.void(state, record.nonce);
        }
        removed.is_some()
    }

    /// R19: a creation of what was removed does nothing any more, however late it comes.
    fn void(&self, state: &mut State, removed: Nonce) {
        if self.rules.keep(Rule::R19) {
            state.late.retain(|request| match request {
                Request::Register { nonce } | Request::Install { nonce, .. } => *nonce != removed,
                _ => true,
            });
        }
    }

    /// How long a record that is written now stays fresh on the store's clock, which shows the
    /// beginning of its step.
    fn stamped(&self, state: &State, ttl: u8) -> u8 {
        ttl - state.phase
    }

    fn note_before(&self, state: &mut State) {
        let before = *state;
        self.note_before_of(state, &before);
    }

    fn note_before_of(&self, state: &mut State, before: &State) {
        if self.rules.lack(Rule::R3) {
            state.before = Before { blocked: before.exclusive.is_some(), epoch: before.epoch };
        }
    }
}
