//! What cannot work is told, with what to change, and nobody's lease is touched.

use rstest::rstest;

use crate::scene::{Scene, text};

#[rstest]
#[case::unknown_scheme(&["--on", "ftp://host/x"], "job", "unknown scheme")]
#[case::no_scheme(&["--on", "/tmp/leases"], "job", "file:///")]
#[case::relative(&["--on", "file:leases"], "job", "file:///")]
#[case::ttl_of_zero(&["--ttl", "0s"], "job", "ttl")]
#[case::a_thousand_years(&["--ttl", "1000y"], "job", "366 days")]
#[case::grace(&["--ttl", "10s", "--kill-grace", "6s"], "job", "at most 5s, or a ttl of 12s")]
#[case::own_key(&["--meta", "pid=1"], "job", "lease itself tells pid")]
#[case::key_twice(&["--meta", "a=1", "--meta", "b=2", "--meta", "a=3"], "job", "`a` twice")]
#[case::no_label(&["--label", " "], "job", "leave --label out")]
#[case::busy_is_no_success(&["--conflict-exit-code", "0"], "job", "0 would look as if")]
#[case::no_unit(&["--ttl", "15"], "job", "unit")]
#[case::empty_name(&[], "", "empty")]
#[case::control_character(&[], "a\nb", "control character")]
#[case::ten_kilobytes(&[], &"k".repeat(10_000), "too long")]
fn it_is_a_usage_error(#[case] options: &[&str], #[case] name: &str, #[case] told: &str) {
    let scene = Scene::new();
    let args = [&["run"], options, &[name, "--", "touch", "never"]].concat();
    let ended = scene.output(&args);
    assert_eq!(ended.status.code(), Some(64), "{}", text(&ended.stderr));
    assert!(text(&ended.stderr).contains(told), "{}", text(&ended.stderr));
    assert!(!scene.path("leases").exists());
}

/// What cannot be read is one sentence that says what to write.
#[rstest]
#[case::no_dashes(&["run", "job", "sleep", "5"], "after `--`, as in `lease run NAME -- sleep`")]
#[case::no_command(&["run", "job"], "put the command after `--`")]
#[case::no_name(&["run", "--", "true"], "write what to hold before the `--`")]
#[case::an_option_of_the_command(&["run", "job", "-x"], "lease run NAME -- COMMAND -x")]
#[case::a_typing_error(&["run", "--wiat", "1s", "job", "--", "true"], "write `--wait`")]
#[case::of_another(&["status", "--frist", "job"], "`lease status --help` tells")]
#[case::two_names(&["status", "my", "job"], "into quotes")]
fn a_command_line_that_cannot_be_read_is_told_in_a_sentence(
    #[case] args: &[&str],
    #[case] told: &str,
) {
    let ended = Scene::new().output(args);
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(64), "{said}");
    assert!(said.contains(told) && said.lines().count() == 1, "{said}");
}

