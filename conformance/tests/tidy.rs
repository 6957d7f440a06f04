//! The list, the cases and the contract agree.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lease_conformance::CASES;

/// The contract, which names the case of each of its promises.
const CONTRACT: &str = "../lease-core/src/backend.rs";

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn listed() -> BTreeSet<String> {
    CASES.iter().map(|case| case.name.to_owned()).collect()
}

/// The public functions of the files of cases, each with the concern that its file is.
fn written() -> BTreeSet<String> {
    let mut cases = BTreeSet::new();
    for file in fs::read_dir(here("src/cases")).unwrap() {
        let path = file.unwrap().path();
        let concern = path.file_stem().unwrap().to_str().unwrap().to_owned();
        for line in fs::read_to_string(&path).unwrap().lines() {
            let Some(rest) = line.strip_prefix("pub async fn ") else { continue };
            cases.insert(format!("{concern}::{}", rest.split('(').next().unwrap()));
        }
    }
    cases
}

/// The words after each ``Case: ` `` of a text, however its lines are broken.
fn cited(text: &str) -> Vec<String> {
    let one_line = text.replace("\n///", "").replace("\n    ///", "");
    let cites = one_line.split("(Case: `").skip(1);
    cites.map(|cite| cite.split('`').next().unwrap().to_owned()).collect()
}

#[test]
fn every_case_is_in_the_list_once() {
    assert_eq!(written(), listed(), "a case that is not in the list is never told");
    assert_eq!(listed().len(), CASES.len(), "no case is told twice");
}

#[test]
fn every_case_that_the_contract_names_exists() {
    let named = cited(&fs::read_to_string(here(CONTRACT)).unwrap());
    assert!(named.len() >= 11, "the contract names its cases: {named:?}");
    let missing: Vec<_> = named.into_iter().filter(|case| !listed().contains(case)).collect();
    assert!(missing.is_empty(), "the contract names cases that do not exist: {missing:?}");
}

#[test]
fn every_promise_has_its_case() {
    let contract = fs::read_to_string(here(CONTRACT)).unwrap();
    let promises = contract.split("# What every implementation promises").nth(1).unwrap();
    let promises = promises.split("\n/// # ").next().unwrap();
    let mut number = 0;
    for promise in promises.split("\n/// ").filter(|line| line.starts_with(char::is_numeric)) {
        number += 1;
        assert!(promise.starts_with(&format!("{number}. **")), "promises are numbered: {promise}");
        let text = promises.split(&format!("\n/// {number}. **")).nth(1).unwrap();
        let text = text.split(&format!("\n/// {}. **", number + 1)).next().unwrap();
        assert_eq!(cited(text).len(), 1, "promise {number} must name its case");
    }
    assert!(number >= 9, "the contract has its promises: {number}");
}

/// A list in the order of the alphabet takes a new case in one place only.
#[test]
fn the_list_is_sorted_by_concern() {
    let concerns: Vec<_> = CASES.iter().map(|c| c.name.split("::").next().unwrap()).collect();
    assert!(concerns.is_sorted(), "concerns are listed in the order of the alphabet");
}

/// The tests of the other packages, each with the file that it is in.
fn stories() -> BTreeSet<String> {
    let mut stories = BTreeSet::new();
    let mut folders = vec![here("../tests")];
    for package in fs::read_dir(here("..")).unwrap() {
        folders.extend(Some(package.unwrap().path().join("tests")).filter(|tests| tests.is_dir()));
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let file = path.file_stem().unwrap().to_str().unwrap().to_owned();
            // A test is a function without an owner: its line is not indented.
            for line in text.lines() {
                let rest = line.strip_prefix("async fn ").or(line.strip_prefix("fn "));
                let Some(rest) = rest else { continue };
                stories.insert(format!("{file}::{}", rest.split('(').next().unwrap()));
            }
        }
    }
    stories
}

#[test]
fn every_fault_in_the_track_record_has_a_test_that_exists() {
    let record = fs::read_to_string(here("TRACK_RECORD.md")).unwrap();
    let stories = stories();
    let mut named = 0;
    for row in record.lines().filter(|line| line.starts_with("| ") && line.contains("::")) {
        for name in row.split('`').skip(1).step_by(2).filter(|name| name.contains("::")) {
            let exists = listed().contains(name) || stories.contains(name);
            assert!(exists, "the track record names no test: {name}");
            named += 1;
        }
    }
    assert!(named > 90, "the track record names its tests: {named}");
}

/// The reports that this project must have an answer to in code that every backend shares.
#[test]
fn the_reports_of_the_protocol_are_in_the_track_record() {
    let record = fs::read_to_string(here("TRACK_RECORD.md")).unwrap();
    let rows = record.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let numbers = rows.flat_map(|(reports, _)| reports.split(", "));
    let told: BTreeSet<u8> = numbers.filter_map(|number| number.parse().ok()).collect();
    for report in [3, 8, 9, 13, 14, 20, 22, 24, 25, 33, 34, 39, 40, 41, 42, 43, 44] {
        assert!(told.contains(&report), "no test tells report {report}");
    }
}
