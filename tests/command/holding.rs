//! How long a lease is held, and what becomes of the command when it is lost.

use std::time::Instant;

use nix::sys::signal::Signal;

use crate::scene::{SECOND, Scene, stands_still, text, ticking, until};

/// The job is done in no time, and its name is kept all the same: no second machine runs it again.
#[test]
fn a_quick_job_keeps_its_name_for_its_min_hold() {
    let scene = Scene::new();
    let begun = Instant::now();
    let args = ["run", "--min-hold", "3s", "job", "--", "true"];
    let mut job = scene.shell("job", &args);
    scene.wait_for_state("job", "exclusive");
    let refused = scene.output(&["run", "--no-wait", "job", "--", "true"]);
    assert_eq!(refused.status.code(), Some(75));
    assert_eq!(job.exit_within(SECOND * 8), Some(0), "{}", job.told());
    assert!(begun.elapsed() >= SECOND * 3);
    assert_eq!(scene.state("job"), "free");
}

/// Whoever stops it meanwhile does not wait for the rest, and the command's own code counts.
#[test]
fn a_signal_ends_the_min_hold() {
    let scene = Scene::new();
    let done = scene.path("done");
    let script = format!("touch {}; exit 3", done.display());
    let mut job =
        scene.shell("job", &["run", "--min-hold", "1h", "job", "--", "sh", "-c", &script]);
    assert!(until(SECOND * 10, || done.exists() && job.children() == 0), "it is over");
    assert!(!job.has_ended());
    job.signal(Signal::SIGTERM);
    assert_eq!(job.exit_within(SECOND * 5), Some(3), "{}", job.told());
    assert_eq!(scene.state("job"), "free");
}

/// A job that hangs does not block the name for ever: its whole group is ended in time, though it does
/// not listen, and the name is free.
#[test]
fn a_job_that_hangs_ends_with_its_max_hold() {
    let scene = Scene::new();
    let log = scene.path("log");
    let script = format!("trap '' TERM; (trap '' TERM; {}) ; true", ticking(&log));
    let begun = Instant::now();
    let args = ["run", "--max-hold", "3s", "--kill-grace", "1s", "job", "--", "sh", "-c", &script];
    let mut job = scene.shell("job", &args);
    scene.lines("log", 1);
    assert_eq!(job.exit_within(SECOND * 10), Some(79), "{}", job.told());
    assert!(begun.elapsed() >= SECOND * 3);
    assert!(job.told().contains("--max-hold"), "{}", job.told());
    assert!(stands_still(&log));
    assert_eq!(scene.state("job"), "free");
}

/// With `--on-lost term` the command is asked to end and never killed; with `keep` it is not even
/// asked. Either way the code tells of the loss, and the message who has broken the lease.
#[test]
fn a_command_may_outlive_its_lease_where_that_is_asked_for() {
    let scene = Scene::new();
    for (on_lost, asked) in [("term", true), ("keep", false)] {
        let (begun, end, heard) =
            (scene.path(&format!("{on_lost}.begun")), scene.path("end"), scene.path(on_lost));
        let script = format!(
            "trap 'touch {heard}' TERM; touch {begun}; until test -e {end}; do sleep 0.1; done",
            heard = heard.display(),
            begun = begun.display(),
            end = end.display(),
        );
        let args = ["run", "--ttl", "2s", "--on-lost", on_lost, "job", "--", "sh", "-c", &script];
        let mut job = scene.shell(on_lost, &args);
        assert!(until(SECOND * 10, || begun.exists()));
        let broken = scene.output(&["break", "job", "--force", "--why", "to see"]);
        assert!(broken.status.success(), "{}", text(&broken.stderr));
        assert!(until(SECOND * 5, || job.told().contains("was lost")), "{}", job.told());
        // Well after it would have been killed.
        assert!(!until(SECOND * 3, || job.has_ended()), "it must run on: {}", job.told());
        assert_eq!(heard.exists(), asked);
        std::fs::write(&end, "").unwrap();
        assert_eq!(job.exit_within(SECOND * 5), Some(79), "{}", job.told());
        assert!(job.told().contains(": to see"), "by whom it was broken: {}", job.told());
        std::fs::remove_file(&end).unwrap();
    }
}

