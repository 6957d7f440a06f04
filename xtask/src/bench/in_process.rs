//! What criterion found.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use measure::{End, Figure, Finding, Wish};
use serde_json::Value;

use super::{aside, keep, wrong};
use crate::step::Failure;

/// What is wished of each, in nanoseconds.
const WISHES: [(&str, f64); 6] = [
    ("exclusive: acquire and release", 5_000.0),
    ("writer: acquire and release", 5_000.0),
    ("exclusive: acquire and release, keeper on this runtime", 5_000.0),
    ("writer: acquire and release, keeper on this runtime", 5_000.0),
    ("check", 50.0),
    ("guard", 20_000.0),
];

/// Runs it, and reads what it has found and nothing older.
pub(super) fn measure(
    mut command: Command,
    criterion: &Path,
    findings: &Path,
) -> Result<(), Failure> {
    match fs::remove_dir_all(criterion) {
        Err(why) if why.kind() != ErrorKind::NotFound => return Err(wrong(criterion, why)),
        _ => aside(&mut command)?,
    }
    read(criterion, findings)
}

/// Reads the middle of each that was measured, and keeps it with the others' findings.
fn read(criterion: &Path, findings: &Path) -> Result<(), Failure> {
    let mut found = Vec::new();
    let mut misses = Vec::new();
    let folders = fs::read_dir(criterion).map_err(|why| wrong(criterion, why))?;
    let mut folders: Vec<_> = folders.filter_map(Result::ok).map(|entry| entry.path()).collect();
    folders.sort();
    for folder in folders {
        let new = folder.join("new");
        let (Some(about), Some(estimates)) =
            (json(&new.join("benchmark.json")), json(&new.join("estimates.json")))
        else {
            continue;
        };
        let what = about["full_id"].as_str().unwrap_or_default().to_owned();
        let nanoseconds = estimates["median"]["point_estimate"].as_f64().unwrap_or(f64::NAN);
        let wish = WISHES.iter().find(|(name, _)| *name == what).map(|(_, most)| most / 1e3);
        let figure = Figure::new("memory", &what, nanoseconds / 1e3, "µs");
        let figure = wish.map_or(figure.clone(), |most| figure.wish(Wish::AtMost(most)));
        misses.extend(figure.miss());
        found.push(Finding::Figure(figure));
    }
    found.push(Finding::End(End { misses }));
    keep(findings, &found)
}

fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}
