//! Gives states that differ only in labels the same labels, so that they are one state.
//!
//! Nonces and revisions are only compared for equality or within one record, epochs only for
//! their order; what nobody mentions any more needs no label at all. This is what makes any number
//! of attempts, renewals and epochs a finite number of states.

use super::setting::{Evidence, Resource, Setting};
use super::state::{Mode, Nonce, Over, Record, Request, State, Step, Target};
use crate::rules::{Rule, Rules};

/// The epoch of a client that was granted none.
pub(super) const NO_EPOCH: u8 = u8::MAX;

/// The number that an attempt gets when its owner leaves it; the next labelling makes it small.
pub(super) const LEFT: u8 = 100;

impl Setting {
    pub(super) fn canonical(&self, state: &mut State) {
        if self.rules == Rules::correct() {
            self.order_clients(state);
        }
        self.forget_owners(state);
        label_attempts(state);
        self.label_beats(state);
        self.label_epochs(state);
        state.writers.sort_unstable();
        state.late.sort_unstable();
        state.writes.sort_unstable();
    }

    /// Clients of one mode are alike. Not in a run that shall be told in words.
    fn order_clients(&self, state: &mut State) {
        for at in 1..state.clients.len() {
            let alike = self.clients[at - 1] == self.clients[at];
            if alike && state.clients[at - 1] > state.clients[at] {
                state.clients.swap(at - 1, at);
                let (this, other) = (at as u8 - 1, at as u8);
                let swapped = |owner: u8| match owner {
                    owner if owner == this => other,
                    owner if owner == other => this,
                    owner => owner,
                };
                each_nonce(state, |nonce| nonce.owner = swapped(nonce.owner));
                state.writes.iter_mut().for_each(|write| write.owner = swapped(write.owner));
            }
        }
    }

    /// Left records that nobody mentions differ only in how fresh they are, and of several writers'
    /// only the freshest can matter: whoever waits for it waits for the others.
    fn forget_owners(&self, state: &mut State) {
        let is_left = |state: &State, nonce: Nonce| {
            nonce.attempt != 0 && mentions(state).all(|mentioned| mentioned != nonce)
        };
        if let Some(there) = state.exclusive
            && !self.same_name
            && is_left(state, there.nonce)
        {
            state.exclusive = Some(Record { left: there.left, ..nobodys() });
        }
        let mut freshest = None;
        for index in (0..state.writers.len()).rev() {
            let there = state.writers[index];
            if there.nonce == Nonce::NOBODYS || is_left(state, there.nonce) {
                state.writers.remove(index);
                freshest = freshest.max(Some(there.left));
            }
        }
        if let Some(left) = freshest {
            state.writers.push(Record { left, ..nobodys() });
        }
    }

    /// Of each nonce, the revisions keep their order and lose their gaps.
    fn label_beats(&self, state: &mut State) {
        let attempts = if mentions_left(state) { 5 } else { 1 };
        for owner in 0..state.clients.len() {
            for attempt in 0..attempts {
                let nonce = Nonce { owner: owner as u8, attempt };
                // A creation that is still on its way writes revision 0.
                let mut used = if is_created_later(state, nonce) { 1u64 } else { 0 };
                self.each_beat(state, nonce, |beat| used |= 1 << *beat);
                if used & used.wrapping_add(1) != 0 {
                    self.each_beat(state, nonce, |beat| *beat = rank(used, *beat));
                }
            }
        }
    }

    fn each_beat(&self, state: &mut State, of: Nonce, mut with: impl FnMut(&mut u8)) {
        let records = state.exclusive.iter_mut().chain(state.writers.iter_mut());
        records.filter(|record| record.nonce == of).for_each(|record| with(&mut record.beat));
        if of.attempt == 0 {
            let client = &mut state.clients[usize::from(of.owner)];
            with(&mut client.acked);
            with(&mut client.sent);
        }
        for request in requests(state) {
            match request {
                Request::Renew { nonce, from, beat, .. } if *nonce == of => {
                    with(from);
                    with(beat);
                }
                Request::Evict { target, .. }
                | Request::Install { over: Over::Exactly(target), .. }
                    if self.evidence == Evidence::ByRevision && target.nonce == of =>
                {
                    with(&mut target.beat);
                }
                _ => {}
            }
        }
    }

