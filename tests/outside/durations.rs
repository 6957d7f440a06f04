//! Durations.

use std::time::Duration;

use leasehold::{Capabilities, Timing};
use proptest::prelude::*;

/// From nothing to the longest there is, often near a power of two or one of the limits.
fn durations() -> impl Strategy<Value = Duration> {
    prop_oneof![
        any::<u64>().prop_map(Duration::from_nanos),
        (0u32..64).prop_map(|bit| Duration::from_millis(1 << bit)),
        (0u64..400).prop_map(|days| Duration::from_secs(days * 24 * 3600)),
        (1u64..120_000).prop_map(Duration::from_millis),
        Just(Duration::ZERO),
        Just(Duration::MAX),
        Just(Timing::MAX_TTL),
    ]
}

proptest! {
    #![proptest_config(crate::cases(4000))]

    /// Whatever is asked for, what is built keeps its promises, and nothing overflows.
    #[test]
    fn are_possible_together_or_refused(
        ttl in durations(),
        renew in prop::option::of(durations()),
        margin in prop::option::of(durations()),
        poll in prop::option::of((durations(), durations())),
        timeout in prop::option::of(durations()),
        grace in prop::option::of(durations()),
        resolution in durations(),
    ) {
        let mut builder = Timing::with_ttl(ttl);
        if let Some(renew) = renew { builder = builder.renew_every(renew); }
        if let Some(margin) = margin { builder = builder.margin(margin); }
        if let Some((from, to)) = poll { builder = builder.poll(from, to); }
        if let Some(timeout) = timeout { builder = builder.call_timeout(timeout); }
        if let Some(grace) = grace { builder = builder.grace(grace); }
        let timing = match builder.build() {
            Ok(timing) => timing,
            Err(error) => {
                prop_assert!(crate::tells_what_to_do(&error), "{error}");
                return Ok(());
            }
        };
        prop_assert_eq!(timing.ttl(), ttl);
        prop_assert!(!ttl.is_zero() && ttl <= Timing::MAX_TTL);
        prop_assert!(timing.margin() >= ttl / 100 && timing.margin() < ttl);
        prop_assert!(timing.renew_every() < ttl - timing.margin());
        prop_assert!(timing.poll_from() <= timing.poll_to() && !timing.poll_from().is_zero());
        prop_assert!(!timing.call_timeout().is_zero());

        // A store with a coarse clock either takes it, and a renewal comes in time, or does not.
        let store = Capabilities::reference().with_clock_resolution(resolution);
        let belief = timing.belief(&store);
        prop_assert!(belief <= ttl - timing.margin());
        match timing.fits(&store) {
            Ok(()) => prop_assert!(timing.renew_every() < belief),
            Err(error) => prop_assert!(crate::tells_what_to_do(&error), "{error}"),
        }
    }
}
