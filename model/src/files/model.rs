//! The file form as the model checker sees it.

use std::sync::atomic::{AtomicBool, Ordering};

use stateright::{Model, Property};

use super::actions::Action;
use super::client::idle;
use super::setting::Setting;
use super::state::{Fault, State};
use crate::general::Token;
use crate::list::List;

/// A setting, being checked.
#[derive(Debug)]
pub struct FileForm {
    /// What is checked.
    pub setting: Setting,
    /// Whether a fault was reported: the first one found is the one with the shortest trace.
    found: AtomicBool,
}

/// The properties, and what each means.
pub const PROPERTIES: [(&str, Fault); 4] = [
    ("no two believe who exclude each other", Fault::Overlap),
    ("grants come in the order of their epochs", Fault::EpochOrder),
    ("all writers between two exclusives share an epoch", Fault::EpochShared),
    ("a withdrawn claim leaves nothing behind", Fault::Leftover),
];

impl FileForm {
    /// Checks this setting.
    #[must_use]
    pub const fn new(setting: Setting) -> Self {
        Self { setting, found: AtomicBool::new(false) }
    }

    fn holds(&self, state: &State, fault: Fault) -> bool {
        state.fault != Some(fault) || self.found.swap(true, Ordering::Relaxed)
    }
}

impl Model for FileForm {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            clients: self.setting.clients.iter().map(|_| idle()).collect(),
            claims: List::default(),
            shares: List::default(),
            late: List::default(),
            unclear: self.setting.unclear.unwrap_or(u8::MAX),
            deaths: self.setting.deaths,
            top: Token { epoch: 0, writer: true },
            fault: None,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.setting.actions_of(state, actions);
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = *before;
        let setting = &self.setting;
        match action {
            Action::Store(index) => setting.answer(&mut state, index.into()),
            Action::Client(index, choice) => setting.go_on(&mut state, index.into(), choice),
            Action::GiveUp(index, fate) => setting.give_up(&mut state, index.into(), fate),
            Action::Arrive(index) => {
                let request = state.late.remove(index.into());
                setting.apply(&mut state, request);
            }
            Action::Lose(index) => {
                state.late.remove(index.into());
            }
            Action::CollectClaim(at) => {
                state.claims.remove(at.into());
            }
            Action::CollectShare(at) => {
                state.shares.remove(at.into());
            }
            Action::Die(index) => setting.die(&mut state, index.into()),
            Action::Tick => setting.tick(&mut state),
        }
        setting.look_for_faults(&mut state);
        if state.fault.is_none() {
            setting.canonical(&mut state);
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        macro_rules! properties {
            ($($index:literal)*) => {
                vec![$(Property::always(PROPERTIES[$index].0, |model: &Self, state| {
                    model.holds(state, PROPERTIES[$index].1)
                })),*]
            };
        }
        properties![0 1 2 3]
    }
}
