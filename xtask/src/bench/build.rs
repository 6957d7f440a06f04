//! How long each feature takes to build from nothing, and how large the command is.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use measure::{End, Figure, Finding};
use serde_json::Value;

use super::{keep, wrong};
use crate::metadata::RootPackage;
use crate::step::{Failure, cargo};

pub(super) fn measure(findings: &Path) -> Result<(), Failure> {
    let root = RootPackage::read()?;
    let mut found = Vec::new();
    let features = [None].into_iter().chain(root.features().map(Some));
    for feature in features {
        let target = tempfile::Builder::new().prefix("leasehold-build-").tempdir();
        let target = target.map_err(|why| wrong(Path::new("a temporary folder"), why))?;
        let mut command = cargo(&["build", "--package", &root.name, "--lib"]);
        command.args(["--no-default-features", "--message-format", "json"]);
        command.args(feature.into_iter().flat_map(|feature| ["--features", feature]));
        command.env("CARGO_TARGET_DIR", target.path()).env("CARGO_INCREMENTAL", "0");
        let start = Instant::now();
        let (crates, _) = built(command)?;
        let at = feature.map_or("no feature".to_owned(), |feature| format!("feature `{feature}`"));
        let seconds = start.elapsed().as_micros() as f64;
        eprintln!("{at}: {crates} crates");
        found.push(Finding::Figure(Figure::new(&at, "from nothing, unoptimised", seconds, "µs")));
        found.push(Finding::Figure(Figure::new(&at, "crates", crates as f64, "")));
    }
    let mut command = cargo(&["build", "--release", "--workspace", "--all-features"]);
    command.args(["--bin", "lease", "--message-format", "json"]);
    let (_, binary) = built(command)?;
    let binary = binary.ok_or_else(|| Failure::Rule("cargo names no program `lease`".into()))?;
    let size = fs::metadata(&binary).map_err(|why| wrong(Path::new(&binary), why))?.len();
    let megabytes = size as f64 / 1024.0 / 1024.0;
    found.push(Finding::Figure(Figure::new(
        "`lease` with all stores",
        "size, stripped",
        megabytes,
        "MB",
    )));
    found.push(Finding::End(End { misses: Vec::new() }));
    keep(findings, &found)
}

/// Builds, and tells how many crates were compiled and where the program `lease` is.
fn built(mut command: std::process::Command) -> Result<(usize, Option<String>), Failure> {
    let said = format!("{command:?}");
    eprintln!("$ {said}");
    let fails = |why| Failure::Io(said.clone(), why);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(fails)?;
    let (mut crates, mut program) = (0, None);
    for line in child.stdout.take().into_iter().flat_map(|pipe| BufReader::new(pipe).lines()) {
        let Ok(message) = serde_json::from_str::<Value>(&line.map_err(fails)?) else { continue };
        if message["reason"] != "compiler-artifact" {
            continue;
        }
        crates += usize::from(message["fresh"] == false);
        if message["target"]["name"] == "lease" {
            program = message["executable"].as_str().map(str::to_owned).or(program);
        }
    }
    let status = child.wait().map_err(fails)?;
    if status.success() { Ok((crates, program)) } else { Err(Failure::Command(said)) }
}
