//! What the benchmarks ran on.

use std::fs;
use std::process::Command;

use testbed::Program;

/// A line for each thing that matters: processor, memory, system, compiler, servers.
pub(super) fn lines() -> Vec<(String, String)> {
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = field("/proc/meminfo", "MemTotal").and_then(|kb| {
        let kb: f64 = kb.split(' ').next()?.parse().ok()?;
        Some(format!("{:.0} GB", kb / 1024.0 / 1024.0))
    });
    let mut lines = vec![
        ("processor".to_owned(), format!("{processor}, {cores} of its cores")),
        ("memory".to_owned(), memory.unwrap_or_else(|| "unknown".to_owned())),
        ("kernel".to_owned(), kernel()),
        ("compiler".to_owned(), said("rustc", &["--version"]).unwrap_or_default()),
    ];
    // Those that benches run on. Not every server knows how to tell its version: some start.
    let programs =
        [(Program::MONGOD, "--version"), (Program::NATS, "--version"), (Program::WEED, "version")];
    for (program, how) in programs {
        let path = program.locate().map(|path| path.display().to_string()).unwrap_or_default();
        if let Some(version) = said(&path, &[how]) {
            lines.push((program.name().to_owned(), version));
        }
    }
    if let Some(version) = said("etcd", &["--version"]) {
        lines.push(("etcd".to_owned(), version));
    }
    lines
}

/// Its version, without what whoever built it added.
fn kernel() -> String {
    let whole = said("uname", &["-sr"]).unwrap_or_default();
    whole.split_once('-').map_or(whole.clone(), |(version, _)| version.to_owned())
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The first line of what a program says of itself.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = text.lines().next().map(str::trim)?.to_owned();
    (output.status.success() && !first.is_empty()).then_some(first)
}
