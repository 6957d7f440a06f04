//! What a bench found, as it is kept and read again.

use serde::{Deserialize, Serialize};

use crate::times::{Times, shown};

/// One thing that a bench found.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finding {
    /// One beside others, in turns.
    Comparison(Comparison),
    /// A number by itself.
    Figure(Figure),
    /// How something grows.
    Curve(Curve),
    /// The bench came to its end, and missed so much.
    End(End),
}

/// The end of a bench.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct End {
    /// The wishes that did not come true.
    pub misses: Vec<String>,
}

/// How long one thing takes beside others that do the same, in turns on one server.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Comparison {
    /// Where: which server, how far.
    pub place: String,
    /// What each of them does.
    pub what: String,
    /// The first one is ours.
    pub rows: Vec<Row>,
    /// Why ours is not the first of them, where it is not.
    #[serde(default)]
    pub because: Vec<String>,
}

/// How long it takes one of them, in microseconds.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Row {
    /// Whose.
    pub who: String,
    /// The middle of all turns.
    pub median: f64,
    /// What a tenth of the turns does not exceed.
    pub low: f64,
    /// What nine tenths of the turns do not exceed.
    pub high: f64,
    /// What is wished of the ratio to ours.
    pub wish: Option<Wish>,
}

/// What is wished of a ratio, or of a number.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// Ours takes at most as many times as long as this one; the number is at most this.
    AtMost(f64),
    /// This one takes at least as many times as long as ours; the number is at least this.
    AtLeast(f64),
}

/// A number by itself.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Figure {
    /// Where: which server, how many.
    pub place: String,
    /// What was counted or measured.
    pub what: String,
    /// How much.
    pub value: f64,
    /// Of what: `MB`, `requests`, `µs`.
    pub unit: String,
    /// What is wished of it.
    pub wish: Option<Wish>,
}

/// How something grows: lines over the same values.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Curve {
    /// What it shows.
    pub title: String,
    /// What the values along it are.
    pub x: String,
    /// What the lines show, with the unit.
    pub y: String,
    /// The values along it.
    pub at: Vec<f64>,
    /// One line or more.
    pub lines: Vec<Line>,
}

/// One line of a curve.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Line {
    /// Which.
    pub name: String,
    /// One for each of the values along the curve.
    pub values: Vec<f64>,
}

impl Wish {
    fn is_granted(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }

    /// As it stands beside what came out, in this unit.
    #[must_use]
    pub fn words(self, value: f64, unit: &str) -> String {
        let (sign, wished) = match self {
            Self::AtMost(most) => ("≤", most),
            Self::AtLeast(least) => ("≥", least),
        };
        let verdict = if self.is_granted(value) { "" } else { ", **missed**" };
        let blank = if unit.is_empty() { "" } else { " " };
        format!("{sign} {wished}{blank}{unit}{verdict}")
    }
}

impl Comparison {
    /// Ours, to which the others are compared.
    #[must_use]
    pub fn new(place: &str, what: &str, who: &str, times: &Times) -> Self {
        Self {
            place: place.to_owned(),
            what: what.to_owned(),
            rows: vec![Row::new(who, times, None)],
            because: Vec::new(),
        }
    }

    /// Why this one takes less time than ours or than was wished, if it is here and does.
    #[must_use]
    pub fn because_of(mut self, who: &str, why: &str) -> Self {
        let ours = self.rows.first().map_or(f64::NAN, |ours| ours.median);
        let is_missed = |row: &Row| row.wish.is_some_and(|wish| !wish.is_granted(self.ratio(row)));
        let needs_it = |row: &Row| row.who == who && (row.median < ours || is_missed(row));
        if self.rows.iter().any(needs_it) {
            self.because.push(why.to_owned());
        }
        self
    }

    /// What ours is to take no longer than, but for this factor.
    #[must_use]
    pub fn at_most(mut self, who: &str, times: &Times, factor: f64) -> Self {
        self.rows.push(Row::new(who, times, Some(Wish::AtMost(factor))));
        self
    }

    /// Somebody who is to take this many times as long at the least.
    #[must_use]
    pub fn at_least(mut self, who: &str, times: &Times, factor: f64) -> Self {
        self.rows.push(Row::new(who, times, Some(Wish::AtLeast(factor))));
        self
    }

    /// Somebody of whom nothing is wished.
    #[must_use]
    pub fn beside(mut self, who: &str, times: &Times) -> Self {
        self.rows.push(Row::new(who, times, None));
        self
    }

    /// The ratio that is told of a row: ours by its bare requests, or somebody else by ours.
    #[must_use]
    pub fn ratio(&self, row: &Row) -> f64 {
        let ours = self.rows.first().map_or(f64::NAN, |ours| ours.median);
        match row.wish {
            Some(Wish::AtMost(_)) => ours / row.median,
            _ => row.median / ours,
        }
    }

