//! What a client reads in a listing.

use super::setting::Setting;
use super::state::{Claim, Mark, Share, State};
use crate::general::{Mode, Nonce};
use crate::rules::Rule;

impl Setting {
    /// The highest exclusive claim that counts. Below the highest granted one none does.
    pub(super) fn in_the_way(&self, state: &State) -> Option<Claim> {
        let granted = self.granted(state);
        let counted = state.claims.iter().filter(|claim| claim.n >= granted);
        counted.filter(|claim| self.counts(&claim.files)).max_by_key(|claim| claim.n).copied()
    }

    pub(super) fn is_stale(&self, age: Option<u8>) -> bool {
        age.is_some_and(|age| age >= self.ttl)
    }

    /// The writers' claims that count.
    pub(super) fn live<'s>(&self, state: &'s State) -> impl Iterator<Item = &'s Share> {
        let this = *self;
        state.shares.iter().filter(move |share| this.counts(&share.files))
    }

    /// Whether one's own claim still counts, as its owner must see it.
    pub(super) fn is_own_alive(&self, state: &State, index: usize) -> bool {
        let client = &state.clients[index];
        let files = match self.clients[index] {
            Mode::Writer => {
                let mine = |share: &&Share| share.nonce == Nonce::current(index);
                state.shares.iter().find(mine).map(|share| share.files)
            }
            Mode::Exclusive => {
                let passed = state.claims.iter().any(|claim| claim.n > client.n);
                if passed && self.rules.keep(Rule::F9) {
                    return false;
                }
                let mine = state.claims.iter().find(|claim| claim.n == client.n);
                mine.filter(|claim| self.is_mine(claim, index)).map(|claim| claim.files)
            }
        };
        let unmarked = |mark| match mark {
            None => client.holds && !client.at_once,
            Some(mark) => client.holds && mark != Mark::Granted,
        };
        files.is_some_and(|files| {
            files.record.is_some()
                && files.killed.is_none()
                && !files.released
                && !(self.clients[index] == Mode::Exclusive && unmarked(files.mark))
        })
    }

    /// The claim's file says whose it is; but nobody looks into it again who created it.
    pub(super) fn is_mine(&self, claim: &Claim, index: usize) -> bool {
        claim.nonce == Nonce::current(index) || self.rules.lack(Rule::R12)
    }

    /// Whether no writer holds, and none is to be granted: the highest claim was granted.
    pub(super) fn is_closed(&self, state: &State) -> bool {
        let highest = state.claims.iter().max_by_key(|claim| claim.n);
        highest.is_some_and(|claim| claim.files.mark == Some(Mark::Granted))
    }

    /// The fate that a killer seals. One that was granted by being there may have held, unless there
    /// is a higher one.
    pub(super) fn fate(&self, state: &State, claim: &Claim) -> Mark {
        let highest = claim.n + 1 == self.next_number(state);
        if claim.at_once && highest && self.rules.keep(Rule::F13) {
            Mark::Granted
        } else {
            Mark::Void
        }
    }

    /// The number after the highest of any file.
    pub(super) fn next_number(&self, state: &State) -> u8 {
        state.claims.iter().map(|claim| claim.n).max().unwrap_or(0) + 1
    }

    /// The epoch that a writer would take now.
    pub(super) fn epoch(&self, state: &State) -> u8 {
        if self.rules.keep(Rule::R20) {
            return self.granted(state);
        }
        self.next_number(state) - 1
    }
}
