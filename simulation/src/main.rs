//! Replays one schedule, or runs many.
#![expect(clippy::print_stdout, reason = "it is a program")]

use std::process::ExitCode;

use clap::Parser;
use lease_core::sim::run;
use simulation::many::{Sum, run_all};
use simulation::which::Which;

/// Runs the protocol code through simulated schedules.
#[derive(Debug, Parser)]
struct Args {
    /// Replay this schedule and print its history
    #[arg(long, conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Run so many schedules
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Against which store; by default every fifth against files, the others against memory
    #[arg(long)]
    store: Option<Which>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let is_well = match args.seed {
        Some(seed) => replay(seed, args.store.unwrap_or(Which::of(seed))),
        None => {
            let end = args.from.saturating_add(args.seeds);
            tell(&run_all(args.from..end, args.store))
        }
    };
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn replay(seed: u64, which: Which) -> bool {
    let report = run(seed, which.store());
    println!("seed {seed} on {}", which.name());
    for event in &report.history {
        println!("{event}");
    }
    for violation in &report.violations {
        println!("violation: {violation}");
    }
    report.violations.is_empty()
}

fn tell(sum: &Sum) -> bool {
    for (which, report) in &sum.broken {
        let (seed, store) = (report.seed, which.name());
        println!("seed {seed} on {store}: {:?}", report.violations);
        println!("  replay: cargo xtask sim --seed {seed} --store {store}");
    }
    println!("an unfenced resource would have taken {} stale writes", sum.stale_writes);
    println!("{sum}");
    sum.broken.is_empty()
}
