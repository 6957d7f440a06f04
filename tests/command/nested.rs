//! One lease within another: `lease run a -- lease run b -- COMMAND`.

use std::io::Write;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use rstest::rstest;

use crate::scene::{SECOND, Scene, read, stands_still, text, ticking, until};

/// The command sees the inner lease. What it needs of the outer one is handed on under another name.
#[test]
fn the_command_sees_the_inner_lease() {
    let scene = Scene::new();
    let inner = "echo $OUTER $LEASE_NAME $LEASE_EPOCH";
    let outer = format!("OUTER=$LEASE_EPOCH exec lease run b -- sh -c '{inner}'");
    let told = scene.script(&format!("lease run a -- sh -c \"{}\"", outer.replace('$', "\\$")));
    let told = { told }.output().unwrap();
    assert!(told.status.success(), "{}", text(&told.stderr));
    let expected = format!("{} b {}\n", scene.epoch("a"), scene.epoch("b"));
    assert_eq!(text(&told.stdout), expected);
}

/// At a terminal Ctrl-C reaches the innermost command alone, once; both leases end with it, and its
/// code is that of the whole.
#[test]
fn ctrl_c_is_one_signal_at_the_innermost() {
    let scene = Scene::new();
    let (got, ready, job) = (scene.path("got"), scene.path("ready"), scene.path("job.sh"));
    let script = format!(
        "trap 'echo INT >>{got}; sleep .3; exit 7' INT; trap 'echo TERM >>{got}; exit 8' TERM; \
         touch {ready}; while :; do sleep .05; done",
        got = got.display(),
        ready = ready.display()
    );
    std::fs::write(&job, script).unwrap();
    let lease = env!("CARGO_BIN_EXE_lease");
    let command = format!("{lease} run a -- {lease} run b -- sh {}", job.display());
    let mut at_terminal = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .env("LEASE_URL", scene.url())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("util-linux's `script` is on this machine");
    let mut keyboard = at_terminal.stdin.take().unwrap();
    assert!(until(SECOND * 20, || ready.exists()), "the command never came to run");

    keyboard.write_all(&[3]).unwrap();

    let mut status = None;
    assert!(until(SECOND * 10, || {
        status = at_terminal.try_wait().unwrap();
        status.is_some()
    }));
    assert_eq!(status.unwrap().code(), Some(7));
    assert_eq!(read(&got), "INT\n");
    assert_eq!((scene.state("a"), scene.state("b")), ("free".into(), "free".into()));
}

/// The inner command has a process group of its own, which the outer one's watchdog does not know. It
/// ends all the same, and before others may have the outer name.
#[rstest]
#[case::a_command_that_listens("", "free")]
#[case::one_that_does_not("trap '' TERM; ", "exclusive")]
fn a_killed_outer_one_ends_the_inner_command(#[case] before: &str, #[case] inner: &str) {
    let scene = Scene::new();
    let log = scene.path("log");
    let script = format!("{before}{}", ticking(&log));
    let args = ["run", "--ttl", "10s", "--kill-grace", "1s", "a", "--"];
    let inside = ["run", "--ttl", "10s", "--kill-grace", "300ms", "b", "--", "sh", "-c", &script];
    let args = [&args[..], &[env!("CARGO_BIN_EXE_lease")], &inside].concat();
    let outer = scene.shell("outer", &args);
    scene.lines("log", 3);

    outer.signal(Signal::SIGKILL);

    assert!(until(SECOND * 4, || stands_still(&log)), "it still writes");
    let holders = scene.status("a")["holders"].clone();
    assert_eq!(holders[0]["expired"], false, "nobody else may have it while the command writes");
    let named = until(SECOND * 5, || scene.state("b") == inner);
    assert!(named, "who lets go in good order frees the name at once");
}