    /// Epochs keep their order and lose their gaps.
    fn label_epochs(&self, state: &mut State) {
        let mut used = 0u64;
        self.each_epoch(state, |epoch| used |= 1 << *epoch);
        if used & used.wrapping_add(1) != 0 {
            self.each_epoch(state, |epoch| *epoch = rank(used, *epoch));
        }
    }

    fn each_epoch(&self, state: &mut State, mut with: impl FnMut(&mut u8)) {
        with(&mut state.epoch);
        with(&mut state.top.epoch);
        let granted = state.clients.iter_mut().filter(|client| client.epoch != NO_EPOCH);
        granted.for_each(|client| with(&mut client.epoch));
        if self.rules.lack(Rule::R3) {
            with(&mut state.before.epoch);
        }
        if self.resource == Resource::Fenced {
            with(&mut state.gate.epoch);
            with(&mut state.at_work.epoch);
        }
        state.writes.iter_mut().for_each(|write| with(&mut write.token.epoch));
    }
}

/// Numbers the attempts that were left, as they are met.
fn label_attempts(state: &mut State) {
    let mut met: [Vec<u8>; 4] = Default::default();
    if !mentions_left(state) {
        return;
    }
    each_nonce(state, |nonce| {
        let Some(met) = met.get_mut(usize::from(nonce.owner)).filter(|_| nonce.attempt != 0) else {
            return;
        };
        let known = met.iter().position(|attempt| *attempt == nonce.attempt);
        let index = known.unwrap_or_else(|| {
            met.push(nonce.attempt);
            met.len() - 1
        });
        nonce.attempt = index as u8 + 1;
    });
}

fn mentions_left(state: &State) -> bool {
    let records = state.exclusive.iter().chain(state.writers.iter()).map(|record| record.nonce);
    records.chain(mentions(state)).any(|nonce| nonce.attempt != 0)
}

/// All nonces but those of the clients' own attempts, where they stand.
pub(super) fn each_nonce(state: &mut State, mut with: impl FnMut(&mut Nonce)) {
    let records = state.exclusive.iter_mut().chain(state.writers.iter_mut());
    records.for_each(|record| with(&mut record.nonce));
    for request in requests(state) {
        match request {
            Request::Register { nonce }
            | Request::Renew { nonce, .. }
            | Request::Commit { nonce }
            | Request::Withdraw { nonce, .. } => with(nonce),
            Request::Install { nonce, over } => {
                with(nonce);
                if let Over::Exactly(target) = over {
                    with(&mut target.nonce);
                }
            }
            Request::Evict { target, .. } => with(&mut target.nonce),
        }
    }
}

/// All requests that are on their way.
fn requests(state: &mut State) -> impl Iterator<Item = &mut Request> {
    let sent = state.clients.iter_mut().filter_map(|client| match &mut client.step {
        Step::Sent(request) => Some(request),
        _ => None,
    });
    sent.chain(state.late.iter_mut())
}

/// The nonces in all requests that are on their way.
fn mentions(state: &State) -> impl Iterator<Item = Nonce> + '_ {
    let sent = state.clients.iter().filter_map(|client| match client.step {
        Step::Sent(request) => Some(request),
        _ => None,
    });
    sent.chain(state.late.iter().copied()).flat_map(|request| {
        let of = |target: Target| target.nonce;
        let (own, other) = match request {
            Request::Register { nonce }
            | Request::Renew { nonce, .. }
            | Request::Commit { nonce }
            | Request::Withdraw { nonce, .. } => (Some(nonce), None),
            Request::Install { nonce, over: Over::Exactly(target) } => {
                (Some(nonce), Some(of(target)))
            }
            Request::Install { nonce, .. } => (Some(nonce), None),
            Request::Evict { target, .. } => (None, Some(of(target))),
        };
        own.into_iter().chain(other)
    })
}

pub(super) fn is_created_later(state: &State, of: Nonce) -> bool {
    state.late.iter().any(|request| match request {
        Request::Register { nonce } | Request::Install { nonce, .. } => *nonce == of,
        _ => false,
    })
}

/// How many used values are smaller.
const fn rank(used: u64, value: u8) -> u8 {
    (used & ((1 << value) - 1)).count_ones() as u8
}

fn nobodys() -> Record {
    Record { nonce: Nonce::NOBODYS, ..Record::default() }
}

impl Mode {
    /// Whether two of these exclude each other.
    #[must_use]
    pub(super) fn excludes(self, other: Self) -> bool {
        self == Self::Exclusive || other == Self::Exclusive
    }
}
