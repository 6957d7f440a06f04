//! `cargo xtask faults`: runs and judges. The same program plays the clients.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

mod side_by_side;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use faults::backends::Kind;
use faults::judge::{Verdict, judge};
use faults::run::{Settings, run};
use faults::{client, disk, history, newcomer};
use leasehold::Jitter;

type Anything = Box<dyn std::error::Error>;

/// Holds leases on real servers while things go wrong, and judges what happened
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    role: Option<Role>,
    /// On this kind of store; on all of them side by side where none is named
    #[arg(long)]
    backend: Option<Kind>,
    /// For how many minutes things are broken
    #[arg(long, default_value_t = 2.0)]
    minutes: f64,
    /// Repeats a plan and the clients' choices, not the timing
    #[arg(long)]
    seed: Option<u64>,
    /// How many client processes on each store
    #[arg(long, default_value_t = 6)]
    clients: usize,
    /// Where the histories go
    #[arg(long, default_value = "target/faults")]
    out: PathBuf,
    /// Judges a history again, and runs nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["backend", "minutes", "seed", "clients"])]
    judge: Option<PathBuf>,
}

#[derive(Clone, Debug, Subcommand)]
enum Role {
    /// A client of a run
    #[command(hide = true)]
    Client(client::Orders),
    /// Who comes when all is over
    #[command(hide = true)]
    Newcomer(newcomer::Orders),
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match (arguments.role.clone(), &arguments.judge) {
        (Some(Role::Client(orders)), _) => client::live(orders).await.map(|()| true),
        (Some(Role::Newcomer(orders)), _) => newcomer::come(orders).await.map(|()| true),
        (None, Some(file)) => {
            history::read(file).map(|events| tell(&judge(&events))).map_err(Into::into)
        }
        (None, None) => start(&arguments).await,
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

async fn start(arguments: &Arguments) -> Result<bool, Anything> {
    let chosen =
        || Jitter::system().between(Duration::ZERO, Duration::from_secs(1)).as_nanos() as u64;
    let seed = arguments.seed.unwrap_or_else(chosen);
    let Some(kind) = arguments.backend else {
        return side_by_side::run(arguments, seed);
    };
    if kind == Kind::File
        && let Some((mut command, _folder)) = disk::again()?
    {
        return Ok(command.status()?.success());
    }
    if kind == Kind::File && disk::Disk::here().is_none() {
        eprintln!(
            "{}: the disk is not filled: this system allows no mount namespaces",
            kind.name()
        );
    }
    let settings = Settings {
        kind,
        storm: Duration::try_from_secs_f64(arguments.minutes * 60.0)?,
        seed,
        clients: arguments.clients,
        program: std::env::current_exe()?,
        folder: arguments.out.join(format!("{}-{seed}", kind.name())),
    };
    println!("{}: seed {seed}, {} clients", kind.name(), settings.clients);
    let verdict = run(&settings).await?;
    println!(
        "{}: judge it again: --judge {}",
        kind.name(),
        settings.folder.join("history.jsonl").display()
    );
    Ok(tell(&verdict))
}

/// The last line is the sum.
fn tell(verdict: &Verdict) -> bool {
    for violation in &verdict.violations {
        println!("violation: {:?}: {}", violation.rule, violation.said);
    }
    println!(
        "{}: the fence refused {} late writes; without one {} stale writes were taken",
        verdict.backend, verdict.refused_writes, verdict.unfenced_stale_writes
    );
    println!(
        "{}: {} leases were held for longer than the usual ttl with nothing in their way",
        verdict.backend, verdict.undisturbed
    );
    println!("{verdict}");
    verdict.is_clean()
}
