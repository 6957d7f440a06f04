//! Whether a client's process runs.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Whether a client's process runs. Whoever wakes up in one that is stopped waits here.
///
/// Not a watch channel: that wakes its receivers in an order that no seed repeats.
#[derive(Debug, Default)]
pub(super) struct Process {
    stopped: AtomicBool,
    goes_on: Notify,
}

impl Process {
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    pub(super) fn go_on(&self) {
        self.stopped.store(false, Ordering::SeqCst);
        self.goes_on.notify_waiters();
    }

    /// Ends at once while the process runs.
    pub(super) async fn runs(&self) {
        loop {
            let goes_on = self.goes_on.notified();
            if !self.stopped.load(Ordering::SeqCst) {
                return;
            }
            goes_on.await;
        }
    }
}
