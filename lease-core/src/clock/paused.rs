//! The tokio runtime's clock, for tests that run on paused time.

use futures::future::BoxFuture;
use tokio::time::Instant;

use super::{Clock, Moment};

/// The tokio runtime's own clock: on paused time it jumps to the next timer when all is idle.
///
/// For tests under `#[tokio::test(start_paused = true)]`. It does not count suspend, so production
/// uses [`SystemClock`](super::SystemClock).
#[derive(Clone, Copy, Debug)]
pub struct PausedClock {
    origin: Instant,
}

impl PausedClock {
    /// A clock that starts now. Clones share its line.
    ///
    /// # Panics
    ///
    /// If paused time is wanted, outside a tokio runtime it is not there.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the door that the ban points to")]
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for PausedClock {
    #[expect(clippy::disallowed_methods, reason = "this is the door that the ban points to")]
    fn now(&self) -> Moment {
        Moment::after_origin(Instant::now().saturating_duration_since(self.origin))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the door that the ban points to")]
    fn sleep_until(&self, at: Moment) -> BoxFuture<'static, ()> {
        let deadline = self.origin.checked_add(at.since_origin());
        Box::pin(async move {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        })
    }
}
