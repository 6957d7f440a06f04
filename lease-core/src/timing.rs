//! The durations of a lease: together possible, or no value at all.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Capabilities, Error, Result};

/// The durations of a lease. Impossible combinations have no value.
///
/// `renew_every < ttl - margin`, nothing is zero that must pass, and nothing overflows; a ttl that
/// is too short for a store is refused by [`Timing::fits`] before the store is asked.
///
/// ```
/// use std::time::Duration;
/// use lease_core::Timing;
///
/// let timing = Timing::with_ttl(Duration::from_secs(30)).build().unwrap();
/// assert_eq!(timing.renew_every(), Duration::from_secs(10));
/// assert!(Timing::with_ttl(Duration::ZERO).build().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TimingBuilder", into = "TimingBuilder")]
pub struct Timing {
    ttl: Duration,
    renew_every: Duration,
    margin: Duration,
    poll_from: Duration,
    poll_to: Duration,
    call_timeout: Duration,
    grace: Duration,
}

impl Timing {
    /// The ttl where none is given.
    pub const DEFAULT_TTL: Duration = Duration::from_secs(15);

    /// The longest ttl: a holder that died blocks its name no longer than this.
    pub const MAX_TTL: Duration = Duration::from_secs(366 * 24 * 3600);

    /// Starts from a ttl of 1 ms to [`MAX_TTL`](Self::MAX_TTL); all else follows from it unless it
    /// is set. What is not possible is told by [`TimingBuilder::build`].
    #[must_use]
    pub const fn with_ttl(ttl: Duration) -> TimingBuilder {
        TimingBuilder {
            ttl,
            renew_every: None,
            margin: None,
            poll: None,
            call_timeout: None,
            grace: None,
        }
    }

    /// How long a lease lives after its last renewal, as the store judges it.
    #[must_use]
    pub const fn ttl(&self) -> Duration {
        self.ttl
    }

    /// How often it is renewed: a third of the ttl by default, so that two renewals may fail.
    #[must_use]
    pub const fn renew_every(&self) -> Duration {
        self.renew_every
    }

    /// How much earlier than the ttl the holder stops to believe: drift of clocks and one delay of
    /// the scheduler, a twentieth of the ttl by default and at least 1 %. The store's clock
    /// resolution comes on top.
    #[must_use]
    pub const fn margin(&self) -> Duration {
        self.margin
    }

    /// The shortest wait between two tries while another holds: 50 ms by default, or a quarter of
    /// the ttl if that is less.
    #[must_use]
    pub const fn poll_from(&self) -> Duration {
        self.poll_from
    }

    /// The longest wait between two tries while another holds: 1 s by default, or a quarter of the
    /// ttl if that is less.
    #[must_use]
    pub const fn poll_to(&self) -> Duration {
        self.poll_to
    }

    /// How long one call to the store may take before it counts as unanswered: a quarter of the ttl
    /// by default, at most 10 s.
    #[must_use]
    pub const fn call_timeout(&self) -> Duration {
        self.call_timeout
    }

    /// How long a lease that took over from an expired holder waits before its first guarded
    /// write, so that the old holder's last one has landed. None by default.
    #[must_use]
    pub const fn grace(&self) -> Duration {
        self.grace
    }

    /// How long one call may take for a lease of this ttl where nothing else is said.
    pub(crate) const fn call_timeout_for(ttl: Duration) -> Duration {
        const AT_MOST: Duration = Duration::from_secs(10);
        least(AT_MOST, part(ttl, 4))
    }

    /// How long after its send an acknowledged grant or renewal may be believed in.
    #[must_use]
    pub fn belief(&self, capabilities: &Capabilities) -> Duration {
        self.ttl.saturating_sub(self.margin).saturating_sub(capabilities.clock_resolution)
    }

    /// Whether a store with these capabilities can keep such a lease.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] if the ttl is shorter than the store can judge, or would run out
    /// between two renewals once the resolution of the store's clock is taken off: use a longer
    /// one.
    pub fn fits(&self, capabilities: &Capabilities) -> Result<()> {
        if self.ttl < capabilities.min_ttl {
            return Err(Error::misconfigured(
                format!("the ttl is too short for this store, ttl=`{:?}`", self.ttl),
                format!("use a ttl of at least {:?}", capabilities.min_ttl),
            ));
        }
        if self.renew_every >= self.belief(capabilities) {
            return Err(Error::misconfigured(
                format!(
                    "a lease would run out between two renewals, renew_every=`{:?}` ttl=`{:?}` \
                     margin=`{:?}` clock_resolution=`{:?}`",
                    self.renew_every, self.ttl, self.margin, capabilities.clock_resolution
                ),
                "use a longer ttl or renew more often",
            ));
        }
        Ok(())
    }
}

