//! Live servers, networks and processes that fail.

use std::env;
use std::process::Command;

use crate::step::{self, Failure, cargo, heading};

/// Two minutes of each kind of store, side by side.
pub(crate) fn as_ci_does() -> Result<(), Failure> {
    run(&["--minutes".to_owned(), "2".to_owned()])
}

/// Runs the harness with these arguments of its own.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    heading("faults");
    // With its own tests, and so with the features that all tests have: nothing is built twice.
    let build = ["build", "--quiet", "--workspace", "--all-features"];
    step::run(cargo(&[&build[..], &["--bin", "faults", "--test", "a_short_storm"]].concat()))?;
    let beside = env::current_exe().map_err(|why| Failure::Io("this program".to_owned(), why))?;
    let mut command = Command::new(beside.with_file_name("faults"));
    command.current_dir(step::workspace());
    // Beside what is built; what is said by hand goes before.
    let folder = beside.ancestors().nth(2).map(|target| target.join("faults"));
    if let Some(folder) =
        folder.filter(|_| !arguments.iter().any(|it| it == "--out" || it == "--judge"))
    {
        command.arg("--out").arg(folder);
    }
    command.args(arguments);
    step::run(command)
}
