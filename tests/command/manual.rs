//! What a package installs beside the command: pages and completions, with all that is for people and
//! nothing else.

use rstest::rstest;

use crate::scene::{Scene, text};
use crate::tickets::printed;

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

/// Help and page of a subcommand end with the codes that it can exit with, a line or more for each.
#[rstest]
#[case::run("run", &["0-255", "64", "75", "79", "126", "128+n"], &["66"])]
#[case::status("status", &["0", "64", "69", "78"], &["66", "75", "79", "126"])]
#[case::broken("break", &["0", "66", "78"], &["75", "79"])]
#[case::check("check", &["0", "69", "79"], &["75", "128+n"])]
#[case::man("man", &["0", "64", "71"], &["69", "78"])]
fn exit_codes_are_those_of_the_subcommand(
    #[case] subcommand: &str,
    #[case] its: &[&str],
    #[case] not: &[&str],
) {
    let scene = Scene::new();
    let help = printed(&scene.output(&[subcommand, "--help"]));
    let codes = help.split("\nExit codes:\n").nth(1).unwrap();
    let in_help = |code: &str| codes.lines().any(|line| line.starts_with(&format!("  {code} ")));
    let page = printed(&scene.output(&["man", subcommand]));
    let status = page.split(".SH \"EXIT STATUS\"\n").nth(1).unwrap();
    let in_page =
        |code: &str| status.contains(&format!(".TP\n\\fB{}\\fR\n", code.replace('-', "\\-")));
    for (codes, there) in [(its, true), (not, false)] {
        for code in codes {
            assert_eq!((in_help(code), in_page(code)), (there, there), "{code}: {help}\n{page}");
        }
    }
}

#[test]
fn a_synopsis_fits_a_line() {
    let page = printed(&Scene::new().output(&["man", "run"]));
    let synopsis = "lease run [OPTIONS] \\-\\-on <URL> [NAME] \\-\\- <COMMAND>...";
    assert!(page.contains(&format!(".SH SYNOPSIS\n{synopsis}\n")), "{page}");
}

#[test]
fn there_is_no_page_of_what_is_not_there() {
    let printed = Scene::new().output(&["man", "stroll"]);
    assert_eq!(printed.status.code(), Some(64));
    assert!(text(&printed.stderr).contains("possible values: run,"), "{}", text(&printed.stderr));
}
