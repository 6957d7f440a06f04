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
    /// Sums the closing lines among these. Lines of other kinds count nothing.
    pub(crate) fn of<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut tally = Self::default();
        for counts in lines.into_iter().filter_map(counts) {
            tally += counts;
        }
        tally
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

/// Such as `test result: ok. 3 passed; 0 failed; 0 ignored; …` of the standard runner, or
/// `Summary [ 0.1s] 4 tests run: 2 passed (1 slow), 1 failed, 1 timed out, 0 skipped` of nextest.
fn counts(line: &str) -> Option<Tally> {
    let line = line.trim();
    let (counts, separator) = match line.strip_prefix("test result: ") {
        Some(rest) => (rest.split_once(". ")?.1, ';'),
        None => (line.strip_prefix("Summary [")?.split_once(" run: ")?.1, ','),
    };
    let mut tally = Tally::default();
    for part in without_parentheses(counts).split(separator) {
        let Some((number, what)) = part.trim().split_once(' ') else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        match what.trim() {
            "passed" => tally.passed += number,
            "failed" | "exec failed" | "timed out" => tally.failed += number,
            _ => {}
        }
    }
    Some(tally)
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
}
