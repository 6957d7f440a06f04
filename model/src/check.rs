//! Runs the model checker over one setting.

use stateright::{Checker, HasDiscoveries, Model};

/// What came out of a run.
#[derive(Clone, Debug)]
pub struct Outcome<S, A> {
    /// The property that fell, and the shortest way there.
    pub fell: Option<Fall<S, A>>,
    /// How many states were seen.
    pub states: usize,
    /// Whether all reachable states were seen.
    pub complete: bool,
}

/// A property that fell, and the shortest way there.
#[derive(Clone, Debug)]
pub struct Fall<S, A> {
    /// Which.
    pub property: &'static str,
    /// Each state, and what happened then; nothing after the last.
    pub trace: Vec<(S, Option<A>)>,
}

/// Searches breadth first, on one thread, until so many steps were looked at.
pub fn run<M>(model: M, steps: usize) -> Outcome<M::State, M::Action>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + std::fmt::Debug + std::hash::Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + PartialEq + Send + Sync + 'static,
{
    let checker = model.checker().finish_when(HasDiscoveries::Any).target_state_count(steps);
    let checker = checker.threads(1).spawn_bfs().join();
    let fell = checker.discoveries().into_iter().next();
    let fell = fell.map(|(property, path)| Fall { property, trace: path.into_vec() });
    Outcome { complete: checker.state_count() < steps, states: checker.unique_state_count(), fell }
}
