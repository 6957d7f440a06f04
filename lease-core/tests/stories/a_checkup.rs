//! A store is looked over before anybody relies on it.

use std::sync::Arc;
use std::time::Duration;

use lease_core::checkup::{Checkup, Finding, Verdict, scratch_name, try_out};
use lease_core::clock::PausedClock;
use lease_core::layer::{Fault, Faulty, Method};
use lease_core::memory::Memory;
use lease_core::{Backend, Clock, Snapshot};

/// The reference gives all that leases need, and nobody holds anything when the checkup is over.
#[tokio::test(start_paused = true)]
async fn finds_nothing_wrong_with_the_reference() {
    let clock: Arc<dyn Clock> = Arc::new(PausedClock::start());
    let store = Memory::with_clock(Arc::clone(&clock));
    let name = scratch_name().unwrap();
    let checkup = Checkup::new("memory", try_out([&store, &store.clone()], &clock, &name).await);

    assert_eq!(checkup.verdict(), Verdict::Sound, "{checkup:#?}");
    let made: Vec<_> = checkup.checks().iter().map(|check| check.name).collect();
    let all = [
        "one-holder",
        "late-claims",
        "seen-at-once",
        "round-trip",
        "waiters",
        "stale-renewal",
        "epochs-rise",
        "writers-first",
    ];
    assert_eq!(made, all);
    let left = store.observe(&name).await.unwrap();
    assert!(Snapshot::is_free(&left), "{left:?}");
}

/// Two clients that do not share a store are what two members are that cannot see each other.
#[tokio::test(start_paused = true)]
async fn finds_two_stores_that_pass_for_one() {
    let clock: Arc<dyn Clock> = Arc::new(PausedClock::start());
    let name = scratch_name().unwrap();
    let one = || Memory::with_clock(Arc::clone(&clock));
    let (ours, theirs) = (one(), one());
    let stores: [&dyn Backend; 2] = [&ours, &theirs];
    let checkup = Checkup::new("memory", try_out(stores, &clock, &name).await);

    assert_eq!(checkup.verdict(), Verdict::Broken, "{checkup:#?}");
    assert_eq!(checkup.checks().len(), 1, "what rests on it is not tried: {checkup:#?}");
    assert_eq!(checkup.checks()[0].name, "one-holder");
    for store in stores {
        assert!(store.observe(&name).await.unwrap().is_free());
    }
}

/// A store whose answers to renewals come late leaves little time to try again.
#[tokio::test(start_paused = true)]
async fn finds_a_store_that_answers_late() {
    let clock: Arc<dyn Clock> = Arc::new(PausedClock::start());
    let store = Faulty::new(Arc::new(Memory::with_clock(Arc::clone(&clock))));
    store.always(Method::Renew, Fault::late_answer(Arc::clone(&clock), Duration::from_secs(1)));
    let name = scratch_name().unwrap();
    let checkup = Checkup::new("memory", try_out([&store, &store.clone()], &clock, &name).await);

    assert_eq!(flaws(&checkup), ["round-trip"], "{checkup:#?}");
    assert_eq!(checkup.verdict(), Verdict::Doubtful);
}

/// All that is not found to hold.
fn flaws(checkup: &Checkup) -> Vec<&str> {
    let checks = checkup.checks().iter();
    let flaws = checks.filter(|check| !matches!(check.finding, Finding::Holds { .. }));
    flaws.map(|check| check.name).collect()
}
