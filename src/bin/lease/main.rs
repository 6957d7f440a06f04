//! The command `lease`: parses, dispatches, and turns what came of it into an exit code.

mod acquire;
mod args;
mod bench;
mod break_;
mod check;
mod command;
mod doctor;
mod ears;
mod exec;
mod exit;
mod find;
mod gate;
mod group;
mod guard;
mod itself;
mod keeper;
mod list;
mod manual;
mod mistake;
mod order;
mod release;
mod renew;
mod run;
mod shared_clock;
mod show;
mod signals;
mod status;
mod supervise;
mod taking;
mod tell;
mod terminal;
mod ticket;
mod voice;
mod watch;
mod watchdog;

use std::future::Future;
use std::process::ExitCode;

use clap::Parser;

use args::{Action, Cli};
use exit::{Cause, Failure};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let first = std::env::args_os().nth(1).unwrap_or_default();
            let first = first.to_string_lossy();
            // An option stands in its place.
            let subcommand = if first.starts_with('-') { "" } else { &*first };
            match mistake::sentence(&error, subcommand) {
                Some(sentence) => tell::say(&format!("lease: {sentence}")),
                // Help and version are no mistakes; clap knows where each belongs.
                None => drop(error.print()),
            }
            return if error.use_stderr() { Cause::Usage.code().into() } else { ExitCode::SUCCESS };
        }
    };
    let ended = match cli.action {
        Action::Exec(exec) => Err(exec::become_the_command(&exec)),
        Action::Watchdog(watchdog) => watchdog::watch(watchdog.grace),
        Action::Interrupted => Ok(exec::die_of_ctrl_c()),
        Action::Run(run) => on_a_runtime(run::run(*run)),
        Action::Status(status) => on_a_runtime(status::status(status)),
        Action::List(list) => on_a_runtime(list::list(list)),
        Action::Watch(names) => on_a_runtime(watch::watch(names)),
        Action::Bench(bench) => on_a_runtime(bench::bench(bench)),
        Action::Doctor(doctor) => on_a_runtime(doctor::doctor(doctor)),
        Action::Break(which) => on_a_runtime(break_::break_(which)),
        Action::Acquire(which) => on_a_runtime(acquire::acquire(which)),
        Action::Renew(which) => on_a_runtime(renew::renew(which)),
        Action::Check(which) => on_a_runtime(check::check(which)),
        Action::Release(which) => on_a_runtime(release::release(which)),
        Action::Keeper(_) => keeper::detach().and_then(|order| on_a_runtime(keeper::keep(order))),
        Action::Completions { shell } => manual::completions(shell),
        Action::Man { command } => manual::man(command.as_deref()),
    };
    match ended {
        Ok(code) => code.into(),
        Err(failure) => {
            tell::say(&format!("lease: {}", failure.message));
            failure.cause.code().into()
        }
    }
}

fn on_a_runtime(work: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::system("cannot start", error))?;
    let ended = runtime.block_on(work);
    // A read of the terminal that nobody waits for any more must not keep the process.
    runtime.shutdown_background();
    ended
}
