//! The lease is lost while the command runs. (Case 51.)

use crate::scene::{SECOND, Scene, stands_still, ticking, until};

/// Without a fault it is renewed for as long as the command runs.
#[test]
fn it_is_renewed_while_the_command_runs() {
    let scene = Scene::new();
    let mut job = scene.shell("job", &["run", "--ttl", "1s", "job", "--", "sleep", "4"]);
    scene.wait_for_state("job", "exclusive");
    let refused = scene.output(&["run", "--ttl", "1s", "--wait", "2s", "job", "--", "true"]);
    assert_eq!(refused.status.code(), Some(75));
    assert_eq!(job.exit_within(SECOND * 5), Some(0), "{}", job.told());
}

/// The store goes away. The command and all it has started are ended before the ttl is over, though
/// they do not listen, and whoever finds the store free then begins later.
#[test]
fn the_whole_group_ends_before_the_store_could_grant_another() {
    let scene = Scene::new();
    let log = scene.path("log");
    let script = format!("trap '' TERM; (trap '' TERM; {}) ; true", ticking(&log));
    let args = ["run", "--ttl", "3s", "--kill-grace", "500ms", "job", "--", "sh", "-c", &script];
    let mut job = scene.shell("job", &args);
    scene.lines("log", 5);

    // The folder is moved away: nothing can be renewed any more.
    let (leases, elsewhere) = (scene.path("leases"), scene.path("elsewhere"));
    std::fs::rename(&leases, &elsewhere).unwrap();
    assert_eq!(job.exit_within(SECOND * 5), Some(79), "{}", job.told());
    assert!(job.told().contains("cannot be renewed"), "{}", job.told());
    assert!(stands_still(&log));

    std::fs::rename(&elsewhere, &leases).unwrap();
    let args = ["run", "--wait", "5s", "job", "--", "date", "+%s%N"];
    let next = scene.output(&args);
    let began = crate::scene::text(&next.stdout).trim().to_owned();
    assert!(scene.lines("log", 1).last().unwrap() < &began);
}

/// An operator takes it away: the command is ended at the next renewal.
#[test]
fn a_broken_lease_ends_the_command() {
    let scene = Scene::new();
    let log = scene.path("log");
    let mut job =
        scene.shell("job", &["run", "--ttl", "3s", "job", "--", "sh", "-c", &ticking(&log)]);
    scene.lines("log", 2);

    let broken = scene.output(&["break", "job", "--force", "--why", "a test"]);
    assert!(broken.status.success(), "{}", crate::scene::text(&broken.stderr));

    assert_eq!(job.exit_within(SECOND * 4), Some(79), "{}", job.told());
    assert!(until(SECOND, || stands_still(&log)));
}

/// A command whose lease was taken away has a moment to clean up.
#[test]
fn a_broken_lease_leaves_time_to_clean_up() {
    let scene = Scene::new();
    let (ready, clean) = (scene.path("ready"), scene.path("clean"));
    let script = format!(
        "trap ': >{}; exit 0' TERM; touch {}; while :; do sleep .02; done",
        clean.display(),
        ready.display()
    );
    let mut job = scene.shell("job", &["run", "--ttl", "3s", "job", "--", "sh", "-c", &script]);
    assert!(until(SECOND * 10, || ready.exists()));

    assert!(scene.output(&["break", "job", "--force"]).status.success());

    assert_eq!(job.exit_within(SECOND * 4), Some(79), "{}", job.told());
    assert!(clean.exists(), "{}", job.told());
}

/// It was taken away and the command has ended before any renewal could tell: its work may have come
/// too late all the same.
#[test]
fn a_command_that_ends_after_its_lease_is_told_so() {
    let scene = Scene::new();
    let gate = scene.path("gate");
    let script = format!("until [ -e {} ]; do sleep .02; done", gate.display());
    let mut job = scene.shell("job", &["run", "--ttl", "60s", "job", "--", "sh", "-c", &script]);
    scene.wait_for_state("job", "exclusive");
    assert!(scene.output(&["break", "job", "--force"]).status.success());

    std::fs::write(gate, "").unwrap();

    assert_eq!(job.exit_within(SECOND * 5), Some(79), "{}", job.told());
    assert!(job.told().contains("had been lost when the command ended"), "{}", job.told());
}

/// The store goes away for longer than between two renewals and comes back in time: nothing has
/// happened.
#[test]
fn a_doubt_that_passes_ends_nothing() {
    let scene = Scene::new();
    let (log, gate) = (scene.path("log"), scene.path("gate"));
    let script = format!(
        "until [ -e {} ]; do date >>{}; sleep .1; done; exit 5",
        gate.display(),
        log.display()
    );
    let args = ["run", "--ttl", "3s", "--kill-grace", "100ms", "job", "--", "sh", "-c", &script];
    let mut job = scene.shell("job", &args);
    let ticks = scene.lines("log", 3).len();

    let (leases, elsewhere) = (scene.path("leases"), scene.path("elsewhere"));
    std::fs::rename(&leases, &elsewhere).unwrap();
    scene.lines("log", ticks + 12);
    std::fs::rename(&elsewhere, &leases).unwrap();
    // For longer than it could have been believed in without the store.
    scene.lines("log", ticks + 45);
    std::fs::write(gate, "").unwrap();

    assert_eq!(job.exit_within(SECOND * 5), Some(5), "{}", job.told());
    assert_eq!(job.told(), "");
}

/// The store goes away for good: the command is ended, and nobody is told of a renewal that got
/// through.
#[test]
fn a_doubt_that_stays_is_told_as_one() {
    let scene = Scene::new();
    let job = ["run", "--ttl", "2s", "job", "--", "sleep", "60"];
    let mut job = scene.shell("job", &job);
    scene.wait_for_state("job", "exclusive");

    std::fs::rename(scene.path("leases"), scene.path("elsewhere")).unwrap();

    assert_eq!(job.exit_within(SECOND * 5), Some(79), "{}", job.told());
    assert!(job.told().contains("could not be renewed: the command was ended"), "{}", job.told());
    assert!(!job.told().contains("got through"), "{}", job.told());
}

/// The store comes back when the command has been asked to end: it was ended, and was not lost.
#[test]
fn a_doubt_that_passes_too_late_is_told_as_what_it_was() {
    let scene = Scene::new();
    let (log, leases, elsewhere) =
        (scene.path("log"), scene.path("leases"), scene.path("elsewhere"));
    let script = format!(
        "trap 'mv {} {}; sleep 1; exit 0' TERM; {}",
        elsewhere.display(),
        leases.display(),
        ticking(&log)
    );
    let args = ["run", "--ttl", "4s", "--kill-grace", "2s", "job", "--", "sh", "-c", &script];
    let mut job = scene.shell("job", &args);
    scene.lines("log", 3);

    std::fs::rename(&leases, &elsewhere).unwrap();

    assert_eq!(job.exit_within(SECOND * 6), Some(79), "{}", job.told());
    assert!(job.told().contains("a renewal that got through after that"), "{}", job.told());
    assert!(!job.told().contains("was lost"), "{}", job.told());
    assert_eq!(scene.state("job"), "free");
}
