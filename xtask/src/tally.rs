//! Counts tests by the closing lines of the runners that ran them.

use std::fmt::{self, Display, Formatter};
use std::ops::AddAssign;

/// How many tests passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Tally {
    /// Counts the closing lines among these. Lines of other kinds count nothing.
    pub(crate) fn of<'a>(lines: impl IntoIterator<Item = &'a str> + Clone) -> Self {
        // Nextest closes once, and repeats what failed tests printed: closing lines of the
        // standard runner inside each, which would be counted a second time.
        if let Some(tally) = lines.clone().into_iter().filter_map(summary).last() {
            return tally;
        }
        let mut sum = Self::default();
        for tally in lines.into_iter().filter_map(result) {
            sum += tally;
        }
        sum
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// Of the standard runner: `test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured`.
fn result(line: &str) -> Option<Tally> {
    let (_, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
    Some(counted(counts.split(';')))
}

/// Of nextest: `Summary [ 0.1s] 3 tests run: 1 passed (1 slow), 1 failed, 1 timed out`.
fn summary(line: &str) -> Option<Tally> {
    let (_, counts) = line.trim().strip_prefix("Summary [")?.split_once(" run: ")?;
    Some(counted(without_parentheses(counts).split(',')))
}

fn counted<'a>(parts: impl Iterator<Item = &'a str>) -> Tally {
    let mut tally = Tally::default();
    for part in parts {
        let Some((number, what)) = part.trim().split_once(' ') else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        match what.trim() {
            "passed" => tally.passed += number,
            "failed" | "exec failed" | "timed out" => tally.failed += number,
            _ => {}
        }
    }
    tally
}

/// Nextest tells in parentheses which of the passed ones were slow or leaky.
fn without_parentheses(text: &str) -> String {
    let mut parts = text.split('(');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::Tally;

    fn tally(passed: u64, failed: u64) -> Tally {
        Tally { passed, failed }
    }

    #[test]
    fn every_kind_of_closing_line_is_counted() {
        for (line, expected) in [
            ("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured", tally(3, 0)),
            ("test result: FAILED. 3 passed; 2 failed; 0 ignored", tally(3, 2)),
            ("     Summary [   0.1s] 12 tests run: 12 passed, 0 skipped", tally(12, 0)),
            ("     Summary [   0.1s] 1 test run: 1 passed, 0 skipped", tally(1, 0)),
            (
                "     Summary [  61.1s] 5/9 tests run: 2 passed (1 slow, 1 leaky), 1 failed, \
                 1 exec failed, 1 timed out, 4 skipped",
                tally(2, 3),
            ),
            ("running 3 tests", tally(0, 0)),
            ("3 passed, 4 failed", tally(0, 0)),
        ] {
            assert_eq!(Tally::of([line]), expected, "{line}");
        }
    }

    #[test]
    fn several_runs_are_summed() {
        let lines = ["test result: ok. 3 passed; 0 failed", "test result: ok. 4 passed; 1 failed"];
        assert_eq!(Tally::of(lines).to_string(), "7 passed, 1 failed");
    }
    #[test]
    fn what_failed_tests_printed_is_not_counted_again() {
        let lines = [
            "    test result: FAILED. 0 passed; 1 failed; 0 ignored",
            "     Summary [   0.1s] 2 tests run: 1 passed, 1 failed, 0 skipped",
            "    test result: FAILED. 0 passed; 1 failed; 0 ignored",
        ];
        assert_eq!(Tally::of(lines), tally(1, 1));
    }
}