    /// The wishes that did not come true.
    #[must_use]
    pub fn misses(&self) -> Vec<String> {
        let missed = |row: &&Row| row.wish.is_some_and(|wish| !wish.is_granted(self.ratio(row)));
        let told = |row: &Row| {
            let ratio = self.ratio(row);
            let words = row.wish.map(|wish| wish.words(ratio, "")).unwrap_or_default();
            format!("{}, {}: {}: {ratio:.2}, {words}", self.place, self.what, row.who)
        };
        self.rows.iter().filter(missed).map(told).collect()
    }

    /// The cells of its table: who, median, spread, ratio.
    #[must_use]
    pub fn cells(&self) -> Vec<[String; 4]> {
        let cells = |(at, row): (usize, &Row)| {
            let spread = format!("{} to {}", shown(row.low), shown(row.high));
            let ratio = self.ratio(row);
            let told = match row.wish {
                _ if at == 0 => String::new(),
                Some(wish @ Wish::AtMost(_)) => {
                    format!("ours takes {ratio:.2} times as long ({})", wish.words(ratio, ""))
                }
                Some(wish) => format!("takes {ratio:.2} times as long ({})", wish.words(ratio, "")),
                None => format!("takes {ratio:.2} times as long"),
            };
            [row.who.clone(), shown(row.median), spread, told]
        };
        self.rows.iter().enumerate().map(cells).collect()
    }
}

impl Row {
    fn new(who: &str, times: &Times, wish: Option<Wish>) -> Self {
        let at = |percent| times.percentile(percent).as_secs_f64() * 1e6;
        Self { who: who.to_owned(), median: at(50), low: at(10), high: at(90), wish }
    }
}

impl Curve {
    /// How times grow: the middle, and what one in a hundred exceeds, in milliseconds.
    #[must_use]
    pub fn of_times(title: &str, x: &str, at: &[usize], times: &[Times]) -> Self {
        let line = |name: &str, percent| Line {
            name: name.to_owned(),
            values: times.iter().map(|all| all.percentile(percent).as_secs_f64() * 1e3).collect(),
        };
        Self {
            title: title.to_owned(),
            x: x.to_owned(),
            y: "ms".to_owned(),
            at: at.iter().map(|&at| at as f64).collect(),
            lines: vec![line("p50", 50), line("p99", 99)],
        }
    }
}

impl Figure {
    /// A number of which nothing is wished.
    #[must_use]
    pub fn new(place: &str, what: &str, value: f64, unit: &str) -> Self {
        let (place, what, unit) = (place.to_owned(), what.to_owned(), unit.to_owned());
        Self { place, what, value, unit, wish: None }
    }

    /// With what is wished of it.
    #[must_use]
    pub const fn wish(mut self, wish: Wish) -> Self {
        self.wish = Some(wish);
        self
    }

    /// The number with its unit; a time in microseconds in the unit that suits it.
    #[must_use]
    pub fn told(&self) -> String {
        match self.unit.as_str() {
            "µs" => shown(self.value),
            "" if self.value.fract() == 0.0 => self.value.to_string(),
            "" => format!("{:.2}", self.value),
            unit if self.value.fract() == 0.0 => format!("{} {unit}", self.value),
            unit => format!("{:.2} {unit}", self.value),
        }
    }

    /// The wish, if it did not come true.
    #[must_use]
    pub fn miss(&self) -> Option<String> {
        let wish = self.wish.filter(|wish| !wish.is_granted(self.value))?;
        Some(format!(
            "{}, {}: {}, {}",
            self.place,
            self.what,
            self.told(),
            wish.words(self.value, &self.unit)
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn took(milliseconds: u64) -> Times {
        [Duration::from_millis(milliseconds)].into_iter().collect()
    }

    #[test]
    fn a_missed_wish_is_told_and_a_granted_one_is_not() {
        let found = Comparison::new("here", "renew", "ours", &took(12))
            .at_most("bare", &took(10), 1.15)
            .at_least("slow", &took(30), 2.0)
            .at_least("fast", &took(18), 2.0)
            .beside("other", &took(6));
        let misses = found.misses();
        assert_eq!(misses.len(), 2, "{misses:?}");
        assert!(misses[0].contains("bare: 1.20"), "{misses:?}");
        assert!(misses[1].contains("fast: 1.50"), "{misses:?}");
        assert_eq!(found.cells()[4][3], "takes 0.50 times as long");
    }

    #[test]
    fn a_reason_is_told_only_where_there_is_something_to_explain() {
        let found = Comparison::new("here", "acquire", "ours", &took(10))
            .at_least("slow", &took(30), 2.0)
            .beside("fast", &took(6))
            .because_of("slow", "it sleeps")
            .because_of("nobody", "they are not here")
            .because_of("fast", "it does less");
        assert_eq!(found.because, ["it does less"]);
    }

    #[test]
    fn a_finding_is_read_as_it_was_kept() {
        let found = Figure::new("here", "size", 6.25, "MB").wish(Wish::AtMost(5.0));
        let kept = serde_json::to_string(&Finding::Figure(found)).unwrap();
        let Finding::Figure(read) = serde_json::from_str(&kept).unwrap() else { panic!("{kept}") };
        assert_eq!(read.miss().unwrap(), "here, size: 6.25 MB, ≤ 5 MB, **missed**");
    }
}
