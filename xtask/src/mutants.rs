//! Counts how many stores that are broken on purpose the conformance suite catches.

use crate::step::{Failure, cargo, heading, show};

/// Runs them all and repeats the line that counts them.
pub(crate) fn count() -> Result<(), Failure> {
    heading("mutants");
    let test = ["test", "--package", "lease-conformance", "--test", "mutants"];
    let shown = show(cargo(&[&test[..], &["--", "--nocapture"]].concat()))?;
    if !shown.succeeded {
        return Err(Failure::Command(shown.said));
    }
    let count = shown.lines.iter().rev().find(|line| counts_mutants(line));
    let none = || Failure::Rule("the tests counted no mutants".to_owned());
    heading("sum");
    println!("{}", count.ok_or_else(none)?.trim());
    Ok(())
}

fn counts_mutants(line: &str) -> bool {
    line.contains("mutants") && line.contains(|digit: char| digit.is_ascii_digit())
}
