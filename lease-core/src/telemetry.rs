//! What the library tells of itself: spans through `tracing`, numbers through `metrics`.
//!
//! The library prints nothing. A program that installs a subscriber of `tracing` sees the spans, and
//! one that switches the feature `metrics` on and installs a recorder of that facade gets the numbers.
//! Names and labels are part of the interface: they change only with a major version.
//!
//! # Spans
//!
//! | span | level | around | fields |
//! |---|---|---|---|
//! | `lease.acquire` | info | [`Acquire::acquire`](crate::Acquire::acquire), waiting included | `backend`, `name`, `mode`, `epoch` once granted |
//! | `lease.renew` | debug | one request that renews several leases | `backend`, `leases` |
//! | `lease.guard` | debug | the proof before a guarded write, not the write | `backend`, `name`, `epoch` |
//! | `lease.release` | debug | [`Lease::release`](crate::Lease::release) | `backend`, `name`, `epoch` |
//!
//! Of a lease one event is above `debug`: at `warn`, `a lease was lost`, with `name`, `mode`,
//! `epoch` and `reason`. Why its renewals failed before is told at `debug` by `a renewal failed`,
//! with `name` and `error`. When a store is opened, what is weak in it is told at `warn`.
//!
//! # Numbers
//!
//! All carry the label `backend`; times are in seconds.
//!
//! | name | kind | labels besides | what it is |
//! |---|---|---|---|
//! | [`leasehold_acquire_seconds`](ACQUIRE_SECONDS) | histogram | `mode`, `outcome` | from the call to its end: `granted`, `held`, `unavailable`, `cancelled`, `lost`, or `refused` where it is asked wrongly or the store refuses |
//! | [`leasehold_waiters`](WAITERS) | gauge | `mode` | requests under way: those that wait, and those that are being granted |
//! | [`leasehold_held`](HELD) | gauge | `mode` | leases that this process holds |
//! | [`leasehold_renewals_total`](RENEWALS_TOTAL) | counter | `outcome` | renewals of one lease each: `renewed`, `lost`, or `unanswered`, also where the store refuses access |
//! | [`leasehold_left_seconds`](LEFT_SECONDS) | histogram | | how much of the belief was left when a renewal was answered: near zero is near a loss |
//! | [`leasehold_losses_total`](LOSSES_TOTAL) | counter | `mode`, `reason` | leases that ended otherwise than by their holder: `displaced`, `expired`, `state gone` |

use std::time::Duration;

use crate::backend::Renewed;
use crate::{Error, LossReason, Mode, Result};

/// How long acquiring took, waiting included, in seconds.
pub const ACQUIRE_SECONDS: &str = "leasehold_acquire_seconds";
/// How many requests are under way.
pub const WAITERS: &str = "leasehold_waiters";
/// How many leases this process holds.
pub const HELD: &str = "leasehold_held";
/// How many renewals were answered, or not.
pub const RENEWALS_TOTAL: &str = "leasehold_renewals_total";
/// How much of the belief was left when a renewal was answered, in seconds.
pub const LEFT_SECONDS: &str = "leasehold_left_seconds";
/// How many leases were lost.
pub const LOSSES_TOTAL: &str = "leasehold_losses_total";

/// A request for a lease that is under way.
pub(crate) struct UnderWay {
    backend: &'static str,
    mode: Mode,
}

impl UnderWay {
    pub(crate) fn new(backend: &'static str, mode: Mode) -> Self {
        gauge(WAITERS, 1.0, backend, mode);
        Self { backend, mode }
    }

    /// It has come to its end after so long.
    pub(crate) fn ended<T>(&self, answer: &Result<T>, after: Duration) {
        let outcome = match answer {
            Ok(_) => "granted",
            Err(Error::Held { .. }) => "held",
            Err(Error::Unavailable { .. }) => "unavailable",
            Err(Error::Cancelled { .. }) => "cancelled",
            Err(Error::Lost { .. }) => "lost",
            Err(_) => "refused",
        };
        let labels = [("mode", self.mode.as_str()), ("outcome", outcome)];
        histogram(ACQUIRE_SECONDS, after, self.backend, labels);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        gauge(WAITERS, -1.0, self.backend, self.mode);
    }
}

/// A lease is held from now on.
pub(crate) fn held(backend: &'static str, mode: Mode) {
    gauge(HELD, 1.0, backend, mode);
}

/// A lease is held no more.
pub(crate) fn ended(backend: &'static str, mode: Mode, reason: LossReason) {
    gauge(HELD, -1.0, backend, mode);
    let reason = match reason {
        LossReason::Displaced => "displaced",
        LossReason::Expired => "expired",
        LossReason::StateGone => "state gone",
        // Its holder's own doing.
        LossReason::Released | LossReason::HandedOver => return,
    };
    count(LOSSES_TOTAL, backend, [("mode", mode.as_str()), ("reason", reason)]);
}

/// A renewal was answered, or not, with so much of the belief left.
pub(crate) fn renewal(backend: &'static str, answer: &Result<Renewed>, left: Duration) {
    let outcome = match answer {
        Ok(Renewed::Renewed { .. }) => "renewed",
        Ok(Renewed::Lost(_)) => "lost",
        Err(_) => "unanswered",
    };
    count(RENEWALS_TOTAL, backend, [("outcome", outcome)]);
    histogram(LEFT_SECONDS, left, backend, []);
}

#[cfg(feature = "metrics")]
mod recorder {
    use std::time::Duration;

    use metrics::Label;

    use crate::Mode;

    fn labels<const N: usize>(
        backend: &'static str,
        more: [(&'static str, &'static str); N],
    ) -> Vec<Label> {
        let more = more.into_iter().map(|(key, value)| Label::from_static_parts(key, value));
        std::iter::once(Label::from_static_parts("backend", backend)).chain(more).collect()
    }

    pub(super) fn gauge(name: &'static str, by: f64, backend: &'static str, mode: Mode) {
        metrics::gauge!(name, labels(backend, [("mode", mode.as_str())])).increment(by);
    }

    pub(super) fn count<const N: usize>(
        name: &'static str,
        backend: &'static str,
        more: [(&'static str, &'static str); N],
    ) {
        metrics::counter!(name, labels(backend, more)).increment(1);
    }

    pub(super) fn histogram<const N: usize>(
        name: &'static str,
        time: Duration,
        backend: &'static str,
        more: [(&'static str, &'static str); N],
    ) {
        metrics::histogram!(name, labels(backend, more)).record(time.as_secs_f64());
    }
}

#[cfg(not(feature = "metrics"))]
mod recorder {
    use std::time::Duration;

    use crate::Mode;

    pub(super) const fn gauge(_: &'static str, _: f64, _: &'static str, _: Mode) {}

    pub(super) const fn count<const N: usize>(
        _: &'static str,
        _: &'static str,
        _: [(&'static str, &'static str); N],
    ) {
    }

    pub(super) const fn histogram<const N: usize>(
        _: &'static str,
        _: Duration,
        _: &'static str,
        _: [(&'static str, &'static str); N],
    ) {
    }
}

use recorder::{count, gauge, histogram};
