//! Gives states that differ only in labels the same labels, and forgets what decides nothing.
//!
//! An ended claim that nobody mentions is never looked at again, so it is dropped even where no
//! garbage is collected. Numbers keep their order and lose their gaps; nonces are numbered as they
//! are met. This is what makes any number of attempts a finite number of states.

use super::setting::{Over, Setting};
use super::state::{Claim, Files, Key, Mark, Request, Share, State, Step, Then};
use crate::general::{Nonce, Token};
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
        if [Rule::F5, Rule::F6, Rule::F9].iter().all(|rule| self.rules.keep(*rule)) {
            self.drop_claims(state);
        }
        self.drop_shares(state);
        self.forget_ages(state);
        forget_owners(state);
        label_attempts(state);
        // Where numbers come back, their gaps matter.
        if self.rules.keep(Rule::F5) && self.rules.keep(Rule::F6) {
            label_numbers(state);
        }
        state.claims.sort_unstable();
        state.shares.sort_unstable();
        state.late.sort_unstable();
    }

    /// Clients of one mode are alike. Not in a run that shall be told in words.
    fn order_clients(&self, state: &mut State) {
        for at in 1..state.clients.len() {
            let alike = self.clients[at - 1] == self.clients[at];
            if alike && state.clients[at - 1] > state.clients[at] {
                state.clients.swap(at - 1, at);
                let (this, other) = (at as u8 - 1, at as u8);
                each_nonce(state, |nonce| {
                    nonce.owner = match nonce.owner {
                        owner if owner == this => other,
                        owner if owner == other => this,
                        owner => owner,
                    };
                });
            }
        }
    }

    /// Claims below the highest granted one decide nothing; nor do ended ones below the highest.
    fn drop_claims(&self, state: &mut State) {
        let granted = self.granted(state);
        let highest = self.next_number(state) - 1;
        let decides = |claim: &Claim| {
            claim.n >= granted
                && (claim.n == highest
                    || claim.n == granted
                    || self.counts(&claim.files)
                    || is_mentioned(state, claim.n))
        };
        let left = state.claims.iter().copied().filter(decides).collect();
        state.claims = left;
        // A request about a claim that decides nothing changes nothing.
        state.late.retain(|request| number(*request).is_none_or(|n| n >= granted));
    }

    /// What has ended, or is killed but not over, has no age; nor has a claim any detail that
    /// nobody is on or mentions, once it has ended.
    fn forget_ages(&self, state: &mut State) {
        for at in 0..state.claims.len() {
            let Claim { n, mut files, .. } = state.claims[at];
            self.forget_age(&mut files);
            if !self.counts(&files) && !is_mentioned(state, n) {
                let mark = files.mark.filter(|mark| *mark == Mark::Granted);
                let mark = mark.or(Some(Mark::Void));
                files = Files { mark, released: true, quiet: files.quiet, ..Files::default() };
                state.claims[at].at_once = false;
            }
            state.claims[at].files = files;
        }
        state.shares.iter_mut().for_each(|share| self.forget_age(&mut share.files));
    }

    fn forget_age(&self, files: &mut Files) {
        if self.over != Over::ByGap || self.rules.lack(Rule::F2) {
            return;
        }
        if !self.counts(files) {
            files.record = files.record.map(|_| self.ttl);
        }
        files.killed = files.killed.map(|gap| if gap < self.ttl { 0 } else { self.ttl });
    }

    /// End marks that nobody will come back to are dropped; of left files only the freshest counts.
    fn drop_shares(&self, state: &mut State) {
        // Those that were killed and are not over, and those that were not.
        let mut freshest = [None; 2];
        for at in (0..state.shares.len()).rev() {
            let Share { nonce, files } = state.shares[at];
            let is_mentioned = || mentions(state).any(|mentioned| mentioned == nonce);
            if nonce != Nonce::NOBODYS && (nonce.attempt == 0 || is_mentioned()) {
                continue;
            }
            state.shares.remove(at);
            if self.counts(&files) {
                // By gap, the .kil of one that is not over says nothing until there is another.
                let killed = files.killed.is_some() && self.over == Over::ByAge;
                let freshest = &mut freshest[usize::from(killed)];
                *freshest = (*freshest).max(files.record.map(|age| u8::MAX - age));
            }
        }
        for (left, killed) in freshest.into_iter().zip([None, Some(0)]) {
            if let Some(left) = left {
                let files = Files { record: Some(u8::MAX - left), killed, ..Files::default() };
                state.shares.push(Share { nonce: Nonce::NOBODYS, files });
            }
        }
    }
}

/// Whose an old claim was matters only to requests that are on their way, and those go by its
/// number; but a fresh nonce must not meet it.
fn forget_owners(state: &mut State) {
    for at in 0..state.claims.len() {
        let nonce = state.claims[at].nonce;
        if nonce.attempt != 0 && mentions(state).all(|mentioned| mentioned != nonce) {
            state.claims[at].nonce = Nonce::NOBODYS;
        }
    }
}

