//! Checks the protocol: `cargo xtask model`.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser;
use protocol_model::report::Tally;
use protocol_model::suite;

#[derive(Debug, Parser)]
#[command(about = "Checks the protocol, and that every rule that is switched off is caught")]
struct Arguments {
    /// The larger settings instead: some need hours and more memory than a laptop has
    #[arg(long)]
    large: bool,
    /// Only the settings whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

fn main() -> io::Result<ExitCode> {
    let arguments = Arguments::parse();
    let mut out = io::stdout().lock();
    let mut tally = Tally::default();
    let wanted = |name: &str| name.contains(&arguments.only);
    let correct = if arguments.large { suite::large() } else { suite::correct() };
    let correct: Vec<_> = correct.into_iter().filter(|run| wanted(run.name())).collect();
    tally.correct(&correct, &mut out)?;
    if !arguments.large {
        let mut broken = suite::broken();
        broken.retain(|(_, run)| wanted(run.name()));
        tally.broken(&broken, &mut out)?;
        let mut second = suite::second_guards();
        second.retain(|(_, run)| wanted(run.name()));
        writeln!(out)?;
        tally.second_guards(&second, &mut out)?;
    }
    writeln!(out, "\n{}", tally.sum())?;
    Ok(if tally.is_as_it_should_be() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
