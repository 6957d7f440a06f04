//! What the command prints: nobody's label reaches a terminal raw, and nothing is lost in silence.

use std::fs::OpenOptions;

use crate::scene::{Scene, text};

/// A label that would colour another's terminal, and write a line there as if it were ours.
const FORGED: &str = "ann\u{1b}[31m\nlease: all is well";

#[test]
fn a_label_cannot_write_on_others_terminals() {
    let scene = Scene::new();
    let _holder = scene.shell("ann", &["run", "--label", FORGED, "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "exclusive");

    let status = scene.output(&["status", "job"]);
    let list = scene.output(&["list"]);
    let refused = scene.output(&["run", "--no-wait", "job", "--", "true"]);
    for told in [text(&status.stdout), text(&list.stdout), text(&refused.stderr)] {
        assert!(told.contains(r"ann\u{1b}[31m\nlease: all is well"), "{told}");
        assert!(!told.contains('\u{1b}'), "{told}");
        assert!(!told.lines().any(|line| line.starts_with("lease: all")), "{told}");
    }
    assert_eq!(scene.status("job")["holders"][0]["label"], FORGED);
}

/// A script must not take what a full disk has kept of it for the answer.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let scene = Scene::new();
    assert!(scene.output(&["run", "job", "--", "true"]).status.success());
    for args in [&["status", "job"][..], &["status", "--json", "job"], &["list"]] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ended = scene.lease(args).stdout(full).output().unwrap();
        assert_eq!(ended.status.code(), Some(71), "{args:?}");
        assert!(text(&ended.stderr).contains("cannot write"), "{}", text(&ended.stderr));
    }
}
