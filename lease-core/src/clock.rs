//! The one door for time: clocks that count suspend, and clocks that a test holds in its hand.

use std::fmt::Debug;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

mod manual;
mod paused;
mod system;

pub use manual::ManualClock;
pub use paused::PausedClock;
pub use system::{SystemClock, since_1970_ms, wall_clock_for_display};

/// A moment on one clock's own line: the time since that clock's origin.
///
/// Moments of two clocks have nothing to do with each other, so they never enter a shared record.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Moment(Duration);

impl Moment {
    /// The moment this long after the clock's origin.
    #[must_use]
    pub const fn after_origin(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// The time since the clock's origin.
    #[must_use]
    pub const fn since_origin(self) -> Duration {
        self.0
    }

    /// The time from `earlier` to this moment; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The moment `time` later; the last moment there is where that overflows.
    #[must_use]
    pub const fn plus(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }

    /// The moment `time` earlier; the clock's origin where that would be before it.
    #[must_use]
    pub const fn minus(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(time))
    }
}

/// A clock that runs at about the rate of everybody's, and may show any time.
///
/// It never goes backwards. A lease is only as good as its holder's clock, so the clock must also
/// count the time in which the machine was suspended: [`SystemClock`] does.
pub trait Clock: Debug + Send + Sync + 'static {
    /// Now, on this clock's own line.
    fn now(&self) -> Moment;

    /// Ends at `at` or soon after; at once if that has passed.
    ///
    /// # Cancel safety
    ///
    /// Safe: it holds nothing.
    fn sleep_until(&self, at: Moment) -> BoxFuture<'static, ()>;
}

/// Runs `work` for at most `time` of `clock`; nothing if it took longer and was dropped.
///
/// A request that `work` had sent may still reach the store: nothing is known about its effect.
///
/// # Cancel safety
///
/// As safe as `work`.
pub async fn within<T>(
    clock: &Arc<dyn Clock>,
    time: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let until = clock.now().plus(time);
    let mut work = pin!(work);
    // An answer that is there at once, as of a store in memory, needs no timer.
    if let Poll::Ready(answer) = futures::poll!(work.as_mut()) {
        return Some(answer);
    }
    let timer = clock.sleep_until(until);
    tokio::select! {
        // An answer that is there when the time is up still counts.
        biased;
        answer = work => Some(answer),
        () = timer => None,
    }
}
