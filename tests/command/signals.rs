//! One signal of a person is one signal at the command. (Cases 50, 52.)

use std::time::Instant;

use nix::sys::signal::Signal;
use rstest::rstest;

use crate::scene::{SECOND, Scene, until};

/// A script that writes each signal it gets to a file, and ends after the first.
fn counting(file: &std::path::Path, ready: &std::path::Path) -> String {
    let file = file.display();
    format!(
        "trap 'echo INT >>{file}; sleep .3; exit 7' INT; trap 'echo TERM >>{file}; sleep .3; exit 8' \
         TERM; touch {}; while :; do sleep .05; done",
        ready.display()
    )
}

#[rstest]
#[case::interrupt(Signal::SIGINT, "INT\n", 7)]
#[case::terminate(Signal::SIGTERM, "TERM\n", 8)]
fn it_is_passed_on_once(#[case] signal: Signal, #[case] seen: &str, #[case] code: i32) {
    let scene = Scene::new();
    let (got, ready) = (scene.path("got"), scene.path("ready"));
    let script = counting(&got, &ready);
    let mut shell = scene.shell("job", &["run", "job", "--", "sh", "-c", &script]);
    assert!(until(SECOND * 10, || ready.exists()));

    shell.signal(signal);

    assert_eq!(shell.exit_within(SECOND * 5), Some(code));
    assert_eq!(crate::scene::read(&got), seen);
    assert_eq!(scene.state("job"), "free");
}

/// Whoever waits can be stopped at once, leaves nothing behind, and starts nothing.
#[rstest]
#[case::interrupt(Signal::SIGINT, 130)]
#[case::terminate(Signal::SIGTERM, 143)]
fn it_ends_the_wait(#[case] signal: Signal, #[case] code: i32) {
    let scene = Scene::new();
    let _writer = scene.shell("writer", &["run", "--writer", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "writers");
    let never = scene.path("never");
    let mut waits = scene
        .shell("waits", &["run", "--wait", "60s", "job", "--", "touch", never.to_str().unwrap()]);
    scene.wait_for_state("job", "draining");

    let start = Instant::now();
    waits.signal(signal);
    assert_eq!(waits.exit_within(SECOND * 3), Some(code));
    assert!(start.elapsed() < SECOND, "{:?}", start.elapsed());

    assert_eq!(scene.state("job"), "writers");
    let joined = scene.output(&["run", "--writer", "--no-wait", "job", "--", "true"]);
    assert_eq!(joined.status.code(), Some(0));
    assert!(!never.exists());
}

/// The command takes three seconds to stop; the lease, which lives for two, is kept until then.
#[test]
fn the_lease_is_kept_until_the_command_has_stopped() {
    let scene = Scene::new();
    let (ready, over, started) = (scene.path("ready"), scene.path("over"), scene.path("started"));
    let script = format!(
        "trap 'sleep 3; date +%s%N >{}; exit 0' TERM; touch {}; while :; do sleep .05; done",
        over.display(),
        ready.display()
    );
    let mut first = scene.shell("first", &["run", "--ttl", "2s", "job", "--", "sh", "-c", &script]);
    assert!(until(SECOND * 10, || ready.exists()));
    let next = format!("date +%s%N >{}", started.display());
    let mut second = scene.shell("second", &["run", "--ttl", "2s", "job", "--", "sh", "-c", &next]);
    second.wait_until_told("waiting");

    first.signal(Signal::SIGTERM);

    assert_eq!(first.exit_within(SECOND * 8), Some(0), "{}", first.told());
    assert_eq!(second.exit_within(SECOND * 8), Some(0));
    assert!(scene.lines("over", 1)[0] < scene.lines("started", 1)[0]);
}

/// At a terminal, Ctrl-C reaches the command, once, and the command may read the terminal.
#[test]
fn at_a_terminal_it_comes_from_the_terminal() {
    let scene = Scene::new();
    let (got, ready) = (scene.path("got"), scene.path("ready"));
    let line = scene.path("line");
    let script = format!("read line; echo $line >{}; {}", line.display(), counting(&got, &ready));
    let job = scene.path("job.sh");
    std::fs::write(&job, script).unwrap();

    // util-linux's `script` gives the command a terminal of its own, and types what it reads.
    let command = format!("{} run job -- sh {}", env!("CARGO_BIN_EXE_lease"), job.display());
    let mut at_terminal = std::process::Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .env("LEASE_URL", scene.url())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("util-linux's `script` is on this machine");
    let mut keyboard = at_terminal.stdin.take().unwrap();
    std::io::Write::write_all(&mut keyboard, b"hello\n").unwrap();
    assert!(until(SECOND * 10, || ready.exists()), "the command could not read the terminal");
    assert_eq!(crate::scene::read(&line), "hello\n");

    std::io::Write::write_all(&mut keyboard, &[3]).unwrap();

    let mut status = None;
    assert!(until(SECOND * 10, || {
        status = at_terminal.try_wait().unwrap();
        status.is_some()
    }));
    assert_eq!(status.unwrap().code(), Some(7));
    assert_eq!(crate::scene::read(&got), "INT\n");
    assert_eq!(scene.state("job"), "free");
}

/// What the command has started still cleans up after the command itself has ended: the lease is kept
/// until then.
#[test]
fn the_lease_is_kept_until_the_last_of_the_group_has_stopped() {
    let scene = Scene::new();
    let (ready, over) = (scene.path("ready"), scene.path("over"));
    let script = format!(
        "(trap 'sleep 1; date +%s%N >{}; exit' TERM; touch {}; while :; do sleep .02; done) & \
         trap 'exit 4' TERM; wait",
        over.display(),
        ready.display()
    );
    let mut first = scene.shell("first", &["run", "job", "--", "sh", "-c", &script]);
    assert!(until(SECOND * 10, || ready.exists()));
    let next = format!("date +%s%N >{}", scene.path("started").display());
    let mut second = scene.shell("second", &["run", "job", "--", "sh", "-c", &next]);
    second.wait_until_told("waiting");

    first.signal(Signal::SIGTERM);

    assert_eq!(first.exit_within(SECOND * 5), Some(4), "{}", first.told());
    assert_eq!(second.exit_within(SECOND * 5), Some(0));
    assert!(scene.lines("over", 1)[0] < scene.lines("started", 1)[0]);
}

/// What does not stop within the grace is killed, and then the name is free.
#[rstest]
#[case::it_was_asked_to_end("trap 'exit 4' TERM; wait", Signal::SIGTERM, 4)]
#[case::it_died_of_it("wait", Signal::SIGINT, 130)]
fn what_is_left_of_a_command_that_was_ended_is_killed(
    #[case] ending: &str,
    #[case] signal: Signal,
    #[case] code: i32,
) {
    let scene = Scene::new();
    let log = scene.path("log");
    let script = format!("(trap '' TERM; {}) & {ending}", crate::scene::ticking(&log));
    let args = ["run", "--kill-grace", "1s", "job", "--", "sh", "-c", &script];
    let mut shell = scene.shell("job", &args);
    scene.lines("log", 2);

    shell.signal(signal);

    assert_eq!(shell.exit_within(SECOND * 3), Some(code), "{}", shell.told());
    assert!(crate::scene::stands_still(&log));
    assert!(shell.told().contains("killed what the command had left"), "{}", shell.told());
    assert_eq!(scene.state("job"), "free");
}
