//! The tree keeps its own style: short files, a sentence on top, no loose ends, no dead links.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a failure is the test's failure")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// More than this is more than one idea.
const LONGEST: usize = 400;

#[test]
fn every_rust_file_is_short() {
    none(rust_files().filter_map(|file| {
        let lines = file.text.lines().count();
        (lines > LONGEST).then(|| format!("{}: {lines} lines, not over {LONGEST}", file.name))
    }));
}

#[test]
fn every_rust_file_says_first_what_it_is() {
    // A library's first page may be its README.
    let says = |file: &File| {
        ["//! ", "#![doc = include_str!("].iter().any(|start| file.text.starts_with(start))
    };
    none(rust_files().filter(|file| !says(file)).map(|file| file.name));
}

#[test]
fn nothing_is_left_for_later() {
    // In two parts each, for this file is looked at too.
    let banned = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
    ];
    none(rust_files().flat_map(|file| file.lines_with(&banned)));
}

#[test]
fn no_test_is_switched_off() {
    none(rust_files().flat_map(|file| file.lines_with(&[concat!("#[ig", "nore")])));
}

#[test]
fn no_file_knows_the_machine_that_it_was_written_on() {
    let machine = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp/", "lab")];
    // Inside a longer path it is somebody else's folder of that name.
    let absolute = |line: &str, part: &str| {
        line.match_indices(part).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            before.is_none_or(|last| !last.is_alphanumeric() && !"/.-_~}$".contains(last))
        })
    };
    none(files().into_iter().flat_map(move |file| {
        file.lines_where(|line| machine.iter().any(|part| absolute(line, part)))
    }));
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let documents = files().into_iter().filter(|file| file.name.ends_with(".md"));
    none(documents.flat_map(|file| {
        let folder = file.path.parent().unwrap().to_owned();
        let dead = move |target: &String| !folder.join(target).exists();
        let targets = links(&file.text).into_iter().filter(dead);
        targets.map(move |target| format!("{}: {target}", file.name)).collect::<Vec<_>>()
    }));
}

#[test]
fn links_are_found_as_a_reader_would() {
    let text = "See [a](docs/A.md#part), [b](https://example.org/b.md) and [c](#below).\n\
                Not `[d](no.md)`, nor [`E`](crate::E).\n\
                ```text\n[f](no.md)\n```\n\
                [![badge](badge.svg)](g.md \"title\")\n\
                [h]: docs/H.md\n";
    assert_eq!(links(text), ["docs/A.md", "badge.svg", "g.md", "docs/H.md"]);
}

/// A text file of the project.
struct File {
    path: PathBuf,
    /// As seen from the workspace's folder.
    name: String,
    text: String,
}

impl File {
    fn lines_with(&self, parts: &[&str]) -> Vec<String> {
        self.lines_where(|line| parts.iter().any(|part| line.contains(part)))
    }

    fn lines_where(&self, is: impl Fn(&str) -> bool) -> Vec<String> {
        let found = self.text.lines().enumerate().filter(|(_, line)| is(line));
        found.map(|(index, line)| format!("{}:{}: {}", self.name, index + 1, line.trim())).collect()
    }
}

/// Shows all findings at once.
fn none(findings: impl Iterator<Item = String>) {
    let findings: Vec<String> = findings.collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

fn rust_files() -> impl Iterator<Item = File> {
    files().into_iter().filter(|file| file.name.ends_with(".rs"))
}

/// Everything that people write: not what is built, nor what the version control keeps.
fn files() -> Vec<File> {
    let root = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = root.or(option_env!("CARGO_MANIFEST_DIR").map(PathBuf::from)).unwrap();
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = entry.file_name().into_string().unwrap();
            if path.is_dir() {
                if !["target", ".git"].contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if let Ok(text) = fs::read_to_string(&path) {
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                files.push(File { path, name, text });
            }
        }
    }
    assert!(files.iter().any(|file| is_this_one(&file.path)), "{} is not it", root.display());
    files
}

/// A walk that does not find its own file has found nothing.
fn is_this_one(path: &Path) -> bool {
    path.ends_with("tests/tidy.rs")
}

/// The targets of links to files, without the code in which only something like a link stands.
fn links(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // Every second part is between backticks. A label in backticks leaves its link.
            let prose: String = line.split('`').step_by(2).collect();
            let inline = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
            let reference = prose.starts_with('[').then(|| prose.split("]: ").nth(1)).flatten();
            targets.extend(inline.chain(reference).filter_map(file_of));
        }
    }
    targets
}

/// Without the part after `#` and the title; nothing if it leads out of the tree.
fn file_of(target: &str) -> Option<String> {
    let file = target.split(['#', ' ']).next()?;
    let is_file = !file.is_empty() && !file.contains(':');
    is_file.then(|| file.to_owned())
}
