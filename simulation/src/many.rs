//! Many schedules, on all processors.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use lease_core::sim::{Report, Store, run};

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
    pub broken: Vec<Report>,
}

impl Sum {
    fn add(&mut self, report: Report) {
        self.schedules += 1;
        self.grants += report.grants;
        self.faults += report.faults;
        self.stale_writes += report.stale_writes;
        if !report.violations.is_empty() {
            self.broken.push(report);
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

/// Runs the schedules of `seeds` against fresh stores; stops early once several were broken.
#[must_use]
pub fn run_all(seeds: std::ops::Range<u64>, store: &dyn Store) -> Sum {
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
            let mut report = run(seed, store);
            if report.violations.is_empty() {
                report.history = Vec::new();
            } else {
                broken.fetch_add(1, Ordering::Relaxed);
            }
            sum.add(report);
        }
        sum
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let sums = workers.into_iter().filter_map(|worker| worker.join().ok());
        sums.fold(Sum::default(), Sum::join)
    })
}
