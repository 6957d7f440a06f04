//! One bench: tells what it finds, and keeps it.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::ExitCode;

use comfy_table::{Table, presets};

use crate::{Comparison, Curve, End, Figure, Finding};

/// The variable that names the file to which findings are added, each a line of JSON.
pub const OUT: &str = "LEASE_BENCH_OUT";

/// A bench that is under way.
#[derive(Debug)]
pub struct Bench {
    out: Option<File>,
    misses: Vec<String>,
}

impl Bench {
    /// Begins, if this was started to measure: `cargo test --benches` runs benches too.
    #[must_use]
    pub fn start() -> Option<Self> {
        if !env::args().any(|argument| argument == "--bench") {
            return None;
        }
        let open = |path| OpenOptions::new().create(true).append(true).open(path);
        let out = env::var_os(OUT)
            .map(|path| open(path).unwrap_or_else(|error| panic!("{OUT}: {error}")));
        Some(Self { out, misses: Vec::new() })
    }

    /// Tells and keeps a comparison.
    pub fn compares(&mut self, found: Comparison) {
        println!("\n{}: {}", found.place, found.what);
        let mut table = Table::new();
        table.load_style(presets::NOTHING).add_rows(found.cells());
        println!("{table}");
        found.because.iter().for_each(|why| println!("{why}"));
        self.misses.extend(found.misses());
        self.keep(&Finding::Comparison(found));
    }

    /// Tells and keeps a number.
    pub fn counts(&mut self, found: Figure) {
        let wish = found.wish.map(|wish| format!(" ({})", wish.words(found.value, &found.unit)));
        println!("{}: {}: {}{}", found.place, found.what, found.told(), wish.unwrap_or_default());
        self.misses.extend(found.miss());
        self.keep(&Finding::Figure(found));
    }

    /// Keeps a curve.
    pub fn draws(&mut self, found: Curve) {
        for line in &found.lines {
            println!("{}: {}: {:?} at {:?}", found.title, line.name, line.values, found.at);
        }
        self.keep(&Finding::Curve(found));
    }

    /// Ends with failure if a wish did not come true.
    #[must_use]
    pub fn end(mut self) -> ExitCode {
        let misses = std::mem::take(&mut self.misses);
        misses.iter().for_each(|miss| println!("missed: {miss}"));
        let code = if misses.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        self.keep(&Finding::End(End { misses }));
        code
    }

    fn keep(&mut self, found: &Finding) {
        let Some(out) = &mut self.out else { return };
        let kept = serde_json::to_string(found).unwrap_or_else(|error| panic!("{error}"));
        writeln!(out, "{kept}").unwrap_or_else(|error| panic!("{OUT}: {error}"));
    }
}
