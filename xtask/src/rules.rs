//! Switches one rule of the protocol after the other off in a copy of the code, and says what
//! finds that.

mod of_files;
mod switches;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Failure, cargo, heading, output_of, workspace};
use of_files::OF_FILES;
use switches::{OF_THE_CORE, Switch};

/// All rules and their switches.
pub(crate) fn switches() -> impl Iterator<Item = &'static Switch> {
    OF_THE_CORE.iter().chain(OF_FILES)
}

/// What nobody has found by then is not found: as many schedules as CI runs.
const SEEDS: &str = "10000";

/// Without a rule a test may wait for ever, in seconds.
const PATIENCE: &str = "300";

/// All rules, or one: a line each, as the table in `docs/TESTING.md` has it.
pub(crate) fn switch_off(only: Option<&str>) -> Result<(), Failure> {
    let copy = Copy::make()?;
    let wanted = |switch: &&Switch| only.is_none_or(|rule| rule == switch.rule);
    let (mut rules, mut caught) = (0, 0);
    for switch in switches().filter(wanted) {
        heading(&format!("{} off", switch.rule));
        let before = copy.apply(switch)?;
        let (tests, seed) = (copy.failing_tests(switch)?, copy.first_seed()?);
        for (path, text) in before {
            write(&path, &text)?;
        }
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

/// The workspace's files, apart from the originals, with a target folder of their own.
struct Copy(PathBuf);

impl Copy {
    fn make() -> Result<Self, Failure> {
        let copy = Self(workspace().join("target/rules"));
        let mut list = Command::new("git");
        list.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
        list.current_dir(workspace());
        for file in String::from_utf8_lossy(&output_of(list)?).lines() {
            // One that was deleted, but not yet committed as such, is still listed.
            let Ok(bytes) = fs::read(workspace().join(file)) else { continue };
            let path = copy.tree().join(file);
            // What is the same is not written again, so that it is not built again.
            if fs::read(&path).is_ok_and(|there| there == bytes) {
                continue;
            }
            let wrong = |failure| Failure::Io(path.display().to_string(), failure);
            fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(wrong)?;
            fs::write(&path, bytes).map_err(wrong)?;
        }
        Ok(copy)
    }

    fn tree(&self) -> PathBuf {
        self.0.join("tree")
    }

    /// Breaks the rule; returns the files as they were.
    fn apply(&self, switch: &Switch) -> Result<Vec<(PathBuf, String)>, Failure> {
        let mut before = Vec::new();
        for edit in switch.edits {
            let path = self.tree().join(edit.file);
            let text = read(&path)?;
            if text.matches(edit.kept).count() != 1 {
                return Err(Failure::Rule(format!("{}: {} is not there", switch.rule, edit.kept)));
            }
            write(&path, &text.replace(edit.kept, edit.broken))?;
            before.push((path, text));
        }
        // The first text of a file that was edited twice is the original.
        before.reverse();
        Ok(before)
    }

    /// Of the package that keeps the rule.
    fn failing_tests(&self, switch: &Switch) -> Result<Vec<String>, Failure> {
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
        self.build(&[&test[..], what, &["--no-run"]].concat())?;
        let printed = self.printed_by(&[&test[..], what].concat())?;
        let failed =
            |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
        let mut failing: Vec<String> = printed.lines().filter_map(failed).collect();
        failing.sort();
        Ok(failing)
    }

    fn first_seed(&self) -> Result<Option<String>, Failure> {
        self.build(&["build", "--package", "simulation"])?;
        let run = ["run", "--quiet", "--package", "simulation", "--", "--seeds", SEEDS];
        let printed = self.printed_by(&run)?;
        let seeds = printed.lines().filter_map(|line| line.strip_prefix("seed "));
        let number = |line: &&str| line.split(' ').next().and_then(|n| n.parse::<u64>().ok());
        if let Some(line) = seeds.min_by_key(number) {
            return Ok(Some(format!("seed {line}")));
        }
        // A schedule without an end is found as well, but no line says which it was.
        let ended = printed.contains(" schedules, ");
        Ok((!ended).then(|| "seed unknown: a schedule has no end".to_owned()))
    }

    fn build(&self, arguments: &[&str]) -> Result<(), Failure> {
        let mut command = self.cargo();
        command.args(arguments);
        output_of(command).map(drop)
    }

    /// What a cargo command printed in the copy, however it ended.
    fn printed_by(&self, arguments: &[&str]) -> Result<String, Failure> {
        let cargo = self.cargo();
        let mut command = Command::new("timeout");
        command.arg(PATIENCE).arg(cargo.get_program()).args(arguments);
        command.current_dir(self.tree());
        command.envs(cargo.get_envs().filter_map(|(key, value)| Some((key, value?))));
        let wrong = |failure| Failure::Io("timeout".to_owned(), failure);
        Ok(String::from_utf8_lossy(&command.output().map_err(wrong)?.stdout).into_owned())
    }

    /// Cargo in the copy, with a folder of its own for what it builds: quickly, and quick enough.
    fn cargo(&self) -> Command {
        let mut command = cargo(&[]);
        command.current_dir(self.tree()).env("CARGO_TARGET_DIR", self.0.join("build"));
        command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_PROFILE_DEV_DEBUG", "false");
        command
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|failure| Failure::Io(path.display().to_string(), failure))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|failure| Failure::Io(path.display().to_string(), failure))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of the code that moves a rule elsewhere takes its switch along.
    #[test]
    fn every_switch_finds_its_place() {
        for switch in switches() {
            for edit in switch.edits {
                let text = read(&workspace().join(edit.file)).unwrap_or_default();
                let found = text.matches(edit.kept).count();
                assert_eq!(found, 1, "{}, in {}: {}", switch.rule, edit.file, edit.kept);
            }
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
