//! What the exit code tells. (Case 49.)

use std::os::unix::fs::PermissionsExt;

use rstest::rstest;

use crate::scene::{Scene, text};

#[rstest]
#[case::success("exit 0", 0)]
#[case::failure("exit 2", 2)]
#[case::like_ours("exit 75", 75)]
#[case::also_like_ours("exit 70", 70)]
#[case::like_a_missing_one("exit 127", 127)]
#[case::the_largest("exit 255", 255)]
#[case::terminated("kill -TERM $$", 143)]
#[case::killed("kill -KILL $$", 137)]
#[case::closes_its_output("exec >&-; exit 4", 4)]
fn the_commands_own_code_is_passed_on(#[case] script: &str, #[case] code: i32) {
    let scene = Scene::new();
    let ended = scene.output(&["run", "job", "--", "sh", "-c", script]);
    assert_eq!(ended.status.code(), Some(code), "{}", text(&ended.stderr));
    // Where it could be taken for ours, it is told.
    let told = text(&ended.stderr).contains(&format!("the command itself exited with {code}"));
    assert_eq!(told, [70, 75, 127].contains(&code));
    assert_eq!(scene.state("job"), "free");
}

#[test]
fn a_command_that_cannot_run_says_so() {
    let scene = Scene::new();
    assert_eq!(scene.output(&["run", "job", "--", "true"]).status.code(), Some(0));
    let missing = scene.output(&["run", "job", "--", "/no/such/command"]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(text(&missing.stderr).contains("no command `/no/such/command`"));

    let file = scene.path("no-program");
    std::fs::write(&file, "").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let denied = scene.output(&["run", "job", "--", file.to_str().unwrap()]);
    assert_eq!(denied.status.code(), Some(126));
    assert_eq!(scene.state("job"), "free");
}

#[test]
fn a_busy_name_has_its_own_code() {
    let scene = Scene::new();
    let _holder = scene.shell("holder", &["run", "--label", "alpha", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "exclusive");

    for wait in [vec!["--no-wait"], vec!["--wait", "300ms"]] {
        let args = [vec!["run"], wait, vec!["job", "--", "touch", "never"]].concat();
        let refused = scene.output(&args);
        assert_eq!(refused.status.code(), Some(75));
        assert!(text(&refused.stderr).contains("alpha"), "{}", text(&refused.stderr));
    }
    let chosen = ["run", "--no-wait", "--conflict-exit-code", "3", "job", "--", "true"];
    assert_eq!(scene.output(&chosen).status.code(), Some(3));
    assert!(!scene.path("never").exists());
}

#[test]
fn arguments_that_look_like_options_are_the_commands() {
    let scene = Scene::new();
    let ended = scene.output(&["run", "job", "--", "echo", "--wait", "-n", "--"]);
    assert_eq!(text(&ended.stdout), "--wait -n --\n");
}

/// The command knows what it holds.
#[test]
fn the_command_is_told_in_its_environment() {
    let scene = Scene::new();
    let script = "echo $LEASE_NAME $LEASE_MODE $LEASE_EPOCH $LEASE_TOKEN $LEASE_URL";
    let ended = scene.output(&["run", "--writer", "my job", "--", "sh", "-c", script]);
    let epoch = scene.epoch("my job");
    let told = format!("my job writer {epoch} {} {}\n", 2 * epoch + 1, scene.url());
    assert_eq!(text(&ended.stdout), told);
}

/// What the command left running in the background keeps neither the lease nor a file of it.
/// (Case 58.)
#[test]
fn a_grandchild_keeps_nothing() {
    let scene = Scene::new();
    let script = "sleep 30 >/dev/null 2>&1 & echo $!; exit 0";
    let ended = scene.output(&["run", "job", "--", "sh", "-c", script]);
    let pid = text(&ended.stdout).trim().to_owned();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(scene.output(&["run", "--no-wait", "job", "--", "true"]).status.code(), Some(0));

    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let files = open.filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok());
    let leases = scene.path("leases");
    assert!(files.into_iter().all(|file| !file.starts_with(&leases)));
    let pid = nix::unistd::Pid::from_raw(pid.parse().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
}
