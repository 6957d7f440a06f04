//! The clock that this process has in common with those it starts.
//!
//! A time span that is sent through a pipe grows by as long as nobody reads it. A moment does not, but
//! it means something only where both ends count from the same origin.

use std::time::Duration;

use leasehold::Moment;
#[cfg(target_os = "linux")]
use leasehold::{Clock, clock::SystemClock};

/// Now, as every process of this machine counts.
#[cfg(target_os = "linux")]
pub(crate) fn now() -> Moment {
    SystemClock.now()
}

/// A moment of this process's own clock, as every process of this machine counts.
#[cfg(target_os = "linux")]
pub(crate) const fn shared(at: Moment) -> Moment {
    at
}

/// Elsewhere each process counts from its own start, and the system's monotonic clock is what they
/// have in common.
#[cfg(not(target_os = "linux"))]
pub(crate) fn now() -> Moment {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(Moment::after_origin(Duration::MAX), |time| Moment::after_origin(time.into()))
}

/// A moment of this process's own clock, or one a little earlier, as every process counts.
#[cfg(not(target_os = "linux"))]
pub(crate) fn shared(at: Moment) -> Moment {
    use leasehold::{Clock, clock::SystemClock};
    // In this order: a stall in between makes it earlier, never later.
    let now = now();
    now.plus(at.since(SystemClock.now()))
}

/// The moment as text: nanoseconds.
pub(crate) fn written(at: Moment) -> String {
    at.since_origin().as_nanos().to_string()
}

/// The moment that a text tells.
pub(crate) fn read(text: &str) -> Option<Moment> {
    text.parse().ok().map(|nanos| Moment::after_origin(Duration::from_nanos(nanos)))
}