/// Numbers the attempts that were left, as they are met.
fn label_attempts(state: &mut State) {
    let mut met: [Vec<u8>; 4] = Default::default();
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

/// Numbers keep their order and lose their gaps; 0 is where the name started.
fn label_numbers(state: &mut State) {
    let mut used = 1u64;
    each_number(state, |n| used |= 1 << *n);
    if used & used.wrapping_add(1) != 0 {
        let rank = |n: u8| (used & ((1 << n) - 1)).count_ones() as u8;
        each_number(state, |n| *n = rank(*n));
    }
}

fn each_number(state: &mut State, mut with: impl FnMut(&mut u8)) {
    let Token { epoch, .. } = &mut state.top;
    with(epoch);
    for client in state.clients.iter_mut() {
        with(&mut client.n);
        if client.epoch != NO_EPOCH {
            with(&mut client.epoch);
        }
    }
    state.claims.iter_mut().for_each(|claim| with(&mut claim.n));
    for (request, _) in requests(state) {
        match request {
            Request::Mark(n, _) | Request::Open(n) => with(n),
            Request::Create(key)
            | Request::AtOnce(key)
            | Request::LetGo(key)
            | Request::Beat(key)
            | Request::Release(key)
            | Request::Kill(key) => {
                if let Key::Exclusive { n, .. } = key {
                    with(n);
                }
            }
            Request::Delete(_) => {}
        }
    }
}

/// The requests that are on their way, and what comes after them.
fn requests(state: &mut State) -> impl Iterator<Item = (&mut Request, Option<&mut Then>)> {
    let sent = state.clients.iter_mut().filter_map(|client| match &mut client.step {
        Step::Sent(request, then) => Some((request, Some(then))),
        _ => None,
    });
    sent.chain(state.late.iter_mut().map(|request| (request, None)))
}

fn each_key(state: &mut State, mut with: impl FnMut(&mut Key)) {
    for (request, _) in requests(state) {
        match request {
            Request::Create(key)
            | Request::AtOnce(key)
            | Request::LetGo(key)
            | Request::Beat(key)
            | Request::Release(key)
            | Request::Kill(key) => with(key),
            Request::Mark(..) | Request::Open(_) | Request::Delete(_) => {}
        }
    }
}

/// All nonces but those of the clients' own attempts, where they stand.
pub(super) fn each_nonce(state: &mut State, mut with: impl FnMut(&mut Nonce)) {
    state.claims.iter_mut().for_each(|claim| with(&mut claim.nonce));
    state.shares.iter_mut().for_each(|share| with(&mut share.nonce));
    for (request, then) in requests(state) {
        if let Request::Delete(nonce) = request {
            with(nonce);
        }
        if let Some(Then::Clear(nonce)) = then {
            with(nonce);
        }
    }
    each_key(state, |key| match key {
        Key::Writer(nonce) | Key::Exclusive { nonce, .. } => with(nonce),
    });
}

/// The nonces in all requests that are on their way.
fn mentions(state: &State) -> impl Iterator<Item = Nonce> + '_ {
    let sent = state.clients.iter().filter_map(|client| match client.step {
        Step::Sent(request, then) => Some((request, Some(then))),
        _ => None,
    });
    let all = sent.chain(state.late.iter().map(|request| (*request, None)));
    all.flat_map(|(request, then)| {
        let of_request = match request {
            Request::Create(key)
            | Request::AtOnce(key)
            | Request::LetGo(key)
            | Request::Beat(key)
            | Request::Release(key)
            | Request::Kill(key) => match key {
                Key::Writer(nonce) | Key::Exclusive { nonce, .. } => Some(nonce),
            },
            Request::Delete(nonce) => Some(nonce),
            Request::Mark(..) | Request::Open(_) => None,
        };
        let of_then = match then {
            Some(Then::Clear(nonce)) => Some(nonce),
            _ => None,
        };
        of_request.into_iter().chain(of_then)
    })
}

/// Whether somebody is on a claim, or a request is about it.
fn is_mentioned(state: &State, n: u8) -> bool {
    let late = state.late.iter().any(|request| number(*request) == Some(n));
    late || state.clients.iter().any(|client| match client.step {
        Step::Idle => false,
        Step::Sent(request @ Request::Open(_), _) => number(request) == Some(n),
        _ => client.n == n,
    })
}

fn number(request: Request) -> Option<u8> {
    match request {
        Request::Mark(n, _) | Request::Open(n) => Some(n),
        Request::Create(Key::Exclusive { n, .. })
        | Request::AtOnce(Key::Exclusive { n, .. })
        | Request::LetGo(Key::Exclusive { n, .. })
        | Request::Beat(Key::Exclusive { n, .. })
        | Request::Release(Key::Exclusive { n, .. })
        | Request::Kill(Key::Exclusive { n, .. }) => Some(n),
        _ => None,
    }
}
