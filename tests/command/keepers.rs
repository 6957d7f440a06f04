//! Leases that are kept in the background while a script lives.

use std::path::PathBuf;
use std::process::Output;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rstest::rstest;
use serde_json::Value;

use crate::scene::{SECOND, Scene, Shell, read, state_of, text, until};
use crate::tickets::printed;

/// A script that takes `job`, writes what it was told to `told`, and then does `work`.
fn script(scene: &Scene, options: &str, work: &str) -> Shell {
    let told = scene.path("told");
    let script = format!(
        "lease acquire --keep-while $$ {options} --ticket {ticket} --json job >{told}.new &&
         mv {told}.new {told} && {work}",
        told = told.display(),
        ticket = ticket(scene),
    );
    scene.shell_of("script", scene.script(&script))
}

fn ticket(scene: &Scene) -> String {
    scene.path("job.ticket").display().to_string()
}

/// The process that keeps the lease, once there is one.
fn keeper(scene: &Scene, script: &Shell) -> Pid {
    let told = scene.path("told");
    assert!(until(SECOND * 20, || told.exists()), "{}", script.told());
    let view: Value = serde_json::from_str(&read(&told)).unwrap();
    Pid::from_raw(i32::try_from(view["keeper"].as_i64().unwrap()).unwrap())
}

fn with_ticket(scene: &Scene, command: &str) -> Output {
    scene.output(&[command, "--ticket", &ticket(scene)])
}

/// Whether nothing works there any more: what has ended may wait to be asked for its exit status.
fn is_gone(pid: Pid) -> bool {
    state_of(pid).is_none_or(|state| state == 'Z')
}

fn sockets(scene: &Scene) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(scene.path("lease"));
    folder.into_iter().flatten().map(|file| file.unwrap().path()).collect()
}

fn nothing_is_left(scene: &Scene, keeper: Pid) {
    assert!(until(SECOND * 10, || is_gone(keeper)), "the keeper still runs");
    assert_eq!(sockets(scene), Vec::<PathBuf>::new());
}

/// It lives for several ttls without a renewal of the script's, and `release` ends the keeper.
#[test]
fn a_lease_is_kept_until_it_is_released() {
    let scene = Scene::new();
    let work = "until [ -e $HOME/gate ]; do sleep .02; done";
    let work = work.replace("$HOME", scene.path("").to_str().unwrap());
    let mut script = script(&scene, "--ttl 2s --label alpha", &work);
    let keeper = keeper(&scene, &script);
    let holder = scene.status("job")["holders"][0].clone();
    assert_eq!((&holder["label"], &holder["pid"]), (&"alpha".into(), &keeper.as_raw().into()));
    let before = read(ticket(&scene).as_ref());
    let busy = ["run", "--no-wait", "job", "--", "true"];
    let held = || scene.output(&busy).status.code() == Some(75);
    // Until longer than two ttls have passed.
    assert!(!until(SECOND * 5, || !held()), "somebody else got it");

    let check = printed(&with_ticket(&scene, "check"));
    assert!(check.contains(&format!("kept by process {keeper}")), "{check}");
    printed(&with_ticket(&scene, "renew"));
    assert_eq!(read(ticket(&scene).as_ref()), before, "a kept lease has one ticket");
    let copy = scene.path("copy");
    std::fs::write(&copy, &before).unwrap();
    printed(&with_ticket(&scene, "release"));
    assert_eq!(scene.state("job"), "free");
    nothing_is_left(&scene, keeper);
    for command in ["release", "check", "renew"] {
        let again = scene.output(&[command, "--ticket", copy.to_str().unwrap()]);
        assert_eq!(again.status.code(), Some(79), "{}", text(&again.stderr));
    }
    std::fs::write(scene.path("gate"), "").unwrap();
    assert_eq!(script.exit_within(SECOND * 10), Some(0), "{}", script.told());
}

