//! The wrapper is killed: its command does not go on without a lease. (Case 29.)

use nix::sys::signal::Signal;
use rstest::rstest;

use crate::scene::{SECOND, Scene, stands_still, ticking, until};

#[rstest]
#[case::direct("", "")]
#[case::another_shell_between("sh -c '", "'; true")]
#[case::in_the_background("sh -c '", "' & wait")]
fn its_whole_group_ends_within_a_second(#[case] before: &str, #[case] after: &str) {
    let scene = Scene::new();
    let log = scene.path("log");
    let script = format!("{before}{}{after}", ticking(&log));
    let wrapper = scene.shell("job", &["run", "--ttl", "3s", "job", "--", "sh", "-c", &script]);
    scene.lines("log", 3);

    wrapper.signal(Signal::SIGKILL);

    assert!(until(SECOND, || stands_still(&log)), "it still writes");
}

/// A command that does not listen to SIGTERM is killed when its time is up.
#[test]
fn a_command_that_does_not_listen_is_killed() {
    let scene = Scene::new();
    let log = scene.path("log");
    let script = format!("trap '' TERM; {}", ticking(&log));
    let args = ["run", "--ttl", "2s", "--kill-grace", "300ms", "job", "--", "sh", "-c", &script];
    let wrapper = scene.shell("job", &args);
    scene.lines("log", 3);

    wrapper.signal(Signal::SIGKILL);

    assert!(until(SECOND * 3, || stands_still(&log)), "it still writes");
}
