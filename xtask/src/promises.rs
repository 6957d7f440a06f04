//! The pages that say what is promised and what finds a broken rule name only what exists.
//!
//! They are read as text, and so are the lists that they name: no part of the project has to be
//! built for that.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::rules::switches;
use crate::step::workspace;

const GUARANTEES: &str = "docs/GUARANTEES.md";
const TESTING: &str = "docs/TESTING.md";

fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The rows of the table whose first column has this heading: the cells of each, without the
/// heading and the line below it.
fn table(page: &str, first: &str, second: &str) -> Vec<Vec<String>> {
    let text = read(page);
    let start = format!("| {first} | {second} |");
    let lines = text.lines().skip_while(|line| !line.starts_with(&start));
    let rows: Vec<_> = lines.take_while(|line| line.starts_with('|')).skip(2).collect();
    assert!(rows.len() > 5, "{page} has its table of {second}");
    let cells = |row: &str| -> Vec<String> {
        row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    rows.into_iter().map(cells).collect()
}

/// What stands between backticks.
fn code(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The words that are a rule.
fn rules(cell: &str) -> Vec<String> {
    let is_rule = |word: &&str| {
        word.strip_prefix(['R', 'F']).is_some_and(|n| !n.is_empty() && n.parse::<u8>().is_ok())
    };
    cell.split([' ', ',']).filter(is_rule).map(str::to_owned).collect()
}

/// The model's rules.
fn all_rules() -> BTreeSet<String> {
    let text = read("model/src/rules.rs");
    let list = text.split("pub enum Rule {").nth(1).and_then(|rest| rest.split('}').next());
    let list = list.unwrap_or_default().lines().map(|line| line.trim().trim_end_matches(','));
    list.filter(|rule| !rule.is_empty()).map(str::to_owned).collect()
}

/// The cases of the suite.
fn cases() -> BTreeSet<String> {
    let mut cases = BTreeSet::new();
    for (file, name) in functions("conformance/src/cases", "pub async fn ") {
        cases.insert(format!("{file}::{name}"));
    }
    cases
}

/// The mutants, each with the case that kills it.
fn mutants() -> BTreeMap<String, String> {
    let text = read("conformance/tests/mutants/mutants.rs");
    let pairs = text.lines().filter_map(|line| {
        let (fault, case) = line.trim().strip_suffix("\",")?.split_once(" => \"")?;
        Some((fault.to_owned(), case.to_owned()))
    });
    pairs.collect()
}

/// The tests of the core and of files outside the suite, by their file and name.
fn stories() -> BTreeSet<String> {
    let mut stories = BTreeSet::new();
    for folder in [
        "lease-core/tests/stories",
        "lease-core/tests",
        "lease-core/src/keeper/schedule",
        "lease-objstore/tests/files",
    ] {
        for start in ["async fn ", "fn "] {
            for (file, name) in functions(folder, start) {
                stories.insert(format!("{file}::{name}"));
            }
        }
    }
    for file in ["timing", "policy", "epoch", "fence"] {
        let text = read(&format!("lease-core/src/{file}.rs"));
        for name in named(&text, "fn ") {
            stories.insert(format!("{file}::tests::{name}"));
        }
    }
    stories
}

/// The functions in the files of a folder, each with the name of its file.
fn functions(folder: &str, start: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let entries = fs::read_dir(workspace().join(folder));
    for entry in entries.unwrap_or_else(|error| panic!("{folder}: {error}")).flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let file = stem(&path);
            found.extend(named(&text, start).into_iter().map(|name| (file.clone(), name)));
        }
    }
    found
}

fn named(text: &str, start: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.trim().strip_prefix(start));
    names.map(|rest| rest.split(['(', '<']).next().unwrap_or_default().to_owned()).collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[test]
fn no_cell_of_a_promise_is_empty() {
    let tables = [
        (GUARANTEES, "#", "promise", 6),
        (GUARANTEES, "#", "memory", 6),
        (TESTING, "rule", "model", 5),
    ];
    for (page, first, second, columns) in tables {
        for row in table(page, first, second) {
            assert_eq!(row.len(), columns, "{row:?}");
            assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
        }
    }
}

#[test]
fn every_rule_of_the_protocol_keeps_a_promise() {
    let named: BTreeSet<_> =
        table(GUARANTEES, "#", "promise").iter().flat_map(|row| rules(&row[2])).collect();
    let all: BTreeSet<_> = all_rules().into_iter().filter(|rule| rule.starts_with('R')).collect();
    assert_eq!(named, all);
}

