//! Whether everybody gets their turn: a search over the whole graph of a run without pauses.
//!
//! In such a run time passes only while every client waits for something, so that every infinite
//! run is one in which everybody was asked again and again. It is therefore enough that the graph
//! has no cycle outside the final states, and no other state without a way out.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use stateright::Model;

/// What was found.
#[derive(Clone, Debug)]
pub struct Liveness<S, A> {
    /// The shortest way to a state from which somebody waits for ever, if there is one.
    pub trap: Option<Trap<S, A>>,
    /// How many states there are.
    pub states: usize,
}

/// Somebody waits for ever.
#[derive(Clone, Debug)]
pub struct Trap<S, A> {
    /// The way there: each state, and what happened then.
    pub way: Vec<(S, A)>,
    /// What then goes on for ever; empty if nothing can happen any more.
    pub circle: Vec<(S, A)>,
    /// Whether no way leads out, so that also luck does not help.
    pub hopeless: bool,
}

struct Graph<S, A> {
    states: Vec<S>,
    edges: Vec<Vec<(A, usize)>>,
    /// The state that led to each, first.
    parents: Vec<Option<usize>>,
    is_final: Vec<bool>,
}

/// Looks at all reachable states; `is_final` says where everybody has had their turn.
pub fn check<M>(model: &M, is_final: impl Fn(&M::State) -> bool) -> Liveness<M::State, M::Action>
where
    M: Model,
    M::State: Copy + Eq + Hash,
    M::Action: Copy,
{
    let graph = Graph::explore(model, is_final);
    let on_circle = graph.on_circles();
    let hopeful = graph.reaching_a_final_state();
    let stuck = |&at: &usize| !graph.is_final[at] && (on_circle[at] || graph.edges[at].is_empty());
    let trap = (0..graph.states.len()).find(stuck).map(|at| Trap {
        way: graph.way_to(at),
        circle: graph.circle_from(at, &on_circle),
        hopeless: !hopeful[at],
    });
    // Where nothing goes round and nothing is stuck, every state leads to a final one.
    assert!(trap.is_some() || hopeful.iter().all(|hopeful| *hopeful), "the search is wrong");
    Liveness { trap, states: graph.states.len() }
}

impl<S: Copy + Eq + Hash, A: Copy> Graph<S, A> {
    fn explore<M>(model: &M, is_final: impl Fn(&S) -> bool) -> Self
    where
        M: Model<State = S, Action = A>,
    {
        let states = model.init_states();
        let mut known: HashMap<S, usize> = states.iter().copied().zip(0..).collect();
        let parents = vec![None; states.len()];
        let mut graph = Self { states, edges: Vec::new(), parents, is_final: Vec::new() };
        let mut actions = Vec::new();
        let mut at = 0;
        while at < graph.states.len() {
            let state = graph.states[at];
            graph.is_final.push(is_final(&state));
            let mut edges = Vec::new();
            model.actions(&state, &mut actions);
            for action in actions.drain(..) {
                let Some(next) = model.next_state(&state, action) else { continue };
                let to = *known.entry(next).or_insert_with(|| {
                    graph.states.push(next);
                    graph.parents.push(Some(at));
                    graph.states.len() - 1
                });
                edges.push((action, to));
            }
            graph.edges.push(edges);
            at += 1;
        }
        graph
    }

    /// Which states are on a circle outside the final states, or between two: what is left when
    /// one takes away, again and again, what nothing comes from or leads to.
    fn on_circles(&self) -> Vec<bool> {
        let inner = |from: usize, to: usize| !self.is_final[from] && !self.is_final[to];
        let mut left = vec![true; self.states.len()];
        for reversed in [false, true] {
            let mut next = vec![Vec::new(); self.states.len()];
            let mut arriving = vec![0usize; self.states.len()];
            for (from, edges) in self.edges.iter().enumerate() {
                for (_, to) in edges.iter().filter(|(_, to)| inner(from, *to)) {
                    let (a, b) = if reversed { (*to, from) } else { (from, *to) };
                    if left[a] && left[b] {
                        next[a].push(b);
                        arriving[b] += 1;
                    }
                }
            }
            let mut free: Vec<usize> =
                (0..self.states.len()).filter(|at| left[*at] && arriving[*at] == 0).collect();
            while let Some(at) = free.pop() {
                left[at] = false;
                for to in &next[at] {
                    arriving[*to] -= 1;
                    if arriving[*to] == 0 && left[*to] {
                        free.push(*to);
                    }
                }
            }
        }
        left
    }

    fn reaching_a_final_state(&self) -> Vec<bool> {
        let mut before = vec![Vec::new(); self.states.len()];
        for (from, edges) in self.edges.iter().enumerate() {
            edges.iter().for_each(|(_, to)| before[*to].push(from));
        }
        let mut reaching = self.is_final.clone();
        let mut open: Vec<usize> = (0..reaching.len()).filter(|at| reaching[*at]).collect();
        while let Some(at) = open.pop() {
            for from in &before[at] {
                if !reaching[*from] {
                    reaching[*from] = true;
                    open.push(*from);
                }
            }
        }
        reaching
    }

    fn way_to(&self, to: usize) -> Vec<(S, A)> {
        let mut way = Vec::new();
        let mut at = to;
        while let Some(from) = self.parents[at] {
            way.extend(self.step(from, at));
            at = from;
        }
        way.reverse();
        way
    }

    fn step(&self, from: usize, to: usize) -> Option<(S, A)> {
        let edge = self.edges[from].iter().find(|(_, next)| *next == to)?;
        Some((self.states[from], edge.0))
    }

    /// The shortest circle through a state, or from it into one.
    fn circle_from(&self, start: usize, on_circle: &[bool]) -> Vec<(S, A)> {
        let mut parents: HashMap<usize, usize> = HashMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(at) = open.pop_front() {
            for (_, to) in self.edges[at].iter().filter(|(_, to)| on_circle[*to]) {
                if *to == start {
                    let mut circle: Vec<(S, A)> = self.step(at, start).into_iter().collect();
                    let mut back = at;
                    while back != start {
                        circle.extend(self.step(parents[&back], back));
                        back = parents[&back];
                    }
                    circle.reverse();
                    return circle;
                }
                parents.entry(*to).or_insert_with(|| {
                    open.push_back(*to);
                    at
                });
            }
        }
        Vec::new()
    }
}
