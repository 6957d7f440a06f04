//! Time passes, clients die, and what is believed is looked at.

use super::canonical::NO_EPOCH;
use super::client::idle;
use super::setting::{Resource, Setting};
use super::state::{Fault, Mode, State, Step};

impl Setting {
    pub(super) fn tick(&self, state: &mut State) {
        state.phase = (state.phase + 1) % self.granularity;
        let records = state.exclusive.iter_mut().chain(state.writers.iter_mut());
        records.for_each(|record| record.left = record.left.saturating_sub(1));
        if self.resource == Resource::Unfenced {
            state.writes.iter_mut().for_each(|write| write.age += 1);
        }
        for index in 0..state.clients.len() {
            let client = &mut state.clients[index];
            client.rest = client.rest.saturating_sub(1);
            client.next_rest = client.next_rest.saturating_sub(1);
            client.waits = false;
            // A holder that believes in nothing any more, and waits for nothing, has lost.
            let waits_for_nothing = match client.step {
                Step::Held => true,
                Step::ReadBack => client.next_rest == 0,
                _ => false,
            };
            if client.holds && client.rest == 0 && waits_for_nothing {
                self.idle(state, index, false);
            }
        }
    }

    pub(super) fn die(&self, state: &mut State, index: usize) {
        state.deaths -= 1;
        if let Step::Sent(request) = state.clients[index].step
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
            self.fell(state, Fault::Overlap);
        } else if state.fault.is_none() && epochs.any(|epoch| epoch != first) {
            self.fell(state, Fault::EpochShared);
        }
    }
}
