//! A clock that moves only when it is told to.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;

use super::{Clock, Moment};

/// A clock that stands still until [`advance`](Self::advance) moves it. Clones are one clock.
///
/// ```
/// use std::time::Duration;
/// use lease_core::clock::{Clock, ManualClock};
///
/// let clock = ManualClock::new();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(15));
/// assert_eq!(clock.now().since(before), Duration::from_secs(15));
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock {
    now: watch::Sender<Moment>,
}

impl ManualClock {
    /// A clock that shows an hour after its origin, so that earlier moments exist.
    #[must_use]
    pub fn new() -> Self {
        Self { now: watch::Sender::new(Moment::after_origin(Duration::from_secs(3600))) }
    }

    /// Moves the clock on by `time` and wakes whoever slept until then.
    pub fn advance(&self, time: Duration) {
        self.now.send_modify(|now| *now = now.plus(time));
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Moment {
        *self.now.borrow()
    }

    fn sleep_until(&self, at: Moment) -> BoxFuture<'static, ()> {
        let mut now = self.now.subscribe();
        Box::pin(async move {
            if now.wait_for(|now| *now >= at).await.is_err() {
                // Nobody can move this clock any more, so the moment never comes.
                std::future::pending::<()>().await;
            }
        })
    }
}
