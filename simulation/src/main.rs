//! Replays one schedule, or runs many.
#![expect(clippy::print_stdout, reason = "it is a program")]

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use lease_core::sim::{InMemory, Store, run};
use simulation::files::Files;
use simulation::many::{Sum, run_all};

/// Runs the protocol code through simulated schedules.
#[derive(Debug, Parser)]
struct Args {
    /// Replay this schedule and print its history.
    #[arg(long, conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Run so many schedules on each store.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Which store; both by default.
    #[arg(long)]
    store: Option<Which>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    /// The reference backend.
    Memory,
    /// The file backend.
    Files,
}

impl Which {
    fn store(self) -> &'static dyn Store {
        match self {
            Self::Memory => &InMemory,
            Self::Files => &Files,
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let stores = args.store.map_or_else(|| vec![Which::Memory, Which::Files], |one| vec![one]);
    let broken = match args.seed {
        Some(seed) => stores.into_iter().map(|store| replay(seed, store)).sum(),
        None => many(&args, &stores),
    };
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn replay(seed: u64, which: Which) -> usize {
    let report = run(seed, which.store());
    println!("seed {seed} on {which:?}");
    for event in &report.history {
        println!("{event}");
    }
    for violation in &report.violations {
        println!("violation: {violation}");
    }
    report.violations.len()
}

fn many(args: &Args, stores: &[Which]) -> usize {
    let mut broken = 0;
    for which in stores {
        let sum = run_all(args.from..args.from + args.seeds, which.store());
        tell(*which, &sum);
        broken += sum.broken.len();
    }
    broken
}

fn tell(which: Which, sum: &Sum) {
    for report in &sum.broken {
        println!("seed {} on {which:?}: {:?}", report.seed, report.violations);
        println!("  replay: cargo xtask sim --seed {} --store {}", report.seed, name(which));
    }
    println!("{which:?}: an unfenced resource would have taken {} stale writes", sum.stale_writes);
    println!(
        "{which:?}: {} schedules, {} grants, {} faults, {} violations",
        sum.schedules,
        sum.grants,
        sum.faults,
        sum.broken.len()
    );
}

const fn name(which: Which) -> &'static str {
    match which {
        Which::Memory => "memory",
        Which::Files => "files",
    }
}