impl Default for Timing {
    /// A ttl of 15 seconds, renewed every 5.
    fn default() -> Self {
        let derived = Timing::with_ttl(Self::DEFAULT_TTL);
        derived.filled()
    }
}

impl TryFrom<TimingBuilder> for Timing {
    type Error = Error;

    fn try_from(builder: TimingBuilder) -> Result<Self> {
        builder.build()
    }
}

impl From<Timing> for TimingBuilder {
    fn from(timing: Timing) -> Self {
        Self {
            ttl: timing.ttl,
            renew_every: Some(timing.renew_every),
            margin: Some(timing.margin),
            poll: Some((timing.poll_from, timing.poll_to)),
            call_timeout: Some(timing.call_timeout),
            grace: Some(timing.grace),
        }
    }
}

/// Builds a [`Timing`]. One is written and read as what builds it, so that none that cannot work is
/// ever read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TimingBuilder {
    ttl: Duration,
    renew_every: Option<Duration>,
    margin: Option<Duration>,
    poll: Option<(Duration, Duration)>,
    call_timeout: Option<Duration>,
    grace: Option<Duration>,
}

impl TimingBuilder {
    /// Sets how often the lease is renewed. A third of the ttl by default.
    #[must_use]
    pub const fn renew_every(mut self, interval: Duration) -> Self {
        self.renew_every = Some(interval);
        self
    }

    /// Sets how much earlier than the ttl the belief ends. A twentieth of the ttl by default; at
    /// least a hundredth.
    #[must_use]
    pub const fn margin(mut self, margin: Duration) -> Self {
        self.margin = Some(margin);
        self
    }

    /// Sets the shortest and the longest wait between two tries. 50 ms to 1 s by default, neither
    /// longer than a quarter of the ttl.
    #[must_use]
    pub const fn poll(mut self, from: Duration, to: Duration) -> Self {
        self.poll = Some((from, to));
        self
    }

    /// Sets how long one call to the store may take. A quarter of the ttl by default, at most 10 s.
    #[must_use]
    pub const fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = Some(timeout);
        self
    }

    /// Sets the grace after a takeover, at most [`Timing::MAX_TTL`]. None by default: a fenced
    /// resource needs none.
    #[must_use]
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// The durations, if they are possible together.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] with the first contradiction and what to change.
    pub fn build(self) -> Result<Timing> {
        let refuse = |problem: String, fix: &'static str| Err(Error::misconfigured(problem, fix));
        if self.ttl < Duration::from_millis(1) {
            return refuse(
                format!("the ttl is shorter than a millisecond, ttl=`{:?}`", self.ttl),
                "use a ttl of seconds, such as 15s",
            );
        }
        if self.ttl > Timing::MAX_TTL || self.grace.is_some_and(|grace| grace > Timing::MAX_TTL) {
            return refuse(
                format!("a ttl or grace is longer than 366 days, ttl=`{:?}`", self.ttl),
                "use a ttl of seconds or minutes: the lease is renewed while it is held",
            );
        }
        let timing = self.filled();
        if timing.margin < self.ttl / 100 {
            return refuse(
                format!("the margin is below 1 % of the ttl, margin=`{:?}`", timing.margin),
                "use a larger margin: clocks drift that much",
            );
        }
        if timing.renew_every.is_zero() || timing.call_timeout.is_zero() {
            return refuse(
                "the renewal interval or the call timeout is zero".into(),
                "leave them out, or use a fraction of the ttl",
            );
        }
        if timing.renew_every >= self.ttl.saturating_sub(timing.margin) {
            return refuse(
                format!(
                    "a lease would run out between two renewals, renew_every=`{:?}` ttl=`{:?}`",
                    timing.renew_every, self.ttl
                ),
                "renew every third of the ttl",
            );
        }
        if timing.poll_from.is_zero() || timing.poll_from > timing.poll_to {
            return refuse(
                format!(
                    "the poll bounds are zero or the wrong way round, from=`{:?}` to=`{:?}`",
                    timing.poll_from, timing.poll_to
                ),
                "use bounds such as 50 ms and 1 s",
            );
        }
        Ok(timing)
    }

    /// What was set, and for the rest what follows from the ttl.
    const fn filled(self) -> Timing {
        const fn or(set: Option<Duration>, derived: Duration) -> Duration {
            match set {
                Some(set) => set,
                None => derived,
            }
        }
        let (poll_from, poll_to) = match self.poll {
            Some(bounds) => bounds,
            None => {
                let to = least(Duration::from_secs(1), part(self.ttl, 4));
                (least(Duration::from_millis(50), to), to)
            }
        };
        Timing {
            ttl: self.ttl,
            renew_every: or(self.renew_every, part(self.ttl, 3)),
            margin: or(self.margin, part(self.ttl, 20)),
            poll_from,
            poll_to,
            call_timeout: or(self.call_timeout, Timing::call_timeout_for(self.ttl)),
            grace: or(self.grace, Duration::ZERO),
        }
    }
}

