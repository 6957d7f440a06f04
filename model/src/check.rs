//! Runs the model checker over one setting.

use std::num::NonZeroUsize;
use std::time::Duration;

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

/// Searches breadth first, on one thread, for at most this long.
pub fn run<M>(model: M, at_most: Duration) -> Outcome<M::State, M::Action>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + std::fmt::Debug + std::hash::Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + PartialEq + Send + Sync + 'static,
{
    let checker = model.checker().finish_when(HasDiscoveries::Any).timeout(at_most);
    let checker = checker.threads(NonZeroUsize::MIN.get()).spawn_bfs().join();
    let fell = checker.discoveries().into_iter().next();
    let fell = fell.map(|(property, path)| Fall { property, trace: path.into_vec() });
    Outcome { complete: checker.is_done(), states: checker.unique_state_count(), fell }
}
