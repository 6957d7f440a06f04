//! The suite is itself tested: by stores that are broken on purpose, each in one way, and by stores
//! that differ from the reference in what is allowed.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod checkup;
mod fixture;
mod mutants;
mod toy;

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::sync::Once;

use futures::FutureExt;
use lease_conformance::{CASES, Case, Fixture};
use mutants::{Fault, MUTANTS};
use rstest::rstest;
use toy::Manner;

use crate::fixture::Bench;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Whether a mutant survives a case. One dies by a panic; hundreds of them would hide the one that
/// is worth reading.
fn survives(case: &Case, fault: Fault) -> bool {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                loud(panic);
            }
        }));
    });
    QUIET.set(true);
    let survives = passes(case, Some(fault), Manner::Plain);
    QUIET.set(false);
    survives
}

/// Tells one case on a fresh toy store; whether it passes.
///
/// One thread and no real time: the same case goes the same way each time.
fn passes(case: &Case, fault: Option<Fault>, manner: Manner) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let bench = Bench::with(fault, manner);
        AssertUnwindSafe(case.run(&bench)).catch_unwind().await.is_ok()
    })
}

/// Every mutant is killed by the case that is named for it, and that case passes on the same store
/// without the fault.
#[test]
#[expect(clippy::print_stdout, reason = "the count is what this test is for")]
fn every_mutant_is_killed() {
    let mut survivors = Vec::new();
    for (fault, name) in MUTANTS {
        let case = Case::find(name).unwrap_or_else(|| panic!("no such case: {name}"));
        if survives(case, *fault) {
            survivors.push(format!("{fault:?} survives {name}"));
        }
        if !passes(case, None, Manner::Plain) {
            survivors.push(format!("{name} fails without {fault:?}"));
        }
    }
    let killed = MUTANTS.len().saturating_sub(survivors.len());
    println!("mutants: {killed}/{} killed", MUTANTS.len());
    assert!(survivors.is_empty(), "{}", survivors.join("\n"));
}

/// No case is there for nothing: each fails for some mutant.
#[test]
fn every_case_kills_a_mutant() {
    let idle: Vec<_> = CASES
        .iter()
        .filter(|case| MUTANTS.iter().all(|(fault, _)| survives(case, *fault)))
        .collect();
    assert!(idle.is_empty(), "these cases fail for no mutant: {idle:#?}");
}

/// The suite asks for no more than the contract: a lawful store passes it, also where it differs
/// from the reference.
#[rstest]
fn a_lawful_store_passes(
    #[values(Manner::Plain, Manner::Condemns, Manner::Observes, Manner::Strict, Manner::Modest)]
    manner: Manner,
) {
    let failed: Vec<_> = CASES.iter().filter(|case| !passes(case, None, manner)).collect();
    assert!(failed.is_empty(), "{manner:?} must pass: {failed:?}");
}

/// A fixture that is not told otherwise waits for real, and long enough for a slow clock.
#[tokio::test]
async fn the_defaults_of_a_fixture_suit_the_store() {
    let bench = Bench::with(None, Manner::Plain);
    let quick = bench.connect().await.capabilities();
    let second = std::time::Duration::from_secs(1);
    assert_eq!(bench.ttl(&quick), second);
    assert_eq!(bench.ttl(&quick.with_clock_resolution(second)), second * 4);
    assert_eq!(bench.ttl(&quick.with_min_ttl(second * 15)), second * 15);
}
