//! The general form as the model checker sees it.

use std::sync::atomic::{AtomicBool, Ordering};

use stateright::{Model, Property};

use super::actions::Action;
use super::canonical::NO_EPOCH;
use super::setting::{Resource, Setting};
use super::state::{Client, Fault, State, Token};
use crate::list::List;

/// A setting, being checked.
#[derive(Debug)]
pub struct General {
    /// What is checked.
    pub setting: Setting,
    /// Whether a fault was reported: the first one found is the one with the shortest trace.
    found: AtomicBool,
}

/// The properties, and what each means.
pub const PROPERTIES: [(&str, Fault); 7] = [
    ("no two believe who exclude each other", Fault::Overlap),
    ("grants come in the order of their epochs", Fault::EpochOrder),
    ("all writers between two exclusives share an epoch", Fault::EpochShared),
    ("the resource never goes back to a lower token", Fault::GateBack),
    ("no write lands after a successor is at work", Fault::LateWrite),
    ("the resource never refuses who holds", Fault::ValidRefused),
    ("a withdrawn claim leaves nothing behind", Fault::Leftover),
];

impl General {
    /// Checks this setting.
    #[must_use]
    pub const fn new(setting: Setting) -> Self {
        Self { setting, found: AtomicBool::new(false) }
    }

    fn holds(&self, state: &State, fault: Fault) -> bool {
        state.fault != Some(fault) || self.found.swap(true, Ordering::Relaxed)
    }
}

impl Setting {
    /// The properties that can fall here: those of the resource only where there is one.
    #[must_use]
    pub fn properties(&self) -> Vec<&'static str> {
        let can_fall = |fault: Fault| match fault {
            Fault::GateBack | Fault::ValidRefused => self.resource == Resource::Fenced,
            Fault::LateWrite => self.resource != Resource::None,
            _ => true,
        };
        let looked_at = |fault: Fault| self.only.is_none_or(|only| only == fault);
        let all = PROPERTIES.iter().filter(|(_, fault)| can_fall(*fault) && looked_at(*fault));
        all.map(|(name, _)| *name).collect()
    }
}

impl Model for General {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let client = Client { epoch: NO_EPOCH, ..Client::default() };
        vec![State {
            clients: self.setting.clients.iter().map(|_| client).collect(),
            epoch: 0,
            exclusive: None,
            writers: List::default(),
            late: List::default(),
            unclear: self.setting.unclear.unwrap_or(u8::MAX),
            deaths: self.setting.deaths,
            phase: 0,
            before: Default::default(),
            top: Token { epoch: 0, writer: true },
            gate: Token::default(),
            at_work: Token::default(),
            writes: List::default(),
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
            Action::Store(index) => setting.answer(&mut state, index.into(), false),
            Action::StaleRead(index) => setting.answer(&mut state, index.into(), true),
            Action::Client(index, choice) => setting.go_on(&mut state, index.into(), choice),
            Action::GiveUp(index, fate) => setting.give_up(&mut state, index.into(), fate),
            Action::Repeat(index) => {
                let super::state::Step::Sent(request) = state.clients[usize::from(index)].step
                else {
                    return None;
                };
                state.late.push(request);
                setting.answer(&mut state, index.into(), false);
            }
            Action::Arrive(index) => {
                let request = state.late.remove(index.into());
                setting.apply(&mut state, request);
            }
            Action::Lose(index) => {
                state.late.remove(index.into());
            }
            Action::Land(index) => setting.land(&mut state, index.into()),
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
        properties![0 1 2 3 4 5 6]
    }
}
