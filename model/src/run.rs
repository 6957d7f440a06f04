//! One run of either form, and what came out of it, in words.

use std::hash::Hash;

use crate::check;
use crate::files::{self, FileForm};
use crate::general::{self, General};
use crate::live;
use crate::rules::{Rule, Rules};
use crate::words::{self, Told};

/// What the two runs without pauses look for.
pub const LIVENESS: [&str; 2] =
    ["everybody can always still finish", "nobody waits for ever while nobody pauses"];

/// One run.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// Of the general form.
    General(general::Setting),
    /// Of the file form.
    Files(files::Setting),
}

/// What came out of one.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What fell, if anything did.
    pub finding: Option<Finding>,
    /// How many states were seen.
    pub states: usize,
    /// Whether all reachable states were seen.
    pub complete: bool,
}

/// A property that fell.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Which.
    pub property: &'static str,
    /// The shortest way there, in words.
    pub way: Vec<String>,
    /// What then goes on for ever.
    pub circle: Vec<String>,
}

impl Run {
    /// The same with a rule switched off.
    #[must_use]
    pub const fn without(mut self, rule: Rule) -> Self {
        match &mut self {
            Self::General(setting) => setting.rules = setting.rules.without(rule),
            Self::Files(setting) => setting.rules = setting.rules.without(rule),
        }
        self
    }

    /// Who takes part, and what may go wrong.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::General(setting) => setting.name,
            Self::Files(setting) => setting.name,
        }
    }

    /// Which form of the protocol it is about.
    #[must_use]
    pub const fn form(&self) -> &'static str {
        match self {
            Self::General(_) => "general",
            Self::Files(_) => "files",
        }
    }

    /// The rules that it keeps.
    #[must_use]
    pub const fn rules(&self) -> Rules {
        match self {
            Self::General(setting) => setting.rules,
            Self::Files(setting) => setting.rules,
        }
    }

    /// The properties that it looks at.
    #[must_use]
    pub fn properties(&self) -> Vec<&'static str> {
        match self {
            Self::General(setting) if setting.fair => LIVENESS.to_vec(),
            Self::Files(setting) if setting.fair => LIVENESS.to_vec(),
            Self::General(setting) => setting.properties(),
            Self::Files(_) => files::PROPERTIES.iter().map(|(name, _)| *name).collect(),
        }
    }

    /// Runs it, for at most so many steps.
    #[must_use]
    pub fn verdict(&self, steps: usize) -> Verdict {
        match *self {
            Self::General(setting) if setting.fair => {
                live(&General::new(setting), |state: &general::State| {
                    let done = [general::Step::Done, general::Step::Dead];
                    state.clients.iter().all(|client| done.contains(&client.step))
                })
            }
            Self::Files(setting) if setting.fair => {
                live(&FileForm::new(setting), |state: &files::State| {
                    let done = [files::Step::Done, files::Step::Dead];
                    state.clients.iter().all(|client| done.contains(&client.step))
                })
            }
            Self::General(setting) => safe(|| General::new(setting), steps),
            Self::Files(setting) => safe(|| FileForm::new(setting), steps),
        }
    }
}

fn safe<M>(model: impl Fn() -> M, steps: usize) -> Verdict
where
    M: Told + Send + Sync + 'static,
    M::State: Clone + std::fmt::Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Copy + PartialEq + Send + Sync + 'static,
{
    let outcome = check::run(model(), steps);
    let finding = outcome.fell.map(|fall| Finding {
        property: fall.property,
        way: words::of_fall(&model(), &fall),
        circle: Vec::new(),
    });
    Verdict { finding, states: outcome.states, complete: outcome.complete }
}

fn live<M>(model: &M, is_final: impl Fn(&M::State) -> bool) -> Verdict
where
    M: Told,
    M::State: Copy + Eq + Hash,
    M::Action: Copy,
{
    let liveness = live::check(model, is_final);
    let finding = liveness.trap.map(|trap| {
        let (way, circle) = words::of_trap(model, &trap);
        Finding { property: LIVENESS[usize::from(!trap.hopeless)], way, circle }
    });
    Verdict { finding, states: liveness.states, complete: true }
}