/// A command that was told to end does not keep its name for its min-hold.
#[test]
fn a_run_that_is_stopped_keeps_nothing() {
    let scene = Scene::new();
    let mut job = scene.shell("job", &["run", "--min-hold", "1h", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "exclusive");
    assert!(until(SECOND * 10, || job.children() == 2), "the command and its watchdog");
    job.signal(Signal::SIGTERM);
    assert_eq!(job.exit_within(SECOND * 5), Some(143), "{}", job.told());
    assert_eq!(scene.state("job"), "free");
}

/// One that outlives its lease still ends with its max-hold, and is told of each once; and what it
/// leaves running is ended as always.
#[test]
fn a_command_that_outlives_its_lease_ends_with_its_max_hold() {
    let scene = Scene::new();
    let (begun, log) = (scene.path("begun"), scene.path("log"));
    let script =
        format!("trap '' TERM; touch {}; ({}) & wait; wait", begun.display(), ticking(&log));
    let args = [
        "run",
        "--ttl",
        "2s",
        "--on-lost",
        "keep",
        "--max-hold",
        "6s",
        "--kill-grace",
        "1s",
        "job",
        "--",
        "sh",
        "-c",
        &script,
    ];
    let mut job = scene.shell("job", &args);
    assert!(until(SECOND * 10, || begun.exists()));
    assert!(scene.output(&["break", "job", "--force"]).status.success());
    assert_eq!(job.exit_within(SECOND * 12), Some(79), "{}", job.told());
    let told = job.told();
    assert_eq!(told.matches("was lost").count(), 1, "{told}");
    assert_eq!(told.matches("by --max-hold").count(), 1, "{told}");
    assert!(told.contains("was held for --max-hold"), "{told}");
    assert!(stands_still(&log));
}

/// After a takeover the command starts when the grace is over; and a Ctrl-C ends that wait.
#[test]
fn a_command_starts_after_the_grace() {
    let scene = Scene::new();
    let mut dead = scene.shell("dead", &["run", "--ttl", "1s", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "exclusive");
    dead.signal(Signal::SIGKILL);
    dead.exit_within(SECOND * 5);
    let begun = Instant::now();
    let heir = scene.output(&["run", "--grace", "2s", "job", "--", "true"]);
    assert_eq!(heir.status.code(), Some(0), "{}", text(&heir.stderr));
    assert!(begun.elapsed() >= SECOND * 2);

    let mut dead = scene.shell("dead", &["run", "--ttl", "1s", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "exclusive");
    dead.signal(Signal::SIGKILL);
    dead.exit_within(SECOND * 5);
    let mut heir = scene.shell("heir", &["run", "--grace", "1h", "job", "--", "touch", "never"]);
    assert!(until(SECOND * 10, || {
        let status = scene.status("job");
        status["holders"][0]["ttl_ms"] == 15_000
    }));
    heir.signal(Signal::SIGINT);
    assert_eq!(heir.exit_within(SECOND * 5), Some(130), "{}", heir.told());
    assert_eq!(scene.state("job"), "free");
}

/// Durations that contradict each other are refused before anything is asked for.
#[test]
fn contradictions_are_refused() {
    let scene = Scene::new();
    let wrong: [&[&str]; 2] = [
        &["--max-hold", "1s", "--kill-grace", "2s"],
        &["--min-hold", "5s", "--max-hold", "4s", "--kill-grace", "1s"],
    ];
    for options in wrong {
        let args = [&["run"], options, &["job", "--", "true"]].concat();
        let told = scene.output(&args);
        assert_eq!(told.status.code(), Some(64), "{options:?}");
        assert_eq!(text(&told.stderr).lines().count(), 1, "{}", text(&told.stderr));
        assert!(!scene.path("leases").exists());
    }
}
