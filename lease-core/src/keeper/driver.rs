//! What turns the engine: a thread of its own, a task, or a test's hand.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures::StreamExt;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use tokio::runtime::Handle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::handle::Inner;
use crate::{Error, Result};

/// Turns a coordinator's renewals by hand: nothing is renewed until [`step`](Self::step) is called.
///
/// For tests that are to be independent of how the machine schedules threads, and that let any
/// number of ttls pass without waiting. Clones turn the same coordinator.
#[derive(Clone, Debug, Default)]
pub struct Driven {
    inner: Arc<Mutex<Weak<Inner>>>,
}

impl Driven {
    /// One that is given to a coordinator by
    /// [`KeeperMode::Driven`](crate::keeper::KeeperMode::Driven).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn attach(&self, inner: &Arc<Inner>) {
        *self.lock() = Arc::downgrade(inner);
    }

    /// Ends the leases whose belief has run out, sends the renewals that are due now, and takes in
    /// their answers. False if no coordinator has been given this, or it is gone.
    ///
    /// # Cancel safety
    ///
    /// Not safe: the answers to renewals that were sent are forgotten, and those leases are not
    /// renewed again until their belief ends.
    pub async fn step(&self) -> bool {
        let Some(inner) = self.lock().upgrade() else { return false };
        let batches = inner.engine().begin();
        for answers in join_all(batches).await {
            inner.finish(answers);
        }
        true
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Weak<Inner>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the engine is turned.
#[derive(Clone, Debug)]
pub(super) struct Driver {
    /// The runtime that renewals run on.
    pub(super) runtime: Handle,
    ended: CancellationToken,
}

impl Driver {
    /// Whether renewals are still sent: the runtime may have been shut down since.
    pub(super) fn is_alive(&self) -> bool {
        !self.ended.is_cancelled()
    }
}

/// Turns the engine until its last coordinator and lease are gone, and tells when that is over,
/// however it ends.
async fn drive(inner: Weak<Inner>, _ended: DropGuard) {
    let Some((clock, nudge)) = inner.upgrade().map(|inner| {
        inner.take_over();
        inner.clock_and_nudge()
    }) else {
        return;
    };
    let mut renewals = FuturesUnordered::new();
    loop {
        // Not held while asleep: whoever drops the last handle ends this loop.
        let Some((batches, wake_at)) = inner.upgrade().map(|inner| {
            let mut engine = inner.engine();
            (engine.begin(), engine.arm())
        }) else {
            return;
        };
        renewals.extend(batches);
        let timer = async {
            match wake_at {
                Some(at) => clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // Always in this order, so that a simulation repeats itself; and answers first, since
            // each of them may save a lease that is about to run out.
            biased;
            Some(answers) = renewals.next(), if !renewals.is_empty() => {
                let Some(inner) = inner.upgrade() else { return };
                inner.finish(answers);
            }
            () = nudge.notified() => {}
            () = timer => {}
        }
    }
}

/// Starts to drive on the runtime that is current, and tells where.
pub(super) fn start_here(inner: &Arc<Inner>) -> Result<Driver> {
    let runtime = Handle::try_current().map_err(|_| {
        Error::misconfigured(
            "a lease was asked for outside a tokio runtime",
            "call it within one, or let the keeper have its own thread",
        )
    })?;
    let ended = CancellationToken::new();
    runtime.spawn(drive(Arc::downgrade(inner), ended.clone().drop_guard()));
    Ok(Driver { runtime, ended })
}

/// Starts a thread with a runtime of its own to drive on, and tells where.
pub(super) fn start_thread(inner: &Arc<Inner>) -> Result<Driver> {
    let cannot = |error: std::io::Error| Error::Misconfigured {
        problem: "the keeper's thread cannot be started".into(),
        fix: "raise the limits on threads and open files of this process".into(),
        source: Some(error.into()),
    };
    let (weak, removals) = (Arc::downgrade(inner), inner.removals());
    let (tell, told) = std::sync::mpsc::channel();
    let ended = CancellationToken::new();
    let tells_end = ended.clone().drop_guard();
    // The runtime is made and dropped on the thread itself: dropping one where another runs panics.
    let run = move || {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                let _ = tell.send(Err(error));
                return;
            }
        };
        let _ = tell.send(Ok(runtime.handle().clone()));
        runtime.block_on(async {
            drive(weak, tells_end).await;
            // Leases that were dropped just before are still released; they take one try each.
            removals.close();
            removals.wait().await;
        });
    };
    std::thread::Builder::new().name("lease-keeper".into()).spawn(run).map_err(cannot)?;
    // A moment: the thread tells before it does anything else.
    let nothing_told = |_| std::io::Error::other("the thread ended before it began");
    let runtime = told.recv().map_err(|gone| cannot(nothing_told(gone)))?.map_err(cannot)?;
    Ok(Driver { runtime, ended })
}
