//! What the command finds around it: closed pipes, ignored signals, open files.

use std::io::{Read, Write, pipe};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::scene::{SECOND, Scene, read, state_of, text, ticking, until};

/// Whoever started it with `nohup` wants it to live on when the terminal goes, command and all.
#[test]
fn what_was_to_be_ignored_is_ignored() {
    let scene = Scene::new();
    let (ready, gate) = (scene.path("ready"), scene.path("gate"));
    let script = format!(
        "touch {}; until [ -e {} ]; do sleep .02; done; exit 3",
        ready.display(),
        gate.display()
    );
    let started = scene.lease(&["run", "job", "--", "sh", "-c", &script]);
    let mut nohup = Command::new("nohup");
    nohup.arg(started.get_program()).args(started.get_args()).env("LEASE_URL", scene.url());
    let mut shell = scene.shell_of("job", nohup);
    assert!(until(SECOND * 10, || ready.exists()));

    shell.signal(Signal::SIGHUP);
    shell.signal(Signal::SIGHUP);
    std::fs::write(gate, "").unwrap();

    assert_eq!(shell.exit_within(SECOND * 5), Some(3), "{}", shell.told());
}

/// A signal that commands use for other things than ending is theirs too.
#[test]
fn a_user_signal_is_the_commands() {
    let scene = Scene::new();
    let ready = scene.path("ready");
    let script =
        format!("trap 'exit 9' USR1; touch {}; while :; do sleep .02; done", ready.display());
    let mut shell = scene.shell("job", &["run", "job", "--", "sh", "-c", &script]);
    assert!(until(SECOND * 10, || ready.exists()));
    shell.signal(Signal::SIGUSR1);
    assert_eq!(shell.exit_within(SECOND * 5), Some(9), "{}", shell.told());
}

/// Nobody reads what it says any more: the command runs all the same.
#[test]
fn a_reader_that_has_gone_ends_nothing() {
    let scene = Scene::new();
    let holder = scene.shell("holder", &["run", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "exclusive");
    let ran = scene.path("ran");
    let mut waits = scene
        .lease(&["run", "--json", "job", "--", "touch", ran.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = waits.stderr.take().unwrap();
    told.read_exact(&mut [0]).unwrap();
    drop(told);
    drop(holder);
    scene.output(&["break", "job", "--force"]);
    assert_eq!(waits.wait().unwrap().code(), Some(0));
    assert!(ran.exists());

    let mut list = scene.lease(&["list"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(list.stdout.take());
    assert_eq!(list.wait().unwrap().code(), Some(0));
}

/// Whoever should read what it says does not, and the pipe is full. It goes on, and loses its lease in
/// time.
#[test]
fn a_reader_that_does_not_read_delays_nothing() {
    let scene = Scene::new();
    let (reader, writer) = pipe().unwrap();
    let mut full = writer.try_clone().unwrap();
    let filling = std::thread::spawn(move || full.write_all(&[b'.'; 1 << 20]).is_err());
    let args = ["run", "--json", "--ttl", "3s", "job", "--", "sh", "-c"];
    let mut command = scene.lease(&args);
    command.arg(ticking(&scene.path("log"))).stdout(Stdio::null()).stderr(writer);
    let mut job = command.spawn().unwrap();
    drop(command);
    assert!(!scene.lines("log", 2).is_empty(), "the command never started");

    assert!(scene.output(&["break", "job", "--force"]).status.success());

    let mut status = None;
    until(SECOND * 4, || {
        status = job.try_wait().unwrap();
        status.is_some()
    });
    drop(reader);
    assert!(filling.join().unwrap(), "the pipe was never full");
    assert_eq!(status.and_then(|status| status.code()), Some(79));
}

/// A typing error shows at once, not after an hour of waiting.
#[test]
fn a_command_that_does_not_exist_is_not_waited_for() {
    let scene = Scene::new();
    let _holder = scene.shell("holder", &["run", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "exclusive");
    let mut waits = scene.shell("waits", &["run", "job", "--", "no-such-command"]);
    assert_eq!(waits.exit_within(SECOND * 5), Some(127));
    assert_eq!(read(&scene.path("waits.err")), "lease: there is no command `no-such-command`\n");
}

/// The command has the files, and the signals, that it would have without us.
#[test]
fn the_command_finds_what_it_would_find_without_us() {
    let scene = Scene::new();
    let script = "ls /proc/self/fd; grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status";
    let plain = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).output().unwrap();
    let ours = scene.output(&["run", "job", "--", "sh", "-c", script]);
    assert_eq!(text(&ours.stdout), text(&plain.stdout));
}

/// Whoever asks every `lease` of the machine to end means the commands, and those end in good order.
#[test]
fn the_watchdog_stays_until_the_command_has_ended() {
    let scene = Scene::new();
    let ready = scene.path("ready");
    let script = format!("trap '' TERM; touch {}; while :; do sleep .02; done", ready.display());
    let args = ["run", "--ttl", "2s", "job", "--", "sh", "-c", &script];
    let shell = scene.shell("job", &args);
    assert!(until(SECOND * 10, || ready.exists()));
    let children = format!("/proc/{0}/task/{0}/children", shell.pid());
    let children: Vec<i32> =
        read(children.as_ref()).split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(children.len(), 2, "the command and its watchdog");
    // The first is the watchdog, which blocks signals as soon as it runs.
    let status = format!("/proc/{}/status", children[0]);
    let blocks = || read(status.as_ref()).lines().any(|l| l.starts_with("SigBlk:\tf"));
    assert!(until(SECOND * 10, blocks), "{}", read(status.as_ref()));
    for child in &children {
        kill(Pid::from_raw(*child), Signal::SIGTERM).unwrap();
    }

    shell.signal(Signal::SIGKILL);

    let gone = |pid: &i32| matches!(state_of(pid), None | Some('Z'));
    assert!(
        until(SECOND * 3, || children.iter().all(gone)),
        "{:?} live on",
        children.iter().map(state_of).collect::<Vec<_>>()
    );
}

/// A store without rights: looking needs the right to read, holding says what it lacks. (Case 37.)
#[test]
fn rights_are_asked_for_where_they_are_needed() {
    let scene = Scene::new();
    let held = scene.output(&["run", "job", "--", "true"]);
    assert_eq!(held.status.code(), Some(0));
    let program = scene.as_somebody_else();
    let as_reader = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.args(args).env("LEASE_URL", scene.url()).current_dir("/");
        if nix::unistd::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        command.output().unwrap()
    };
    scene.let_only_read();

    for looking in [&["status", "job"][..], &["list"]] {
        let seen = as_reader(looking);
        assert_eq!(seen.status.code(), Some(0), "{}", text(&seen.stderr));
        assert!(text(&seen.stdout).contains("job"));
    }
    let start = std::time::Instant::now();
    let refused = as_reader(&["run", "--wait", "60s", "job", "--", "true"]);
    assert_eq!(refused.status.code(), Some(78), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("right"), "{}", text(&refused.stderr));
    assert!(start.elapsed() < SECOND * 5);
    scene.let_all_write();
}