/// All that is missing is told at once.
#[test]
fn without_a_store_it_is_told_how_to_name_one() {
    let ended = Scene::new().lease(&["run", "job"]).env_remove("LEASE_URL").output().unwrap();
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(64), "{said}");
    assert!(said.contains("LEASE_URL") && said.contains("after `--`"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_ttl_that_the_store_cannot_keep_is_refused() {
    let scene = Scene::new();
    for ttl in ["1ms", "100ms"] {
        let ended = scene.output(&["run", "--ttl", ttl, "job", "--", "true"]);
        assert_eq!(ended.status.code(), Some(64), "{}", text(&ended.stderr));
        assert!(text(&ended.stderr).contains("at least"), "{}", text(&ended.stderr));
    }
}

/// What is wrong in a URL is known before anybody is asked, and its password is not told again.
#[rstest]
#[case::a_bucket("s3://ann:secret@bucket/x", "credentials")]
#[cfg_attr(feature = "mongo", case::no_database("mongodb://ann:secret@localhost", "no database"))]
#[cfg_attr(feature = "mongo", case::mongo("mongodb://ann:secret@h/jobs?colour=blue", "colour"))]
#[cfg_attr(feature = "nats", case::nats("nats://ann:secret@localhost?colour=blue", "colour"))]
fn a_url_that_is_wrong_is_a_usage_error(#[case] url: &str, #[case] told: &str) {
    let scene = Scene::new();
    for args in [vec!["status", "job"], vec!["run", "job", "--", "true"], vec!["doctor"]] {
        let ended = scene.lease(&args).env("LEASE_URL", url).output().unwrap();
        let said = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(64), "{args:?}: {said}");
        assert!(said.contains(told) && !said.contains("secret"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let scene = Scene::new();
    let url = format!("{}/not/here", scene.url());
    for args in [vec!["status", "job"], vec!["run", "job", "--", "true"], vec!["list"]] {
        let ended = scene.lease(&args).env("LEASE_URL", &url).output().unwrap();
        assert_eq!(ended.status.code(), Some(78), "{args:?}: {}", text(&ended.stderr));
    }
    // One that is missing may be one that is not mounted: that it is free cannot be told.
    for args in [vec!["status", "job"], vec!["list"]] {
        let ended = scene.output(&args);
        assert_eq!(ended.status.code(), Some(78), "{args:?}: {}", text(&ended.stderr));
        assert!(text(&ended.stderr).contains("first holds a lease"), "{}", text(&ended.stderr));
    }
}

/// All names are free where no lease ever was, which may be the wrong folder: that is told, and not
/// where one was.
#[test]
fn a_folder_without_leases_is_told() {
    let scene = Scene::new();
    let told = |args: &[&str]| {
        let ended = scene.output(args);
        assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
        text(&ended.stderr)
    };
    std::fs::create_dir(scene.path("leases")).unwrap();
    for look in [&["status", "job"][..], &["status", "--json", "job"], &["list"]] {
        let said = told(look);
        assert!(said.contains("is it mounted?") && said.lines().count() == 1, "{said}");
    }
    std::fs::write(scene.path("leases/letter.txt"), "dear Ann").unwrap();
    for look in [&["status", "job"][..], &["list"]] {
        let said = told(look);
        assert!(said.contains("the right folder?") && said.lines().count() == 1, "{said}");
    }
    told(&["run", "job", "--", "true"]);
    for look in [&["status", "job"][..], &["list"]] {
        assert_eq!(told(look), "");
    }
}

/// Names that file systems do not like, in every alphabet, are held like any other.
#[rstest]
fn any_other_name_works(
    #[values("a/b", "..", "../x", "a b", "*", "$HOME", "имя", "🦀", "CON", ".hidden")] name: &str,
) {
    let scene = Scene::new();
    let args = ["run", "--no-wait", name, "--", "echo", "done"];
    let ended = scene.output(&args);
    assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
    let listed = text(&scene.output(&["list"]).stdout);
    assert!(listed.contains(name), "{listed}");
    let outside = std::fs::read_dir(scene.path("")).unwrap().count();
    assert_eq!(outside, 1, "something was made outside of the folder");
}

/// Nobody guesses which of two was meant.
#[rstest]
#[case::both_modes(&["run", "--writer", "--exclusive", "job", "--", "true"], "--exclusive")]
#[case::wait_or_not(&["run", "--wait", "1s", "--no-wait", "job", "--", "true"], "--no-wait")]
#[case::an_unknown_flag(&["run", "--sloppy", "job", "--", "true"], "--sloppy")]
#[case::no_such_subcommand(&["hold", "job"], "hold")]
#[case::nothing_at_all(&[], "run")]
fn contradictions_and_what_is_missing_are_usage_errors(#[case] args: &[&str], #[case] told: &str) {
    let scene = Scene::new();
    let ended = scene.output(args);
    assert_eq!(ended.status.code(), Some(64), "{}", text(&ended.stderr));
    assert!(text(&ended.stderr).contains(told), "{}", text(&ended.stderr));
    assert!(!scene.path("leases").exists());
}
