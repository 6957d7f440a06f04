//! `lease doctor`: whether a live store gives what leases need of it.

use std::sync::Arc;
use std::time::Duration;

use comfy_table::{ContentArrangement, Table, presets};
use leasehold::Clock;
use leasehold::checkup::{Check, Checkup, Finding, Verdict};
use leasehold::clock::{SystemClock, within};
use serde::Serialize;

use crate::args::Doctor;
use crate::exit::{Cause, Failure};
use crate::show::plain;
use crate::tell::{print, print_json};

/// How long all checks together may take: each has a timeout of its own.
const PATIENCE: Duration = Duration::from_secs(300);

/// A check, as `--json` shows it. Fields are added in later versions, never renamed.
#[derive(Debug, Serialize)]
struct CheckView<'c> {
    name: &'c str,
    guarantee: &'c str,
    result: &'static str,
    what: &'c str,
    fix: Option<&'c str>,
}

/// A checkup, as `--json` shows it.
#[derive(Debug, Serialize)]
struct CheckupView<'c> {
    backend: &'static str,
    verdict: &'static str,
    checks: Vec<CheckView<'c>>,
}

pub(crate) async fn doctor(doctor: Doctor) -> Result<u8, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let examined = within(&clock, PATIENCE, doctor.on.store.examine()).await;
    let Some(checkup) = examined else {
        let what = "the store did not answer all checks within five minutes";
        return Err(Failure::new(Cause::Unavailable, what));
    };
    let checkup = checkup?;
    if doctor.json {
        print_json(&CheckupView::new(&checkup))?;
    } else {
        print(table(&checkup))?;
        print(advice(&checkup))?;
    }
    Ok(match checkup.verdict() {
        Verdict::Sound => 0,
        Verdict::Doubtful if !doctor.strict => 0,
        Verdict::Unanswered => Cause::Unavailable.code(),
        _ => Cause::Misconfigured.code(),
    })
}

impl<'c> CheckupView<'c> {
    fn new(checkup: &'c Checkup) -> Self {
        let verdict = match checkup.verdict() {
            Verdict::Sound => "sound",
            Verdict::Doubtful => "doubtful",
            Verdict::Unanswered => "unanswered",
            _ => "broken",
        };
        let checks = checkup.checks().iter().map(CheckView::new).collect();
        Self { backend: checkup.backend(), verdict, checks }
    }
}

impl<'c> CheckView<'c> {
    fn new(check: &'c Check) -> Self {
        let (result, what, fix) = match &check.finding {
            Finding::Holds { seen } => ("holds", seen.as_str(), None),
            Finding::Doubtful { what, fix } => ("doubtful", what.as_str(), Some(fix.as_str())),
            Finding::Broken { what, fix } => ("broken", what.as_str(), Some(fix.as_str())),
            Finding::Unanswered { why } => ("unanswered", why.as_str(), None),
            Finding::Unknown { why } => ("unknown", why.as_str(), None),
            _ => ("unknown", "this version of the command cannot show it", None),
        };
        Self { name: check.name, guarantee: check.guarantee, result, what, fix }
    }

    fn is_fine(&self) -> bool {
        self.result == "holds"
    }
}

/// What was checked, a line for each.
fn table(checkup: &Checkup) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["CHECK", "RESULT", "WHAT"]);
    for check in checkup.checks().iter().map(CheckView::new) {
        table.add_row([check.name, check.result, &plain(check.what)]);
    }
    table
}

/// What is not as it should be, and what to change; and what it comes to.
fn advice(checkup: &Checkup) -> String {
    let mut text = String::new();
    for check in checkup.checks().iter().map(CheckView::new).filter(|check| !check.is_fine()) {
        text.push_str(&format!("\n{} is {}: {}\n", check.name, check.result, plain(check.what)));
        if let Some(fix) = check.fix {
            text.push_str(&format!("  to change: {}\n", plain(fix)));
        }
    }
    text.push('\n');
    text.push_str(match checkup.verdict() {
        Verdict::Sound => "this store gives what leases need of it",
        Verdict::Doubtful => "leases are right here as long as what is in doubt does not happen",
        Verdict::Unanswered => "the store did not answer: nobody can tell; try again",
        _ => "do not keep leases here before what is broken is changed",
    });
    text
}
