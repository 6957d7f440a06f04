//! A few schedules, and that a seed repeats itself.

use lease_core::sim::{InMemory, Store, run};
use rstest::rstest;
use simulation::files::Files;

/// The same seed gives the same history, to the letter: whatever is found can be found again.
#[rstest]
#[case::memory(&InMemory)]
#[case::files(&Files)]
fn a_seed_repeats_itself(#[case] store: &dyn Store) {
    for seed in 1..6 {
        let (once, again) = (run(seed, store), run(seed, store));
        assert!(once.history.len() > 50, "seed {seed} does next to nothing");
        assert_eq!(once, again, "seed {seed}");
    }
}

/// Two seeds differ.
#[rstest]
#[case::memory(&InMemory)]
#[case::files(&Files)]
fn seeds_differ(#[case] store: &dyn Store) {
    assert_ne!(run(1, store).history, run(2, store).history);
}

#[rstest]
#[case::memory(&InMemory)]
#[case::files(&Files)]
fn a_few_schedules_break_nothing(#[case] store: &dyn Store) {
    for seed in 100..120 {
        let report = run(seed, store);
        assert_eq!(report.violations, Vec::<String>::new(), "seed {seed}");
        assert!(report.grants > 0 && report.faults > 0);
    }
}
