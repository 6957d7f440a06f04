//! Runs the suite and says what came out, in lines for people.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use crate::rules::Rule;
use crate::run::{Finding, Run, Verdict};

/// How many steps a run may look at. The largest of CI's is a small part of it.
const STEPS: usize = 2_000_000_000;

/// What came out of all runs.
#[derive(Debug, Default)]
pub struct Tally {
    /// For each rule, whether every run without it was caught.
    rules: BTreeMap<Rule, bool>,
    /// The properties of each form that were looked at, and those that fell.
    properties: BTreeSet<(&'static str, &'static str)>,
    fallen: BTreeSet<(&'static str, &'static str)>,
    /// Runs that did not end as expected: not searched to the end, or fallen without a rule that
    /// is a second guard.
    unexpected: usize,
    states: usize,
}

impl Tally {
    /// Whether the protocol holds and every rule is needed.
    #[must_use]
    pub fn is_as_it_should_be(&self) -> bool {
        self.fallen.is_empty() && self.unexpected == 0 && self.rules.values().all(|caught| *caught)
    }

    /// Runs the correct protocol.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written to.
    pub fn correct(&mut self, runs: &[Run], out: &mut impl Write) -> io::Result<()> {
        for run in runs {
            let verdict = run.verdict(STEPS);
            let form = run.form();
            self.states += verdict.states;
            self.properties.extend(run.properties().into_iter().map(|property| (form, property)));
            let Verdict { finding, states, complete } = verdict;
            match finding {
                None if complete => {
                    writeln!(out, "{form}: {}: holds, {states} states", run.name())?;
                }
                None => {
                    self.unexpected += 1;
                    writeln!(out, "{form}: {}: not finished, {states} states", run.name())?;
                }
                Some(finding) => {
                    self.fallen.insert((form, finding.property));
                    let steps = finding.way.len() + finding.circle.len();
                    writeln!(out, "{form}: {}: FALLS in {steps} steps", run.name())?;
                    tell(&finding, out)?;
                }
            }
            out.flush()?;
        }
        Ok(())
    }

    /// Runs the protocol with each rule switched off.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written to.
    pub fn broken(&mut self, runs: &[(Rule, Run)], out: &mut impl Write) -> io::Result<()> {
        for (rule, run) in runs {
            let verdict = run.verdict(STEPS);
            self.states += verdict.states;
            *self.rules.entry(*rule).or_insert(true) &= verdict.finding.is_some();
            writeln!(out, "\n{rule:?} off ({})", rule.text())?;
            write!(out, "{}: {}: {} states, ", run.form(), run.name(), verdict.states)?;
            match &verdict.finding {
                None => writeln!(out, "NOT CAUGHT")?,
                Some(finding) => {
                    let steps = finding.way.len() + finding.circle.len();
                    writeln!(out, "caught in {steps} steps:")?;
                    tell(finding, out)?;
                }
            }
            out.flush()?;
        }
        Ok(())
    }

    /// Runs the protocol without rules that another one makes a second guard: it must hold.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written to.
    pub fn second_guards(&mut self, runs: &[(Rule, Run)], out: &mut impl Write) -> io::Result<()> {
        for (rule, run) in runs {
            let Verdict { finding, states, .. } = run.verdict(STEPS);
            self.states += states;
            let (form, name) = (run.form(), run.name());
            match finding {
                None => {
                    writeln!(out, "{rule:?} off, F3 on: {form}: {name}: holds, {states} states")?
                }
                Some(finding) => {
                    self.unexpected += 1;
                    writeln!(out, "{rule:?} off, F3 on: {form}: {name}: FALLS")?;
                    tell(&finding, out)?;
                }
            }
        }
        Ok(())
    }

    /// The last line.
    #[must_use]
    pub fn sum(&self) -> String {
        let caught = self.rules.values().filter(|caught| **caught).count();
        let hold = self.properties.difference(&self.fallen).count();
        format!(
            "{} rules, {caught} caught, {hold} properties hold, {} states",
            self.rules.len(),
            self.states
        )
    }
}

fn tell(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", wrapped(&finding.way.join("; ")))?;
    if !finding.circle.is_empty() {
        writeln!(out, "{}", wrapped(&format!("and for ever: {}", finding.circle.join("; "))))?;
    }
    writeln!(out, "  falls: {}", finding.property)
}

/// In lines of a hundred columns, indented.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::from(" ")];
    for word in text.split(' ') {
        let line = match lines.last_mut() {
            Some(line) if line.len() + word.len() < 100 => line,
            _ => {
                lines.push(String::from(" "));
                let last = lines.len() - 1;
                &mut lines[last]
            }
        };
        line.push(' ');
        line.push_str(word);
    }
    lines.join("\n")
}
