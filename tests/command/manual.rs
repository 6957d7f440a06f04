//! What a package installs beside the command: pages and completions, with all that is for people and
//! nothing else.

use rstest::rstest;

use crate::scene::{Scene, text};

#[rstest]
#[case::of_all(&["man"], &["lease\\-run", "lease\\-status", "75"])]
#[case::of_one(&["man", "run"], &["lease\\-run", "\\-\\-wait", "LEASE_EPOCH", "SIGTERM"])]
#[case::bash(&["completions", "bash"], &["--no-wait", "complete -F _lease"])]
#[case::zsh(&["completions", "zsh"], &["#compdef lease", "--no-wait"])]
#[case::fish(&["completions", "fish"], &["complete -c lease", "no-wait"])]
fn is_printed(#[case] args: &[&str], #[case] parts: &[&str]) {
    let printed = Scene::new().output(args);
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    let printed = text(&printed.stdout);
    for part in parts {
        assert!(printed.contains(part), "{part} is not in {printed}");
    }
    for own in ["__exec", "__watchdog", "__keeper", "__interrupted"] {
        assert!(!printed.contains(own), "it calls only itself by {own}");
    }
}

#[test]
fn there_is_no_page_of_what_is_not_there() {
    let printed = Scene::new().output(&["man", "stroll"]);
    assert_eq!(printed.status.code(), Some(64));
    assert!(text(&printed.stderr).contains("possible values: run,"), "{}", text(&printed.stderr));
}
