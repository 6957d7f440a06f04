//! How long something took, each time.

use std::time::{Duration, Instant};

/// How long one thing took, each time that it was done.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Adds one more.
    pub fn push(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// Does it `count` times, and adds the mean as one more.
    pub async fn mean_of(&mut self, count: usize, mut work: impl AsyncFnMut()) {
        let start = Instant::now();
        for _ in 0..count {
            work().await;
        }
        self.0.push(start.elapsed() / u32::try_from(count.max(1)).unwrap_or(u32::MAX));
    }

    /// The time that so many percent of all do not exceed; zero without any.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        sorted.get(last * percent / 100).copied().unwrap_or_default()
    }

    /// The one in the middle.
    #[must_use]
    pub fn median(&self) -> Duration {
        self.percentile(50)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl Extend<Duration> for Times {
    fn extend<I: IntoIterator<Item = Duration>>(&mut self, all: I) {
        self.0.extend(all);
    }
}

impl FromIterator<Duration> for Times {
    fn from_iter<I: IntoIterator<Item = Duration>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

/// A time in microseconds, with three digits and a unit that suits it.
#[must_use]
pub fn shown(microseconds: f64) -> String {
    let (value, unit) = match microseconds {
        us if us < 1.0 => (us * 1000.0, "ns"),
        us if us < 1000.0 => (us, "µs"),
        us if us < 1_000_000.0 => (us / 1000.0, "ms"),
        us => (us / 1_000_000.0, "s"),
    };
    let digits = match value {
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_in_the_middle_is_not_the_mean() {
        let times: Times = [1, 900, 2].into_iter().map(Duration::from_millis).collect();
        assert_eq!(times.median(), Duration::from_millis(2));
        assert_eq!(times.percentile(100), Duration::from_millis(900));
        assert_eq!(Times::default().median(), Duration::ZERO);
    }

    #[test]
    fn a_time_is_shown_with_three_digits() {
        let all = [0.0421, 7.25, 12.34, 10_600.0, 2_500_000.0].map(shown);
        assert_eq!(all, ["42.1 ns", "7.25 µs", "12.3 µs", "10.6 ms", "2.50 s"]);
    }
}
