//! Turns: each request of a client waits until a test lets it go.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures::future::BoxFuture;
use futures::task::noop_waker;

/// Lets the steps of one actor go, one by one. Clones are one gate.
#[derive(Clone, Default)]
pub(crate) struct Turns(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    turns: usize,
    waiting: Vec<Waker>,
}

impl Turns {
    /// Ends when it is this actor's turn.
    pub(crate) fn next(&self) -> BoxFuture<'static, ()> {
        let inner = Arc::clone(&self.0);
        Box::pin(poll_fn(move |context| {
            let mut inner = inner.lock().unwrap();
            if inner.turns > 0 {
                inner.turns -= 1;
                return Poll::Ready(());
            }
            inner.waiting.push(context.waker().clone());
            Poll::Pending
        }))
    }

    /// Gives `actor` one turn. Whether it is done.
    pub(crate) fn give(&self, actor: &mut BoxFuture<'static, ()>) -> bool {
        let waiting = {
            let mut inner = self.0.lock().unwrap();
            inner.turns = 1;
            std::mem::take(&mut inner.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
        let poll = actor.as_mut().poll(&mut Context::from_waker(&noop_waker()));
        matches!(poll, Poll::Ready(()))
    }
}

/// All sequences of choices, one after the other.
#[derive(Default)]
pub(crate) struct Choices {
    path: Vec<(usize, usize)>,
    at: usize,
}

impl Choices {
    /// One of `of` things.
    pub(crate) fn pick(&mut self, of: usize) -> usize {
        if self.at == self.path.len() {
            self.path.push((0, of));
        }
        self.at += 1;
        self.path[self.at - 1].0
    }

    /// Goes on to the next sequence, if there is one.
    pub(crate) fn advance(&mut self) -> bool {
        self.at = 0;
        while let Some((last, of)) = self.path.pop() {
            if last + 1 < of {
                self.path.push((last + 1, of));
                return true;
            }
        }
        false
    }
}
