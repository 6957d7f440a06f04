//! What a checkup of a live store tries finds the mutants that break it, and no fault in a lawful one.

use std::sync::Arc;

use lease_conformance::Fixture;
use lease_core::Clock;
use lease_core::checkup::{Check, Checkup, Verdict, scratch_name, try_out};
use lease_core::clock::PausedClock;
use rstest::rstest;

use crate::fixture::Bench;
use crate::mutants::Fault;
use crate::toy::Manner;

/// Looks a toy store over, by two clients of it.
fn examined(fault: Option<Fault>, manner: Manner) -> Checkup {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let bench = Bench::with(fault, manner);
        let (ours, theirs) = (bench.connect().await, bench.connect().await);
        let clock: Arc<dyn Clock> = Arc::new(PausedClock::start());
        let name = scratch_name().unwrap();
        Checkup::new("toy", try_out([&*ours, &*theirs], &clock, &name).await)
    })
}

/// These break what every store must do in plain sight, and the check that asks for it tells. The others
/// take a crash, an outage or a ttl to show, which nobody makes on a live store.
const IN_PLAIN_SIGHT: &[(Fault, &str, Verdict)] = &[
    (Fault::InstallsOverAnybody, "late-claims", Verdict::Broken),
    (Fault::LabelsAreIdentity, "late-claims", Verdict::Broken),
    (Fault::OthersReadACopy, "seen-at-once", Verdict::Broken),
    (Fault::WatchingIsRefused, "waiters", Verdict::Doubtful),
    (Fault::WatchesNeverWake, "waiters", Verdict::Doubtful),
    (Fault::LateRenewalsRevive, "stale-renewal", Verdict::Broken),
    (Fault::RenewalsTakeBack, "stale-renewal", Verdict::Broken),
    (Fault::ABreakDoesNotFence, "stale-renewal", Verdict::Broken),
    (Fault::EpochIsLostOnRelease, "epochs-rise", Verdict::Broken),
    (Fault::EachClientCountsEpochs, "epochs-rise", Verdict::Broken),
    (Fault::ExclusivesDoNotDrain, "writers-first", Verdict::Broken),
];

/// No mutant is two stores that pass for one, or slow: stories of the core are.
const TOLD_ELSEWHERE: [&str; 2] = ["one-holder", "round-trip"];

/// The first check that does not hold: what comes after it may fail for the same reason.
fn told(checkup: &Checkup) -> Option<(&'static str, Verdict)> {
    let of = |check: &Check| (check.name, check.finding.verdict());
    checkup.checks().iter().map(of).find(|(_, verdict)| *verdict != Verdict::Sound)
}

#[test]
fn it_finds_what_is_broken_in_plain_sight_and_says_what() {
    let missed = IN_PLAIN_SIGHT.iter().filter_map(|(fault, check, verdict)| {
        let told = told(&examined(Some(*fault), Manner::Plain));
        (told != Some((*check, *verdict))).then(|| format!("{fault:?} is told as {told:?}"))
    });
    let missed: Vec<_> = missed.collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

/// No check is there for nothing: each fails for some store.
#[test]
fn every_check_finds_something() {
    let sound = examined(None, Manner::Plain);
    let all = sound.checks().iter().map(|check| check.name);
    let told = |name: &&str| IN_PLAIN_SIGHT.iter().any(|(_, check, _)| check == name);
    let idle: Vec<_> = all.filter(|name| !told(name)).collect();
    assert_eq!(idle, TOLD_ELSEWHERE);
}

#[rstest]
fn it_finds_nothing_wrong_with_a_lawful_store(
    #[values(Manner::Plain, Manner::Condemns, Manner::Observes, Manner::Strict, Manner::Modest)]
    manner: Manner,
) {
    let checkup = examined(None, manner);
    assert_eq!(checkup.verdict(), Verdict::Sound, "{manner:?}: {checkup:#?}");
}
