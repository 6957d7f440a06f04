//! Time passes, clients die, and what is believed is looked at.

use super::canonical::NO_EPOCH;
use super::client::idle;
use super::setting::Setting;
use super::state::{Fault, Files, State, Step};
use crate::general::Mode;

impl Setting {
    pub(super) fn tick(&self, state: &mut State) {
        let ages = |files: &mut Files| {
            files.record = files.record.map(|age| (age + 1).min(self.ttl));
            files.quiet = (files.quiet + 1).min(self.longest_quiet());
        };
        state.claims.iter_mut().for_each(|claim| ages(&mut claim.files));
        state.shares.iter_mut().for_each(|share| ages(&mut share.files));
        for index in 0..state.clients.len() {
            let client = &mut state.clients[index];
            client.rest = client.rest.saturating_sub(1);
            client.next_rest = client.next_rest.saturating_sub(1);
            client.waits = false;
            if client.step == Step::Held && client.rest == 0 && !self.is_deaf() {
                self.idle(state, index, false);
            }
        }
    }

    pub(super) fn die(&self, state: &mut State, index: usize) {
        state.deaths -= 1;
        if let Step::Sent(request, _) = state.clients[index].step
            && state.late.len() < usize::from(self.late)
        {
            state.late.push(request);
        }
        self.idle(state, index, false);
        state.clients[index] = idle();
        state.clients[index].step = Step::Dead;
    }

    /// The properties that can be seen in a state alone.
    pub(super) fn look_for_faults(&self, state: &mut State) {
        let believers = || {
            let all = state.clients.iter().zip(self.clients);
            all.filter(|(client, _)| client.holds && client.rest > 0)
        };
        let alone = believers().filter(|(_, mode)| **mode == Mode::Exclusive).count();
        let count = believers().count();
        let mut epochs = believers().map(|(client, _)| client.epoch);
        let first = epochs.next().unwrap_or(NO_EPOCH);
        if alone > 1 || alone == 1 && count > 1 {
            state.fault = Some(Fault::Overlap);
        } else if state.fault.is_none() && epochs.any(|epoch| epoch != first) {
            state.fault = Some(Fault::EpochShared);
        }
    }
}