/// Whoever lists processes, or looks at the name, sees what it is; and no password.
#[test]
fn a_keeper_is_known_as_one() {
    let scene = Scene::new();
    let script = script(&scene, "", "exec sleep 60");
    let keeper = keeper(&scene, &script);
    let words = read(format!("/proc/{keeper}/cmdline").as_ref());
    assert_eq!(words, format!("lease\0__keeper\0--on\0{}\0--\0job\0", scene.url()));
    let holder = &scene.status("job")["holders"][0];
    let pid = script.pid().to_string();
    assert_eq!(holder["label"], format!("a keeper for process {pid}"));
    assert_eq!(holder["metadata"]["keeper-for"], pid);
}

/// The script ends, in whichever way: the keeper frees the name, long before the ttl is over, and ends.
#[rstest]
#[case::by_itself(None)]
#[case::killed(Some(Signal::SIGKILL))]
fn a_keeper_ends_with_its_script(#[case] signal: Option<Signal>) {
    let scene = Scene::new();
    let work = if signal.is_some() { "exec sleep 60" } else { "exit 0" };
    let mut script = script(&scene, "--ttl 60s", work);
    let keeper = keeper(&scene, &script);
    if let Some(signal) = signal {
        assert_eq!(scene.state("job"), "exclusive");
        script.signal(signal);
    }
    script.exit_within(SECOND * 10);
    scene.wait_for_state("job", "free");
    nothing_is_left(&scene, keeper);
}

/// The keeper is killed: check tells at once that nobody keeps the lease, others get it when its ttl
/// is over, and what the keeper has left is removed.
#[test]
fn a_killed_keeper_is_told() {
    let scene = Scene::new();
    let script = script(&scene, "--ttl 2s", "exec sleep 60");
    let keeper = keeper(&scene, &script);
    assert_eq!(sockets(&scene).len(), 1);
    kill(keeper, Signal::SIGKILL).unwrap();
    assert!(until(SECOND * 10, || is_gone(keeper)));

    for command in ["check", "renew", "release"] {
        let told = with_ticket(&scene, command);
        assert_eq!(told.status.code(), Some(79), "{}", text(&told.stderr));
        assert!(text(&told.stderr).contains("ends with its ttl"), "{}", text(&told.stderr));
    }
    printed(&scene.output(&["run", "--wait", "20s", "job", "--", "true"]));
    nothing_is_left(&scene, keeper);
}

/// The keeper is stopped for longer than its lease lives: it does not answer, and what it says when it
/// goes on is that the lease is lost.
#[test]
fn a_stopped_keeper_is_told() {
    let scene = Scene::new();
    let script = script(&scene, "--ttl 2s", "exec sleep 60");
    let keeper = keeper(&scene, &script);
    kill(keeper, Signal::SIGSTOP).unwrap();
    let silent = with_ticket(&scene, "check");
    assert_eq!(silent.status.code(), Some(69), "{}", text(&silent.stderr));
    printed(&scene.output(&["run", "--wait", "20s", "job", "--", "true"]));
    kill(keeper, Signal::SIGCONT).unwrap();
    for command in ["check", "release"] {
        let told = with_ticket(&scene, command);
        assert_eq!(told.status.code(), Some(79), "{}", text(&told.stderr));
    }
    nothing_is_left(&scene, keeper);
}

/// A pipe that the script reads, and a file that it has locked, are not kept with the lease.
#[test]
fn a_keeper_keeps_no_file_of_the_script() {
    let scene = Scene::new();
    let path = scene.path("lock").display().to_string();
    let work = format!(
        "exec 9>{path}; flock 9
         ticket=$(lease acquire --keep-while $$ job) || exit
         exec 9>&-; flock -n {path} true && lease check --ticket \"$ticket\" >&2 &&
         lease release --ticket \"$ticket\" && echo done"
    );
    let mut script = scene.shell_of("script", scene.script(&work));
    assert_eq!(script.exit_within(SECOND * 20), Some(0), "{}", script.told());
    assert_eq!(scene.lines("script.out", 1), ["done"]);
    assert_eq!(scene.state("job"), "free");
    assert!(until(SECOND * 10, || sockets(&scene).is_empty()));
}