const fn least(a: Duration, b: Duration) -> Duration {
    if a.as_nanos() < b.as_nanos() { a } else { b }
}

const fn part(ttl: Duration, parts: u32) -> Duration {
    match ttl.checked_div(parts) {
        Some(part) => part,
        None => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[rstest]
    #[case::zero(Timing::with_ttl(Duration::ZERO))]
    #[case::a_nanosecond(Timing::with_ttl(Duration::from_nanos(1)))]
    #[case::a_thousand_years(Timing::with_ttl(Duration::from_secs(1000 * 366 * 86_400)))]
    #[case::for_ever(Timing::with_ttl(Duration::MAX))]
    #[case::u64_milliseconds(Timing::with_ttl(Duration::from_millis(u64::MAX)))]
    #[case::renewed_when_it_ends(Timing::with_ttl(SECOND).renew_every(SECOND))]
    #[case::renewed_within_the_margin(Timing::with_ttl(SECOND).renew_every(SECOND * 96 / 100))]
    #[case::renewed_always(Timing::with_ttl(SECOND).renew_every(Duration::ZERO))]
    #[case::no_margin(Timing::with_ttl(SECOND).margin(Duration::ZERO))]
    #[case::all_margin(Timing::with_ttl(SECOND).margin(Duration::MAX))]
    #[case::no_time_to_call(Timing::with_ttl(SECOND).call_timeout(Duration::ZERO))]
    #[case::poll_reversed(Timing::with_ttl(SECOND).poll(SECOND, SECOND / 2))]
    #[case::endless_grace(Timing::with_ttl(SECOND).grace(Duration::MAX))]
    fn what_cannot_work_has_no_value(#[case] timing: TimingBuilder) {
        assert!(matches!(timing.build(), Err(Error::Misconfigured { .. })));
    }

    #[rstest]
    fn every_other_ttl_works(
        #[values(1, 2, 20, 300, 1000, 15_000, 366 * 24 * 3_600_000)] ttl_ms: u64,
    ) {
        let timing = Timing::with_ttl(Duration::from_millis(ttl_ms)).build().unwrap();
        timing.fits(&Capabilities::reference()).unwrap();
    }

    #[rstest]
    #[case::the_longest_grace(Timing::with_ttl(SECOND).grace(Timing::MAX_TTL))]
    #[case::the_smallest_margin(Timing::with_ttl(SECOND).margin(SECOND / 100))]
    fn what_just_works_has_a_value(#[case] timing: TimingBuilder) {
        timing.build().unwrap();
    }

    #[test]
    fn one_that_was_written_is_read_and_one_that_cannot_work_is_not() {
        let timing = Timing::with_ttl(SECOND).margin(SECOND / 4).grace(SECOND).build().unwrap();
        let written = serde_json::to_string(&timing).unwrap();
        assert_eq!(serde_json::from_str::<Timing>(&written).unwrap(), timing);

        let spoiled = written.replace(r#""ttl":{"secs":1,"#, r#""ttl":{"secs":0,"#);
        assert!(serde_json::from_str::<Timing>(&spoiled).is_err(), "{spoiled}");
    }

    #[test]
    fn a_store_with_a_coarse_clock_refuses_a_short_ttl() {
        let coarse = Capabilities::reference().with_clock_resolution(SECOND);
        Timing::with_ttl(SECOND * 2).build().unwrap().fits(&coarse).unwrap();
        let error = Timing::with_ttl(SECOND).build().unwrap().fits(&coarse).unwrap_err();
        assert!(error.to_string().contains("longer ttl"), "{error}");

        let slow = Capabilities::reference().with_min_ttl(SECOND * 2);
        assert!(Timing::with_ttl(SECOND).build().unwrap().fits(&slow).is_err());
    }
}
