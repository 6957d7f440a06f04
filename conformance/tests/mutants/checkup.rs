//! What a checkup of a live store tries finds the mutants that break it, and no fault in a lawful one.

use std::sync::Arc;

use lease_conformance::Fixture;
use lease_core::Clock;
use lease_core::checkup::{Checkup, Verdict, scratch_name, try_out};
use lease_core::clock::PausedClock;
use rstest::rstest;

use crate::fixture::Bench;
use crate::mutants::{Fault, MUTANTS};
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

/// These break what every store must do in plain sight. The others take a crash, an outage or a ttl to
/// show, which nobody makes on a live store.
const IN_PLAIN_SIGHT: &[Fault] =
    &[Fault::InstallsOverAnybody, Fault::ExclusivesDoNotDrain, Fault::EpochIsLostOnRelease];

#[test]
fn it_finds_what_is_broken_in_plain_sight() {
    let found = |fault: &&(Fault, &str)| {
        examined(Some(fault.0), Manner::Plain).verdict() == Verdict::Broken
    };
    let found: Vec<_> = MUTANTS.iter().filter(found).map(|(fault, _)| *fault).collect();
    let missed: Vec<_> = IN_PLAIN_SIGHT.iter().filter(|fault| !found.contains(fault)).collect();
    assert!(missed.is_empty(), "it misses {missed:?}, and finds {found:?}");
}

#[rstest]
fn it_finds_nothing_wrong_with_a_lawful_store(
    #[values(Manner::Plain, Manner::Condemns, Manner::Observes, Manner::Strict, Manner::Modest)]
    manner: Manner,
) {
    let checkup = examined(None, manner);
    assert_eq!(checkup.verdict(), Verdict::Sound, "{manner:?}: {checkup:#?}");
}
