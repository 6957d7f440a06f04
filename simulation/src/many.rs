//! Many schedules, on all processors.

use std::fmt;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use lease_core::sim::{Report, run};

use crate::which::Which;

/// What came of many schedules.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    /// How many there were.
    pub schedules: u64,
    /// How many leases were granted.
    pub grants: usize,
    /// How many faults there were.
    pub faults: usize,
    /// How many writes an unfenced resource would have taken too late.
    pub stale_writes: usize,
    /// The schedules in which something was broken.
    pub broken: Vec<(Which, Report)>,
}

impl Sum {
    /// Counts one schedule more. What happened in it is kept only if something was broken.
    pub fn add(&mut self, which: Which, report: Report) {
        self.schedules += 1;
        self.grants += report.grants;
        self.faults += report.faults;
        self.stale_writes += report.stale_writes;
        if !report.violations.is_empty() {
            self.broken.push((which, report));
        }
    }

    fn join(mut self, other: Self) -> Self {
        self.schedules += other.schedules;
        self.grants += other.grants;
        self.faults += other.faults;
        self.stale_writes += other.stale_writes;
        self.broken.extend(other.broken);
        self
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schedules, grants, faults, broken, .. } = self;
        let violations: usize = broken.iter().map(|(_, report)| report.violations.len()).sum();
        write!(
            f,
            "{schedules} schedules, {grants} grants, {faults} faults, {violations} violations"
        )
    }
}

/// Runs the schedules of `seeds`, each against a fresh store, on `only` one kind or on both; stops
/// early once several were broken.
#[must_use]
pub fn run_all(seeds: Range<u64>, only: Option<Which>) -> Sum {
    /// That many tell enough.
    const ENOUGH: u64 = 5;

    let (next, broken) = (AtomicU64::new(seeds.start), AtomicU64::new(0));
    let worker = || {
        let mut sum = Sum::default();
        while broken.load(Ordering::Relaxed) < ENOUGH {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                break;
            }
            let which = only.unwrap_or(Which::of(seed));
            let report = run(seed, which.store());
            if !report.violations.is_empty() {
                broken.fetch_add(1, Ordering::Relaxed);
            }
            sum.add(which, report);
        }
        sum
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        // A schedule that panics must not be one that nobody counted.
        let sums =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|p| resume_unwind(p)));
        sums.fold(Sum::default(), Sum::join)
    })
}
