//! All requests of one step to a folder in one go of the blocking pool.
//!
//! A file operation takes some microseconds; to hand it to the pool and to be woken by its answer
//! takes several times as long, and an exclusive makes seven of them. So a step is handed over
//! whole, and its requests are made where they are.
//!
//! A step that is handed over cannot be taken back, as no file operation can. When nobody waits for
//! it any more it makes no further request: as if each had been handed over for itself.
//!
//! Nothing within a step may wait for the pool: steps enough would fill it and wait for each other
//! for ever. So all requests to folders go through here.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::panic::resume_unwind;
use std::sync::{Arc, Weak};

use lease_core::{Error, Result};
use tokio::runtime::Handle;
use tokio::task::{JoinError, spawn_blocking};
use tracing::Instrument;
use tracing::instrument::WithSubscriber;

use crate::error::KIND;

thread_local! {
    /// Who waits for the step that this thread is busy with, if it is with one.
    static CALLER: RefCell<Option<Weak<()>>> = const { RefCell::new(None) };
}

/// Runs a step, and all its requests to folders, in one go. A step within a step is a part of it.
///
/// It must not sleep: the runtime waits for it when it shuts down.
pub(crate) async fn in_one_go<T: Send + 'static>(
    step: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    if is_on() {
        return step.await;
    }
    let waiting = Arc::new(());
    let caller = Arc::downgrade(&waiting);
    let step = step.in_current_span().with_current_subscriber();
    let done = spawn_blocking(move || {
        if caller.strong_count() == 0 {
            return Err(Error::unreached(KIND, nobody_waits()));
        }
        let _busy = Busy::for_the(caller);
        Handle::current().block_on(step)
    });
    let done = done.await;
    drop(waiting);
    match done {
        Ok(answer) => answer,
        Err(end) => match end.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(end) => Err(Error::unclear(KIND, end)),
        },
    }
}

/// Runs one request: here, if this is within a step that goes in one, else in a go of its own.
pub(crate) async fn request<T: Send + 'static>(
    request: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<io::Result<T>, JoinError> {
    match CALLER.with_borrow(Option::clone) {
        None => spawn_blocking(request).await,
        Some(caller) if caller.strong_count() == 0 => Ok(Err(nobody_waits())),
        Some(_) => Ok(request()),
    }
}

/// Whether this thread is busy with a step.
pub(crate) fn is_on() -> bool {
    CALLER.with_borrow(Option::is_some)
}

fn nobody_waits() -> io::Error {
    io::Error::new(ErrorKind::Interrupted, "nobody waits for this any more")
}

/// While it lives this thread is busy with a step.
struct Busy;

impl Busy {
    fn for_the(caller: Weak<()>) -> Self {
        CALLER.set(Some(caller));
        Self
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        CALLER.set(None);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::{self, ThreadId};

    use super::*;

    /// Tells in which thread a request is made.
    async fn place() -> ThreadId {
        request(|| Ok(thread::current().id())).await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn all_requests_of_a_step_are_made_in_one_thread() {
        let step = async {
            let inner = in_one_go(async { Ok(place().await) }).await?;
            Ok([thread::current().id(), place().await, inner, place().await])
        };
        let [at, places @ ..] = in_one_go(step).await.unwrap();
        assert_eq!(places, [at; 3]);
        assert_ne!(at, thread::current().id());
    }

    #[tokio::test]
    async fn a_request_of_its_own_does_not_block_the_runtime() {
        assert_ne!(place().await, thread::current().id());
    }

    /// The caller is gone after the first request: the second is not made, nor one of a step within.
    #[tokio::test]
    async fn a_step_that_nobody_waits_for_makes_no_further_request() {
        let (begun, has_begun): (Sender<()>, Receiver<()>) = channel();
        let (go_on, goes_on): (Sender<()>, Receiver<()>) = channel();
        let (tell, told) = channel();
        let step = async move {
            place().await;
            begun.send(()).unwrap();
            goes_on.recv().unwrap();
            let made = async || request(|| Ok(())).await.unwrap().is_ok();
            let within = in_one_go(async move { Ok(request(|| Ok(())).await.unwrap().is_ok()) });
            tell.send([made().await, within.await?]).unwrap();
            Ok(())
        };
        let step = tokio::spawn(in_one_go(step));
        tokio::task::yield_now().await;
        has_begun.recv().unwrap();

        step.abort();
        assert!(step.await.unwrap_err().is_cancelled());
        go_on.send(()).unwrap();

        assert_eq!(told.recv().unwrap(), [false, false]);
    }

    /// A runtime whose pool has one thread.
    fn one_thread() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap()
    }

    #[test]
    fn a_step_that_nobody_waits_for_when_its_turn_comes_is_not_begun() {
        let (go_on, goes_on): (Sender<()>, Receiver<()>) = channel();
        let (tell, told) = channel();
        one_thread().block_on(async {
            let busy = spawn_blocking(move || goes_on.recv().unwrap());
            let step = tokio::spawn(in_one_go(async move {
                tell.send(()).unwrap();
                Ok(())
            }));
            tokio::task::yield_now().await;
            step.abort();
            assert!(step.await.unwrap_err().is_cancelled());
            go_on.send(()).unwrap();
            busy.await.unwrap();
            spawn_blocking(|| ()).await.unwrap();
        });
        told.recv().unwrap_err();
    }

    #[test]
    fn a_panic_reaches_the_caller_and_leaves_the_thread_as_it_was() {
        one_thread().block_on(async {
            let step = tokio::spawn(in_one_go::<()>(async { panic!("a fault of ours") }));
            assert!(step.await.unwrap_err().is_panic());
            assert!(!spawn_blocking(is_on).await.unwrap());
        });
    }
}
