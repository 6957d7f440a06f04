//! Switches one rule of the protocol after the other off in a copy of the code, and says what
//! finds that.

pub(crate) mod copy;
pub(crate) mod edits;
mod of_files;
mod switches;

use crate::step::{Failure, heading};
use copy::Copy;
use of_files::OF_FILES;
use switches::{OF_THE_CORE, Switch};

/// All rules and their switches.
pub(crate) fn switches() -> impl Iterator<Item = &'static Switch> {
    OF_THE_CORE.iter().chain(OF_FILES)
}

/// What nobody has found by then is not found: as many schedules as CI runs.
const SEEDS: &str = "10000";

/// All rules, or one: a line each, as the table in `docs/TESTING.md` has it.
pub(crate) fn switch_off(only: Option<&str>) -> Result<(), Failure> {
    let copy = Copy::make()?;
    let wanted = |switch: &&Switch| only.is_none_or(|rule| rule == switch.rule);
    let (mut rules, mut caught) = (0, 0);
    for switch in switches().filter(wanted) {
        heading(&format!("{} off", switch.rule));
        let before = copy.apply(switch.rule, switch.edits)?;
        let (tests, seed) = (failing_tests(&copy, switch)?, first_seed(&copy)?);
        Copy::restore(before)?;
        rules += 1;
        caught += usize::from(!tests.is_empty() || seed.is_some());
        for test in &tests {
            println!("{}: {test}", switch.rule);
        }
        println!("{}: {}", switch.rule, seed.as_deref().unwrap_or("no seed"));
    }
    println!("\n{rules} rules, {caught} caught");
    if rules == caught { Ok(()) } else { Err(Failure::Rule("a rule was not missed".to_owned())) }
}

/// Of the package that keeps the rule.
fn failing_tests(copy: &Copy, switch: &Switch) -> Result<Vec<String>, Failure> {
    const CORE: &[&str] =
        &["--lib", "--test", "stories", "--test", "own_thread", "--test", "conformance"];
    const FILES: &[&str] = &["--lib", "--test", "files"];

    let (package, what) = match switch.is_of_files() {
        true => ("lease-objstore", FILES),
        false => ("lease-core", CORE),
    };
    let mut test = vec!["test", "--package", package, "--no-fail-fast"];
    if !switch.is_of_files() {
        test.extend(["--features", "sim"]);
    }
    copy.build(&[&test[..], what, &["--no-run"]].concat())?;
    let printed = copy.printed_by(&[&test[..], what].concat())?;
    let failed =
        |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    let mut failing: Vec<String> = printed.lines().filter_map(failed).collect();
    failing.sort();
    Ok(failing)
}

fn first_seed(copy: &Copy) -> Result<Option<String>, Failure> {
    copy.build(&["build", "--package", "simulation"])?;
    let run = ["run", "--quiet", "--package", "simulation", "--", "--seeds", SEEDS];
    let printed = copy.printed_by(&run)?;
    let seeds = printed.lines().filter_map(|line| line.strip_prefix("seed "));
    let number = |line: &&str| line.split(' ').next().and_then(|n| n.parse::<u64>().ok());
    if let Some(line) = seeds.min_by_key(number) {
        return Ok(Some(format!("seed {line}")));
    }
    // A schedule without an end is found as well, but no line says which it was.
    let ended = printed.contains(" schedules, ");
    Ok((!ended).then(|| "seed unknown: a schedule has no end".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of the code that moves a rule elsewhere takes its switch along.
    #[test]
    fn every_switch_finds_its_place() {
        for switch in switches() {
            edits::find_their_places(switch.rule, switch.edits);
        }
    }

    #[test]
    fn every_rule_has_its_switch_but_the_one_that_only_a_store_can_break() {
        let rules: Vec<_> = switches().map(|switch| switch.rule).collect();
        let general = (1..=24).filter(|n| *n != 3).map(|n| format!("R{n}"));
        let expected: Vec<_> = general.chain((1..=13).map(|n| format!("F{n}"))).collect();
        assert_eq!(rules, expected);
    }
}
