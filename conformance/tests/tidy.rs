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

/// The tests of the workspace, each with the file that it is in; those of a `main.rs` with its folder.
fn stories() -> BTreeSet<String> {
    let mut stories = BTreeSet::new();
    let mut folders = vec![here("../tests"), here("../src")];
    for package in fs::read_dir(here("..")).unwrap() {
        let package = package.unwrap().path();
        let parts = ["tests", "src"].map(|part| package.join(part));
        folders.extend(parts.into_iter().filter(|part| part.is_dir()));
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let file = match path.file_stem().unwrap().to_str().unwrap() {
                "main" => folder.file_name().unwrap(),
                _ => path.file_stem().unwrap(),
            };
            let file = file.to_str().unwrap();
            stories.extend(tests_in(&text).into_iter().map(|name| format!("{file}::{name}")));
        }
    }
    stories
}

/// The functions of a file that are tests: what stands above them says so.
fn tests_in(text: &str) -> Vec<String> {
    let mut is_test = false;
    let mut tests = Vec::new();
    for line in text.lines().map(str::trim) {
        is_test |= matches!(line, "#[test]" | "#[rstest]") || line.starts_with("#[tokio::test");
        let signature = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        if let Some(rest) = signature {
            let name = rest.split(['(', '<']).next().unwrap();
            tests.extend(is_test.then(|| name.to_owned()));
            is_test = false;
        }
    }
    tests
}

/// Whether there is a test of this name: a case, or a file's test, which may have modules before it and
/// the values of its parameters behind it.
fn is_test(name: &str, stories: &BTreeSet<String>) -> bool {
    let parts: Vec<_> = name.split("::").filter(|part| *part != "tests").collect();
    let is_named = |pair: &[&str]| {
        let pair = pair.join("::");
        listed().contains(&pair) || stories.contains(&pair)
    };
    match parts[..] {
        [] | [_] => false,
        _ => parts.windows(2).any(is_named),
    }
}

/// The rows of all tables of a page, each with the headings of its own: what stands in each column.
fn rows(page: &str) -> Vec<Vec<(String, String)>> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut rows = Vec::new();
    let mut headings: Option<Vec<String>> = None;
    for line in page.lines() {
        match (&headings, line.starts_with('|')) {
            (_, false) => headings = None,
            (None, true) => headings = Some(cells(line)),
            (Some(_), true) if line.starts_with("|---") => {}
            (Some(heads), true) => {
                rows.push(heads.iter().cloned().zip(cells(line)).collect());
            }
        }
    }
    rows
}

/// What stands between backticks.
fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// All that a column of tests names is one, and elsewhere what looks like one.
#[test]
fn every_fault_in_the_track_record_has_a_test_that_exists() {
    const OF_TESTS: [&str; 5] = ["Case", "Cases", "Stories", "Test", "Tests"];

    let record = fs::read_to_string(here("TRACK_RECORD.md")).unwrap();
    let stories = stories();
    let mut named = 0;
    for row in rows(&record) {
        let mut has_test = false;
        for (at, (heading, cell)) in row.iter().enumerate() {
            let is_of_tests = at > 0 && OF_TESTS.contains(&heading.as_str());
            for name in code(cell).filter(|name| is_of_tests || name.contains("::")) {
                assert!(is_test(name, &stories), "the track record names no test: {name}");
                has_test |= is_of_tests;
                named += 1;
            }
        }
        assert!(has_test, "no test tells it: {row:?}");
    }
    assert!(named > 200, "the track record names its tests: {named}");
}

/// The table of all cases that the project started from has each once.
#[test]
fn every_case_that_the_project_started_from_is_told() {
    const CASES: [u8; 45] = [
        1, 2, 3, 7, 8, 9, 10, 13, 14, 16, 17, 20, 21, 22, 24, 25, 28, 29, 30, 31, 32, 33, 34, 35,
        36, 37, 38, 39, 40, 41, 42, 43, 44, 46, 47, 48, 49, 50, 51, 52, 54, 55, 56, 57, 58,
    ];

    let record = fs::read_to_string(here("TRACK_RECORD.md")).unwrap();
    let (_, last) = record.split_once("## Each case, and where it is told").unwrap();
    let told: Vec<u8> = rows(last).iter().map(|row| row[0].1.parse().unwrap()).collect();
    assert_eq!(told, CASES);
}

/// The page that says how all is tested names tests that exist, in its tables of what servers and
/// programs do. (`xtask` checks its table of rules.)
#[test]
fn every_test_on_the_page_of_tests_exists() {
    let page = fs::read_to_string(here("../docs/TESTING.md")).unwrap();
    let stories = stories();
    let files: BTreeSet<&str> =
        stories.iter().map(|name| name.split_once("::").unwrap().0).collect();
    let mut named = 0;
    for row in rows(&page) {
        let is_of_tests = |heading: &str| match row[0].0.as_str() {
            "what happens" => heading != "what happens",
            "fact" => heading == "test",
            _ => false,
        };
        for (_, cell) in row.iter().filter(|(heading, _)| is_of_tests(heading)) {
            assert!(!cell.is_empty(), "{row:?}");
            for name in code(cell) {
                // A fact's test may have no file before it: its target has one file.
                let first = name.split("::").next().unwrap();
                let alone = stories.iter().any(|story| story.ends_with(&format!("::{first}")));
                let exists = is_test(name, &stories) || alone || files.contains(name);
                assert!(exists || name.starts_with("cargo xtask "), "no such test: {name}");
                named += 1;
            }
        }
    }
    assert!(named > 80, "the page names its tests: {named}");
}

/// The reports that this project must have an answer to in code that every backend shares: each in the
/// suite, or in a story of the library.
#[test]
fn the_reports_of_the_protocol_are_in_the_track_record() {
    let record = fs::read_to_string(here("TRACK_RECORD.md")).unwrap();
    let (shared, _) = record.split_once("## Told where NATS is").unwrap();
    let rows = rows(shared);
    let numbers = rows.iter().flat_map(|row| row[0].1.split(", "));
    let told: BTreeSet<u8> = numbers.filter_map(|number| number.parse().ok()).collect();
    for report in [3, 8, 9, 13, 14, 20, 22, 24, 25, 33, 34, 39, 40, 41, 42, 43, 44] {
        assert!(told.contains(&report), "no test tells report {report}");
    }
}