#[test]
fn every_property_that_is_promised_is_the_models() {
    let model = ["model/src/general/model.rs", "model/src/files/model.rs", "model/src/run.rs"];
    let model: String = model.map(read).concat();
    for row in table(GUARANTEES, "#", "promise") {
        let property = row[3].trim_matches('*');
        let beyond = property.starts_with("beyond the protocol: ");
        assert_eq!(beyond, row[2] == "contract", "{row:?}");
        assert!(beyond || model.contains(&format!("\"{property}\"")), "{row:?}");
    }
}

/// A case that is named exists, and the mutant beside it is killed by it.
#[test]
fn every_promise_has_a_test_and_a_way_to_break_it() {
    let (cases, mutants, stories) = (cases(), mutants(), stories());
    assert!(cases.len() > 100 && mutants.len() > 90 && stories.len() > 40);
    for row in table(GUARANTEES, "#", "promise") {
        let test = code(&row[4]).remove(0);
        let breaks = code(&row[5]);
        match row[5].strip_prefix("switch ") {
            Some(rule) => {
                assert!(stories.contains(&test), "no such story: {row:?}");
                assert!(switches().any(|switch| switch.rule == rule), "{row:?}");
                assert!(rules(&row[2]).iter().any(|one| one == rule), "{row:?}");
            }
            None => {
                assert!(cases.contains(&test), "no such case: {row:?}");
                let killer = breaks.get(1).unwrap_or(&test);
                assert_eq!(mutants.get(&breaks[0]), Some(killer), "{row:?}");
            }
        }
    }
}

/// The table of what finds a rule that is switched off has each rule once, and says of the model
/// what the model's own page says.
#[test]
fn every_rule_is_found_when_it_is_switched_off() {
    let model = read("model/README.md");
    let falls = |rule: &str, steps: &str| {
        let mut lines = model.lines().filter(|line| line.starts_with(&format!("| {rule}: ")));
        lines.any(|line| line.split('|').nth(5).is_some_and(|cell| cell.trim() == steps))
    };
    let (cases, mutants, stories) = (cases(), mutants(), stories());
    let page = read(TESTING);
    let open = page.split_once("Open in the code:").map_or("", |(_, rest)| rest);
    let open = rules(open.split('.').next().unwrap_or_default());
    let mut named = Vec::new();
    for row in table(TESTING, "rule", "model") {
        let rule = row[0].clone();
        assert!(falls(&rule, &row[1]), "the model's page says otherwise: {row:?}");
        for mutant in code(&row[2]) {
            assert!(mutants.get(&mutant).is_some_and(|case| cases.contains(case)), "{row:?}");
        }
        for test in code(&row[3]) {
            assert!(stories.contains(&test) || cases.contains(&test), "no {test}: {row:?}");
        }
        let found = !code(&row[2]).is_empty() || !code(&row[3]).is_empty() || is_seed(&row[4]);
        let open = open.contains(&rule);
        assert_ne!(found, open, "either it is found, or the page says that it is open: {row:?}");
        named.push(rule);
    }
    assert_eq!(named.iter().cloned().collect::<BTreeSet<_>>(), all_rules());
    assert_eq!(named.len(), all_rules().len(), "each rule once");
}

fn is_seed(cell: &str) -> bool {
    cell.split(' ').any(|word| word.parse::<u64>().is_ok())
}

/// A mutant that says which rule it breaks stands in that rule's row.
#[test]
fn every_mutant_of_a_rule_is_in_its_row() {
    let text = read("conformance/tests/mutants/mutants.rs");
    let rows = table(TESTING, "rule", "model");
    let mut rule = None;
    for line in text.lines().map(str::trim) {
        if let Some(said) = line.strip_prefix("/// R") {
            rule = said.split_once(':').map(|(number, _)| format!("R{number}"));
        } else if let Some((fault, _)) = line.split_once(" => ") {
            if let Some(rule) = rule.take() {
                let row = rows.iter().find(|row| row[0] == rule);
                let row = row.unwrap_or_else(|| panic!("no row of {rule}"));
                assert!(code(&row[2]).contains(&fault.to_owned()), "{rule} lacks {fault}");
            }
        } else {
            rule = None;
        }
    }
}
