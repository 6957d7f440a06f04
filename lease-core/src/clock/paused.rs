//! The tokio runtime's clock, for tests that run on paused time.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;

use super::{Clock, Moment};

/// The step of the runtime's timers, in nanoseconds.
const STEP: u64 = 1_000_000;

/// The tokio runtime's own clock: on paused time it jumps to the next timer when all is idle.
///
/// For tests under `#[tokio::test(start_paused = true)]`. It moves in whole milliseconds, as the
/// runtime's timers do: the rest depends on when the runtime started, and no test repeats that. It
/// does not count suspend, so production uses [`SystemClock`](super::SystemClock).
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
        let elapsed = Instant::now().saturating_duration_since(self.origin);
        Moment::after_origin(
            elapsed - Duration::from_nanos(u64::from(elapsed.subsec_nanos()) % STEP),
        )
    }

    #[expect(clippy::disallowed_methods, reason = "this is the door that the ban points to")]
    fn sleep_until(&self, at: Moment) -> BoxFuture<'static, ()> {
        let rest = u64::from(at.since_origin().subsec_nanos()) % STEP;
        let up = Duration::from_nanos(if rest == 0 { 0 } else { STEP - rest });
        let elapsed = at.since_origin().checked_add(up);
        let deadline = elapsed.and_then(|elapsed| self.origin.checked_add(elapsed));
        Box::pin(async move {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        })
    }
}
