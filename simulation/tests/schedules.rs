//! A few schedules, and that a seed repeats itself.

use lease_core::sim::{InMemory, Store, run};
use rstest::rstest;
use simulation::files::{Elected, Files};
use simulation::many::{Sum, run_all};
use simulation::which::Which;

/// The same seed gives the same history, to the letter: whatever is found can be found again.
#[rstest]
#[case::memory(&InMemory)]
#[case::files(&Files)]
#[case::elected(&Elected)]
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
#[case::elected(&Elected)]
fn seeds_differ(#[case] store: &dyn Store) {
    assert_ne!(run(1, store).history, run(2, store).history);
}

#[rstest]
#[case::memory(&InMemory)]
#[case::files(&Files)]
#[case::elected(&Elected)]
fn a_few_schedules_break_nothing(#[case] store: &dyn Store) {
    for seed in 100..120 {
        let report = run(seed, store);
        assert_eq!(report.violations, Vec::<String>::new(), "seed {seed}");
        assert!(report.grants > 0 && report.faults > 0);
    }
}

/// Every schedule is counted, on whichever store it was, and the last line says so.
#[test]
fn the_sum_is_over_all_schedules_of_all_stores() {
    let both = run_all(1..11, None);
    let one = |seed| run_all(seed..seed + 1, Some(Which::of(seed)));
    let each: Vec<_> = (1..11).map(one).collect();
    assert!(each.iter().all(|sum| sum.schedules == 1 && sum.grants > 0));
    let kinds: Vec<_> = (1..11).map(|seed| Which::of(seed).name()).collect();
    let of = |name| kinds.iter().filter(|kind| **kind == name).count();
    assert_eq!((of("memory"), of("files"), of("elected")), (7, 2, 1));
    let grants: usize = each.iter().map(|sum| sum.grants).sum();
    assert_eq!((both.schedules, both.grants), (10, grants));
    let (grants, faults) = (both.grants, both.faults);
    let line = format!("10 schedules, {grants} grants, {faults} faults, 0 violations");
    assert_eq!(both.to_string(), line);
}

#[test]
fn what_was_broken_is_in_the_sum() {
    let mut sum = Sum::default();
    let well = run(1, &InMemory);
    let violations = vec!["two believe at once".to_owned(), "the gate went back".to_owned()];
    sum.add(Which::Memory, lease_core::sim::Report { violations, ..well });
    assert!(sum.to_string().ends_with("faults, 2 violations"), "{sum}");
    assert_eq!(sum.broken.len(), 1);
}
