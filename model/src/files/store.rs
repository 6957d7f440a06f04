//! What the store does with a request, whenever it arrives.

use super::setting::Setting;
use super::state::{Claim, Files, Key, Mark, Request, Share, State};
use crate::general::Nonce;
use crate::rules::Rule;

/// How many ttls what has ended is kept.
const KEPT: u8 = 4;

impl Setting {
    /// Applies a request; says whether it went through.
    pub(super) fn apply(&self, state: &mut State, request: Request) -> bool {
        match request {
            Request::Create(key) => self.create(state, key, false),
            Request::AtOnce(key) => self.create(state, key, true),
            Request::Open(n) => {
                let files = self.files_of(state, Key::Exclusive { n, nonce: Nonce::NOBODYS });
                if files.record.is_some() {
                    return false;
                }
                let (record, mark) = (Some(0), Some(Mark::Void));
                *files = Files { record, mark, released: true, ..*files };
                true
            }
            Request::Beat(key) => {
                let files = self.files_of(state, key);
                files.record = Some(0);
                // From now on its .kil is the older of the two.
                files.killed = files.killed.map(|_| 0);
                true
            }
            Request::Mark(n, mark) => {
                let files = self.files_of(state, Key::Exclusive { n, nonce: Nonce::NOBODYS });
                if files.mark.is_none() || self.rules.lack(Rule::F10) {
                    files.mark = Some(mark);
                }
                files.mark == Some(mark)
            }
            Request::Release(Key::Exclusive { n, .. }) if self.rules.lack(Rule::F6) => {
                state.claims.retain(|claim| claim.n != n);
                true
            }
            Request::Release(key) => {
                self.files_of(state, key).released = true;
                true
            }
            Request::LetGo(key) => {
                let files = self.files_of(state, key);
                files.released = true;
                files.mark = files.mark.or(Some(Mark::Granted));
                true
            }
            Request::Kill(key) => {
                let ttl = self.ttl;
                let files = self.files_of(state, key);
                files.killed = Some(files.record.unwrap_or(ttl));
                true
            }
            Request::Delete(nonce) => {
                if let Some(at) = state.shares.iter().position(|share| share.nonce == nonce) {
                    let files = &mut state.shares[at].files;
                    files.record = None;
                    files.quiet = 0;
                    if files.killed.is_none() && !files.released {
                        state.shares.remove(at);
                    }
                }
                true
            }
        }
    }

    fn create(&self, state: &mut State, key: Key, at_once: bool) -> bool {
        let overwrites = self.rules.lack(Rule::R12);
        let files = self.files_of(state, key);
        if files.record.is_some() && !overwrites {
            return matches!(key, Key::Writer(_));
        }
        files.record = Some(0);
        if let Key::Exclusive { n, nonce } = key {
            for claim in state.claims.iter_mut().filter(|claim| claim.n == n) {
                (claim.nonce, claim.at_once) = (nonce, at_once);
            }
        }
        true
    }

    /// The files of a claim, about to be written.
    fn files_of<'s>(&self, state: &'s mut State, key: Key) -> &'s mut Files {
        let files = match key {
            Key::Exclusive { n, nonce } => {
                let at = state.claims.iter().position(|claim| claim.n == n);
                let at = at.unwrap_or_else(|| {
                    state.claims.push(Claim { n, nonce, ..Claim::default() });
                    state.claims.len() - 1
                });
                &mut state.claims[at].files
            }
            Key::Writer(nonce) => {
                let at = state.shares.iter().position(|share| share.nonce == nonce);
                let at = at.unwrap_or_else(|| {
                    state.shares.push(Share { nonce, files: Files::default() });
                    state.shares.len() - 1
                });
                &mut state.shares[at].files
            }
        };
        files.quiet = 0;
        files
    }

    /// Whether a killed claim is over.
    pub(super) fn is_over(&self, files: &Files) -> bool {
        use super::setting::Over;
        match (files.killed, self.over) {
            (None, _) => false,
            (Some(_), _) if self.rules.lack(Rule::F2) => true,
            (Some(gap), Over::ByGap) => gap >= self.ttl,
            (Some(_), Over::ByAge) => files.record.is_none_or(|age| age >= self.ttl),
        }
    }

    /// Whether a claim counts.
    pub(super) fn counts(&self, files: &Files) -> bool {
        files.record.is_some() && !files.released && !self.is_over(files)
    }

    /// How long what is quiet is watched.
    pub(super) const fn longest_quiet(&self) -> u8 {
        if self.collects { KEPT * self.ttl } else { 0 }
    }

    fn is_old(&self, files: &Files) -> bool {
        self.rules.lack(Rule::F4) || files.quiet >= self.longest_quiet()
    }

    /// Whether a writer's end marks may be collected.
    pub(super) fn is_garbage_of_a_writer(&self, share: &Share) -> bool {
        let files = &share.files;
        (files.record.is_none() || files.released) && self.is_old(files)
    }

    /// Whether an exclusive's claim may be collected.
    pub(super) fn is_garbage_of_an_exclusive(&self, state: &State, claim: &Claim) -> bool {
        let files = &claim.files;
        let highest = state.claims.iter().map(|claim| claim.n).max();
        if self.rules.lack(Rule::F5) {
            return !self.counts(files) && Some(claim.n) < highest;
        }
        let withdrawn = files.released && files.mark == Some(Mark::Void);
        let passed = claim.n < self.granted(state);
        let granted =
            |below: &Claim| below.n + 1 == claim.n && below.files.mark == Some(Mark::Granted);
        // Whoever was about to end it may seal it as granted once its own mark is gone.
        let kept = state.claims.iter().any(granted);
        passed || withdrawn && Some(claim.n) < highest && !kept && self.is_old(files)
    }

    /// The epoch that writers take.
    pub(super) fn granted(&self, state: &State) -> u8 {
        let granted = state.claims.iter().filter(|claim| claim.files.mark == Some(Mark::Granted));
        granted.map(|claim| claim.n).max().unwrap_or(0)
    }
}
