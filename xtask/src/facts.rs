//! Forgets one fact about a server after the other, in a copy of the code, and runs the test that
//! must notice: what the servers really do is no part of the protocol, so no rule's switch finds it.

mod of_buckets;
mod of_mongo;
mod of_nats;

use crate::rules::copy::Copy;
use crate::rules::edits::Edit;
use crate::step::{Failure, heading};

/// What a server does that the code must know, and what the code looks like that does not.
#[derive(Debug)]
pub(crate) struct Fact {
    /// `M` for MongoDB, `N` for NATS, `B` for buckets and folders, with a number.
    pub(crate) id: &'static str,
    pub(crate) edits: &'static [Edit],
    /// The test that notices: its package, its target as cargo wants it, and its whole name there.
    pub(crate) package: &'static str,
    pub(crate) target: &'static [&'static str],
    pub(crate) test: &'static str,
}

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Fact> {
    of_mongo::FACTS.iter().chain(of_nats::FACTS).chain(of_buckets::FACTS)
}

/// All facts, or one: a line each, and the sum.
pub(crate) fn forget(only: Option<&str>) -> Result<(), Failure> {
    let copy = Copy::make()?;
    let facts: Vec<_> = all().filter(|fact| only.is_none_or(|id| id == fact.id)).collect();
    if facts.is_empty() {
        return Err(Failure::Rule("there is no such fact: docs/TESTING.md has them".to_owned()));
    }
    heading("nothing forgotten");
    // What fails anyway notices nothing.
    for fact in &facts {
        if !passes(&copy, fact)? {
            return Err(Failure::Rule(format!("{} fails as it is", fact.test)));
        }
    }
    let mut missed = 0;
    for fact in &facts {
        heading(&format!("{} forgotten", fact.id));
        let before = copy.apply(fact.id, fact.edits)?;
        let passes = passes(&copy, fact);
        Copy::restore(before)?;
        let noticed = !passes?;
        missed += usize::from(noticed);
        let how = if noticed { "noticed by" } else { "NOT by" };
        println!("{}: {how} {} of {}", fact.id, fact.test, fact.package);
    }
    println!("\n{} facts, {missed} missed when they are forgotten", facts.len());
    let all = facts.len() == missed;
    if all { Ok(()) } else { Err(Failure::Rule("a fact was not missed".to_owned())) }
}

/// Whether the test of a fact passes in the copy as it stands.
fn passes(copy: &Copy, fact: &Fact) -> Result<bool, Failure> {
    // Of the whole workspace, so that each driver is built with the same features for all of them.
    let test = [&["test", "--workspace", "--all-features"], fact.target].concat();
    copy.build(&[&test[..], &["--no-run"]].concat())?;
    let only = ["--no-fail-fast", "--", "--exact", fact.test];
    let printed = copy.printed_by(&[&test[..], &only].concat())?;
    // Another package may have a test of the same name, which passes whatever is forgotten here.
    let count = |text: &str| printed.lines().filter(|line| *line == text).count();
    let (told, passed) = (count("running 1 test"), count(&format!("test {} ... ok", fact.test)));
    if told == 0 {
        return Err(Failure::Rule(format!("{} is not there", fact.test)));
    }
    Ok(told == passed)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::rules::edits::find_their_places;
    use crate::step::workspace;

    #[test]
    fn every_fact_finds_its_place() {
        for fact in all() {
            find_their_places(fact.id, fact.edits);
        }
    }

    /// Under its target, or among the suite's cases. What comes after its name tells which values it has.
    #[test]
    fn every_test_is_there() {
        for fact in all() {
            let package = workspace().join(fact.package);
            let texts = match fact.target {
                ["--test", target] => {
                    let tests = package.join("tests");
                    let mut texts = texts_in(&tests.join(target));
                    texts.extend(fs::read_to_string(tests.join(format!("{target}.rs"))));
                    texts.extend(texts_in(&workspace().join("conformance/src/cases")));
                    texts
                }
                _ => texts_in(&package.join("src")),
            };
            let is_there = |part: &str| {
                let signature = format!("fn {part}(");
                texts.iter().any(|text| text.contains(&signature))
            };
            assert!(fact.test.split("::").any(is_there), "{}: {}", fact.id, fact.test);
        }
    }

    fn texts_in(folder: &Path) -> Vec<String> {
        let mut texts = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => texts.extend(texts_in(&path)),
                false => texts.extend(fs::read_to_string(path)),
            }
        }
        texts
    }

    #[test]
    fn each_is_told_on_the_page() {
        let page = fs::read_to_string(workspace().join("docs/TESTING.md")).unwrap_or_default();
        let rows: BTreeSet<_> = page
            .lines()
            .filter_map(|line| {
                let (id, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
                let test = rest.trim_end_matches([' ', '|']).rsplit(" | ").next()?;
                Some((id.to_owned(), test.trim_matches('`').to_owned()))
            })
            .collect();
        for fact in all() {
            let row = (fact.id.to_owned(), fact.test.to_owned());
            assert!(rows.contains(&row), "{} is not told as {row:?}", fact.id);
        }
    }
}
