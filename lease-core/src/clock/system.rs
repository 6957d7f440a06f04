//! The machine's clock, suspend included.

use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;

use super::{Clock, Moment};

/// The longest single sleep: a timer of the runtime stands still while the machine is suspended,
/// so a sleeper looks at the real clock at least this often.
const NAP: Duration = Duration::from_secs(1);

/// The machine's monotonic clock.
///
/// On Linux it counts suspend (`CLOCK_BOOTTIME`): a laptop that was closed for longer than a
/// lease's ttl wakes up knowing that the lease is over. Sleeping needs a tokio runtime with time.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        Moment::after_origin(since_boot())
    }

    #[expect(clippy::disallowed_methods, reason = "this is the door that the ban points to")]
    fn sleep_until(&self, at: Moment) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            loop {
                let left = at.since(Self.now());
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(NAP)).await;
            }
        })
    }
}

#[cfg(target_os = "linux")]
fn since_boot() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    // The kernel starts this clock at zero and never runs it backwards: both parts fit.
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Elsewhere the larger of what the monotonic and the wall clock say has passed: where the
/// monotonic clock stands still in suspend the wall clock does not, and a lease that ends too
/// early is the harmless error.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "this is the door that the ban points to")]
fn since_boot() -> Duration {
    use std::sync::{Mutex, OnceLock, PoisonError};
    use std::time::Instant;

    static START: OnceLock<(Instant, SystemTime)> = OnceLock::new();
    static LATEST: Mutex<Duration> = Mutex::new(Duration::ZERO);

    let (instant, wall) = *START.get_or_init(|| (Instant::now(), SystemTime::now()));
    let by_wall = SystemTime::now().duration_since(wall).unwrap_or_default();
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    *latest = latest.max(instant.elapsed()).max(by_wall);
    *latest
}

/// The time since 1970 by the wall clock, in milliseconds, to be shown to people. It decides nothing.
#[must_use]
pub fn since_1970_ms() -> u64 {
    let since_1970 = wall_clock_for_display().duration_since(SystemTime::UNIX_EPOCH);
    since_1970.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// The wall clock, to show a time to people. It decides nothing.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the door that the ban points to")]
pub fn wall_clock_for_display() -> SystemTime {
    SystemTime::now()
}
