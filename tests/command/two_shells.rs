//! Two shells run the same job.

use std::time::Instant;

use nix::sys::signal::Signal;

use crate::scene::{SECOND, Scene, stands_still, text, ticking, until};

/// One works, the other waits and tells for whom; then it is its turn.
#[test]
fn one_waits_and_tells_for_whom() {
    let scene = Scene::new();
    let gate = scene.path("gate");
    let script = format!("until [ -e {} ]; do sleep .02; done", gate.display());
    let mut first =
        scene.shell("first", &["run", "--label", "alpha", "job", "--", "sh", "-c", &script]);
    scene.wait_for_state("job", "exclusive");
    let epoch = scene.epoch("job");

    let mut second = scene.shell("second", &["run", "--label", "beta", "job", "--", "true"]);
    second.wait_until_told("waiting for `job`");
    assert!(second.told().contains("alpha") && !second.told().contains("beta"));

    std::fs::write(gate, "").unwrap();
    assert_eq!(first.exit_within(SECOND * 5), Some(0));
    assert_eq!(second.exit_within(SECOND * 5), Some(0));
    assert!(scene.epoch("job") > epoch);
}

/// A command that asks again for what it runs under would wait for itself: that is told at once. A
/// writer may be beside itself, and one that goes on by itself may wait.
#[test]
fn nobody_waits_for_itself() {
    let scene = Scene::new();
    for (outer, inner) in [("--exclusive", "run"), ("--writer", "run"), ("--exclusive", "acquire")]
    {
        let end = if inner == "run" { "-- true" } else { "" };
        let script = format!("lease {inner} --conflict-exit-code 3 job {end}");
        let mut nested = scene.script("exec lease run \"$@\"");
        nested.args(["sh", outer, "job", "--", "sh", "-c", &script]);
        let mut nested = scene.shell_of("nested", nested);
        assert_eq!(nested.exit_within(SECOND * 10), Some(3), "{}", nested.told());
        assert!(nested.told().contains("that this runs under"), "{}", nested.told());
        assert_eq!(scene.state("job"), "free");
    }
    let beside = "lease run --writer job -- true && lease run other -- true";
    let beside = format!("lease run --writer job -- sh -c '{beside}'");
    let beside = scene.script(&beside).output().unwrap();
    assert_eq!(beside.status.code(), Some(0), "{}", text(&beside.stderr));

    let done = scene.path("done");
    let later = format!("env -u LEASE_ID lease run job -- touch {} &", done.display());
    let first = scene.script(&format!("lease run job -- sh -c '{later}'")).output().unwrap();
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    assert!(until(SECOND * 10, || done.exists()));
}

/// The first is killed with -9. Its command is ended, and the second gets the job within the ttl and
/// a second, with a higher epoch, and not before the command of the first has ended. (Case 29.)
#[test]
fn the_second_takes_over_from_one_that_was_killed() {
    let scene = Scene::new();
    let (log, started) = (scene.path("first.log"), scene.path("started"));
    let first =
        scene.shell("first", &["run", "--ttl", "3s", "job", "--", "sh", "-c", &ticking(&log)]);
    scene.lines("first.log", 3);
    let epoch = scene.epoch("job");
    let script = format!("date +%s%N >{}; sleep 60", started.display());
    let _second = scene.shell("second", &["run", "--ttl", "3s", "job", "--", "sh", "-c", &script]);

    let killed = Instant::now();
    first.signal(Signal::SIGKILL);

    assert!(until(SECOND * 8, || started.exists()), "the second never started");
    assert!(killed.elapsed() < SECOND * 4, "{:?}", killed.elapsed());
    assert!(scene.epoch("job") > epoch);
    assert!(stands_still(&log));
    let (last, taken) = (scene.lines("first.log", 1), scene.lines("started", 1));
    assert!(last.last().unwrap() < &taken[0], "the first still worked when the second began");
}

/// The first is stopped for longer than its ttl. Its command is ended all the same, the second takes
/// over, and when the first goes on it says that it lost the lease, and harms nobody. (Case 7.)
#[test]
fn the_second_takes_over_from_one_that_was_stopped() {
    let scene = Scene::new();
    let (log, started) = (scene.path("first.log"), scene.path("started"));
    let mut first =
        scene.shell("first", &["run", "--ttl", "2s", "job", "--", "sh", "-c", &ticking(&log)]);
    scene.lines("first.log", 3);
    let script = format!("date +%s%N >{}; sleep 60", started.display());
    let _second = scene.shell("second", &["run", "--ttl", "2s", "job", "--", "sh", "-c", &script]);

    first.signal(Signal::SIGSTOP);
    assert!(until(SECOND * 8, || started.exists()), "the second never started");
    let (last, taken) = (scene.lines("first.log", 1), scene.lines("started", 1));
    assert!(last.last().unwrap() < &taken[0], "the first still worked when the second began");
    let epoch = scene.epoch("job");

    first.signal(Signal::SIGCONT);
    assert_eq!(first.exit_within(SECOND * 5), Some(79), "{}", first.told());
    assert!(first.told().contains("was lost"), "{}", first.told());
    assert!(stands_still(&log));
    assert_eq!((scene.state("job").as_str(), scene.epoch("job")), ("exclusive", epoch));
}