/// An operator breaks the lease: the script gets its signal, and whoever checks is told.
#[test]
fn a_loss_is_told_to_the_script() {
    let scene = Scene::new();
    let work = "trap 'lease check --ticket $HOME/job.ticket; echo $?; exit' USR1
                while :; do sleep .05; done";
    let work = work.replace("$HOME", scene.path("").to_str().unwrap());
    let mut script = script(&scene, "--ttl 2s --on-lost USR1", &work);
    let keeper = keeper(&scene, &script);
    printed(&scene.output(&["break", "job", "--force", "--why", "a test"]));
    assert_eq!(script.exit_within(SECOND * 10), Some(0), "{}", script.told());
    assert_eq!(scene.lines("script.out", 1), ["79"]);
    assert!(
        script.told().contains("broken") || script.told().contains("lost"),
        "{}",
        script.told()
    );
    nothing_is_left(&scene, keeper);
}

/// A keeper that is asked to end while its script works leaves the name to nobody before the ttl.
#[test]
fn a_keeper_that_is_ended_frees_nothing() {
    let scene = Scene::new();
    let script = script(&scene, "--ttl 2s --on-lost TERM", "exec sleep 60");
    let keeper = keeper(&scene, &script);
    kill(keeper, Signal::SIGTERM).unwrap();
    assert!(until(SECOND * 10, || is_gone(keeper)));
    assert_eq!(scene.state("job"), "exclusive");
    assert!(until(SECOND * 10, || is_gone(script.pid())), "the script was not told");
    printed(&scene.output(&["run", "--wait", "20s", "job", "--", "true"]));
    nothing_is_left(&scene, keeper);
}

/// A kept lease moves like any other: the keeper hands it over and ends.
#[rstest]
#[case::to_a_command(&["run"], &["--", "sh", "-c", "echo $LEASE_EPOCH"])]
#[case::to_a_ticket(&["renew", "--end-keeper"], &[])]
fn a_kept_lease_moves(#[case] command: &[&str], #[case] end: &[&str]) {
    let scene = Scene::new();
    let script = script(&scene, "--ttl 2s", "exec sleep 60");
    let keeper = keeper(&scene, &script);
    let (file, epoch) = (ticket(&scene), scene.epoch("job"));
    let out = printed(&scene.output(&[command, &["--ticket", &file], end].concat()));
    nothing_is_left(&scene, keeper);
    if command == ["run"] {
        assert_eq!(out, epoch.to_string());
    } else {
        let check = printed(&with_ticket(&scene, "check"));
        assert!(check.contains(&format!("epoch {epoch}")) && !check.contains("kept"), "{check}");
        printed(&with_ticket(&scene, "release"));
    }
    assert_eq!(scene.state("job"), "free");
    assert_eq!(state_of(script.pid()), Some('S'));
}

/// Without a process to keep it for, nothing is taken.
#[test]
fn a_process_that_is_not_there_is_told() {
    let scene = Scene::new();
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    let pid = gone.id().to_string();
    assert!(until(SECOND * 10, || state_of(&pid) == Some('Z')));
    for _ in 0..2 {
        let ended = scene.output(&["acquire", "--keep-while", &pid, "job"]);
        assert_eq!(ended.status.code(), Some(64), "{}", text(&ended.stderr));
        assert!(text(&ended.stderr).contains("--keep-while $$"), "{}", text(&ended.stderr));
        gone.wait().unwrap();
    }
    for wrong in ["0", "-1", "x"] {
        let ended = scene.output(&["acquire", "--keep-while", wrong, "job"]);
        assert_eq!(ended.status.code(), Some(64), "{}", text(&ended.stderr));
    }
    assert!(!scene.path("leases").exists());
}

/// A keeper that cannot listen is told, and the lease is freed at once.
#[test]
fn a_keeper_that_cannot_listen_is_told() {
    let scene = Scene::new();
    let own = std::process::id().to_string();
    std::fs::create_dir(scene.path("lease")).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(scene.path("lease"), open).unwrap();
    let ended = scene.output(&["acquire", "--keep-while", &own, "job"]);
    assert_eq!(ended.status.code(), Some(71), "{}", text(&ended.stderr));
    assert!(text(&ended.stderr).contains("XDG_RUNTIME_DIR"), "{}", text(&ended.stderr));
    assert_eq!(scene.state("job"), "free");
}
