//! The project's chores: `cargo xtask` lists them.
//!
//! What CI runs is `cargo xtask ci`, so that a green run here is a green run there.

#![expect(clippy::print_stdout, reason = "chores talk to a person at a terminal")]
#![expect(clippy::print_stderr, reason = "chores talk to a person at a terminal")]

mod bench;
mod check;
mod facts;
mod faults;
mod features;
mod metadata;
mod model;
mod mutants;
#[cfg(test)]
mod promises;
mod publish;
mod rules;
mod simulate;
mod step;
mod tally;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use step::{Failure, heading};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "The project's chores")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// What CI runs: lint, doc, features, rust-version, package, deny where cargo-deny is installed,
    /// model, sim, test, and two minutes of faults
    Ci,
    /// Formatting and clippy, without a warning
    Lint,
    /// The documentation, without a warning
    Doc,
    /// Each feature of the root package alone, and what it may bring with it
    Features,
    /// Whether the oldest Rust that is promised builds it all
    RustVersion,
    /// Whether each published package can be packed, and has its licences and what its page shows
    Package,
    /// Every test, with the real servers
    Test,
    /// Whether the conformance suite catches every store that is broken on purpose, and a test every
    /// fact about a server that the code does not know any more
    Mutants {
        /// Only the stores, which takes seconds and no server
        #[arg(long, conflicts_with = "fact")]
        stores: bool,
        /// Only this fact, such as `N3`
        #[arg(long, value_name = "FACT")]
        fact: Option<String>,
    },
    /// Which tests and which seeds find each rule of the protocol, switched off in the code
    Rules {
        /// Only this one, such as `R17`
        #[arg(long, value_name = "RULE")]
        only: Option<String>,
    },
    /// Whether the protocol holds, and each of its rules is needed, by the model checker
    Model {
        /// The larger settings: they need hours and tens of gigabytes
        #[arg(long)]
        large: bool,
    },
    /// Simulated schedules: `--seed N` replays one, `--seeds N` runs many; `--help` tells the rest
    Sim {
        /// What the simulation is told
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Live servers, networks and processes that fail: `--backend B --minutes N`, all backends side
    /// by side without one, `--judge FILE` judges a history again; `--help` tells the rest
    Faults {
        /// What the harness is told
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Licences, advisories and sources of the dependencies
    Deny {
        /// Pass when cargo-deny is not installed
        #[arg(long)]
        if_installed: bool,
    },
    /// The benchmarks, on servers that they start, beside others where these can be had; writes
    /// BENCHMARKS.md
    Bench {
        /// One of them, or more: the others' last findings stay
        #[arg(long, value_name = "NAME", value_enum)]
        only: Vec<bench::Subject>,
        /// None of them: only the page is written anew, from what was found last
        #[arg(long, conflicts_with = "only")]
        page: bool,
        /// Prints what all of them found, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Finds or installs every server that the tests start
    Servers,
}

fn main() -> ExitCode {
    match run(&Arguments::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// What of the dependencies only the tree itself can change: advisories come from outside, on any day.
const OF_THE_TREE: [&str; 3] = ["bans", "licenses", "sources"];

fn run(chore: &Chore) -> Result<(), Failure> {
    match chore {
        Chore::Ci => {
            check::lint()?;
            check::doc()?;
            features::check()?;
            check::oldest_rust(true)?;
            publish::check()?;
            check::deny(true, &OF_THE_TREE)?;
            model::check(false)?;
            simulate::as_ci_does()?;
            test::everything()?;
            faults::as_ci_does()
        }
        Chore::Lint => check::lint(),
        Chore::Doc => check::doc(),
        Chore::Features => features::check(),
        Chore::RustVersion => check::oldest_rust(false),
        Chore::Package => publish::check(),
        Chore::Test => test::everything(),
        Chore::Sim { arguments } => simulate::simulate(arguments),
        Chore::Faults { arguments } => faults::run(arguments),
        Chore::Mutants { stores, fact } => {
            let stores_too = fact.is_none();
            if stores_too {
                mutants::count()?;
            }
            if *stores { Ok(()) } else { facts::forget(fact.as_deref()) }
        }
        Chore::Rules { only } => rules::switch_off(only.as_deref()),
        Chore::Model { large } => model::check(*large),
        Chore::Deny { if_installed } => check::deny(*if_installed, &[]),
        Chore::Bench { page: true, json, .. } => bench::write(*json),
        Chore::Bench { only, json, .. } => bench::run(only, *json),
        Chore::Servers => servers(),
    }
}

/// Also before the tests: several of them at once would wait for the downloads.
fn servers() -> Result<(), Failure> {
    heading("servers");
    for program in testbed::Program::ALL {
        println!("{}: {}", program.name(), program.locate()?.display());
    }
    Ok(())
}
