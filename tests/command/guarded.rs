//! No command runs that nobody would end, whoever is killed or stopped and when.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use leasehold::clock::SystemClock;
use leasehold::{Clock, Moment};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rstest::rstest;

use crate::scene::{SECOND, Scene, Shell, stands_still, text, ticking, until};

/// A command that does not listen to SIGTERM: only its watchdog can end it once its holder is gone.
fn deaf(scene: &Scene, log: &str) -> String {
    format!("trap '' TERM; {}", ticking(&scene.path(log)))
}

fn watchdog_of(shell: &Shell) -> Pid {
    let mut found = None;
    assert!(until(SECOND * 10, || {
        found = shell.watchdog();
        found.is_some()
    }));
    found.unwrap()
}

/// Waits for another watchdog than this one.
fn next_watchdog(shell: &Shell, before: Pid) -> Pid {
    assert!(until(SECOND * 5, || shell.watchdog().is_some_and(|now| now != before)));
    watchdog_of(shell)
}

/// The holder is killed at any moment of its start: no command is left over.
#[test]
fn a_holder_that_is_killed_at_its_start_leaves_nothing_behind() {
    let scene = Scene::new();
    let shells: Vec<Shell> = (0..16)
        .map(|n| {
            let (name, log) = (format!("job-{n}"), format!("log-{n}"));
            let script = deaf(&scene, &log);
            let args = ["run", "--ttl", "1s", &name, "--", "sh", "-c", &script];
            let shell = scene.shell(&name, &args);
            // Later and later, until its command works.
            let patience = Duration::from_millis(4) * n;
            until(patience, || scene.path(&log).exists());
            shell.signal(Signal::SIGKILL);
            shell
        })
        .collect();
    let logs = || (0..16).all(|n| stands_still(&scene.path(&format!("log-{n}"))));
    assert!(until(SECOND * 3, logs));
    drop(shells);
}

/// What stands between the start and the command goes on only when told to, and only in time.
#[rstest]
#[case::nobody_will_ever_tell("", 71, false)]
#[case::half_a_line("99999999999999999", 71, false)]
#[case::too_late("1\n", 79, false)]
#[case::in_time("9999999999999999999\n", 0, true)]
fn the_command_waits_for_its_watchdog(
    #[case] said: &str,
    #[case] code: i32,
    #[case] started: bool,
) {
    let scene = Scene::new();
    let (gate, ran) = (scene.path("gate"), scene.path("ran"));
    std::fs::write(&gate, said).unwrap();
    let script = format!(
        "{} __exec --parent $$ --gate 3 -- touch {} 3<{}; exit $?",
        env!("CARGO_BIN_EXE_lease"),
        ran.display(),
        gate.display()
    );
    let ended = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(ended.status.code(), Some(code), "{}", text(&ended.stderr));
    assert_eq!(ran.exists(), started);
}

/// The watchdog was starved while the holder told it until when. It knows the moment, however late it
/// reads of it.
#[test]
fn a_watchdog_that_reads_late_does_not_wait_longer() {
    let line =
        |group: u32, end: Moment| format!("guard {group} {0} {0}\n", end.since_origin().as_nanos());
    let mut command = Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
    let mut watchdog = Command::new(env!("CARGO_BIN_EXE_lease"))
        .args(["__watchdog", "--grace", "10s"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut holder = watchdog.stdin.take().unwrap();

    let now = SystemClock.now();
    holder.write_all(line(command.id(), now.plus(SECOND * 60)).as_bytes()).unwrap();
    assert!(!until(SECOND / 2, || command.try_wait().unwrap().is_some()));
    holder.write_all(line(command.id(), now).as_bytes()).unwrap();

    assert!(until(SECOND, || command.try_wait().unwrap().is_some()), "it still runs");
    assert_eq!(watchdog.wait().unwrap().code(), Some(0));
}

/// Somebody ends or stops the watchdog. Another takes its place, and does its work.
#[rstest]
#[case::killed(Signal::SIGKILL)]
#[case::stopped(Signal::SIGSTOP)]
fn a_watchdog_is_replaced(#[case] by: Signal) {
    let scene = Scene::new();
    let script = deaf(&scene, "log");
    let args = ["run", "--ttl", "3s", "job", "--", "sh", "-c", &script];
    let shell = scene.shell("job", &args);
    scene.lines("log", 2);
    let first = watchdog_of(&shell);
    // One that has just been started is not replaced.
    scene.lines("log", 12);

    kill(first, by).unwrap();
    next_watchdog(&shell, first);
    assert!(!stands_still(&scene.path("log")), "the command was ended");

    shell.signal(Signal::SIGKILL);
    assert!(until(SECOND * 3, || stands_still(&scene.path("log"))), "it still writes");
}

/// Where no watchdog lives, no command does, and it has the time to end in good order.
#[test]
fn without_a_watchdog_the_command_is_ended() {
    let scene = Scene::new();
    let clean = scene.path("clean");
    let script =
        format!("trap ': >{}; exit 0' TERM; {}", clean.display(), { ticking(&scene.path("log")) });
    let mut shell = scene.shell("job", &["run", "job", "--", "sh", "-c", &script]);
    scene.lines("log", 12);

    let first = watchdog_of(&shell);
    kill(first, Signal::SIGKILL).unwrap();
    kill(next_watchdog(&shell, first), Signal::SIGKILL).unwrap();

    assert_eq!(shell.exit_within(SECOND * 5), Some(71), "{}", shell.told());
    assert!(shell.told().contains("watchdog"), "{}", shell.told());
    assert!(clean.exists());
    assert_eq!(scene.state("job"), "free");
}

/// An update replaces the program while it waits and while it runs.
#[test]
fn a_program_that_was_replaced_goes_on() {
    let scene = Scene::new();
    let holder = scene.shell("holder", &["run", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "exclusive");
    let program = scene.as_somebody_else();
    let script = deaf(&scene, "log");
    let mut command = Command::new(&program);
    command.args(["run", "--ttl", "3s", "job", "--", "sh", "-c", &script]);
    command.env("LEASE_URL", scene.url());
    let shell = scene.shell_of("job", command);
    shell.wait_until_told("waiting");

    std::fs::remove_file(&program).unwrap();
    std::fs::write(&program, "not a program").unwrap();
    holder.signal(Signal::SIGTERM);
    scene.lines("log", 15);
    let first = watchdog_of(&shell);
    kill(first, Signal::SIGKILL).unwrap();
    next_watchdog(&shell, first);
    assert!(!stands_still(&scene.path("log")), "the command was ended");

    shell.signal(Signal::SIGKILL);
    assert!(until(SECOND * 3, || stands_still(&scene.path("log"))), "it still writes");
}
