//! Runs every test and says how many passed and failed.

use testbed::Shared;

use crate::servers;
use crate::step::{Failure, cargo, heading, is_installed, show};
use crate::tally::Tally;

/// What all runs have in common. One failure does not hide the others.
const EVERYTHING: [&str; 3] = ["--workspace", "--all-features", "--no-fail-fast"];

/// Unit, integration and documentation tests, after fetching the servers that they start.
///
/// The last line is the sum over all of it.
pub(crate) fn everything() -> Result<(), Failure> {
    servers()?;
    // Else each test that shares one would start its own, for it may be a process of its own.
    let shared = Shared::start()?;
    let mut sum = Tally::default();
    let mut failures = Vec::new();
    for (title, arguments) in runs() {
        heading(title);
        let mut command = cargo(&arguments);
        command.envs(shared.variables());
        let shown = show(command)?;
        let mut tally = Tally::of(shown.lines.iter().map(String::as_str));
        if !shown.succeeded {
            // What does not compile has no closing line, and still must not count as nothing.
            tally.failed = tally.failed.max(1);
            failures.push(shown.said);
        }
        sum += tally;
    }
    heading("sum");
    failures.iter().for_each(|said| println!("failed: {said}"));
    println!("{sum}");
    match (failures.is_empty(), sum.passed) {
        (true, 0) => Err(Failure::Rule("no test ran".to_owned())),
        (true, _) => Ok(()),
        (false, _) => Err(Failure::Rule("not all tests passed".to_owned())),
    }
}

/// Nextest runs each test in a process of its own and ends the ones that hang, but knows no
/// documentation tests.
fn runs() -> Vec<(&'static str, Vec<&'static str>)> {
    let config = ["--config-file", "xtask/nextest.toml"];
    if is_installed("nextest") {
        vec![
            ("tests", [&["nextest", "run"], &config[..], &EVERYTHING].concat()),
            ("documentation tests", [&["test", "--doc"][..], &EVERYTHING].concat()),
        ]
    } else {
        vec![("tests and documentation tests", [&["test"][..], &EVERYTHING].concat())]
    }
}
