//! A short storm on a folder, from the outside: it runs, is judged, and can be judged again.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_faults");

fn faults(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

fn last_line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_owned()
}

#[test]
fn is_clean_and_can_be_judged_again_and_a_spoiled_history_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let ran = faults(&["--backend", "file", "--minutes", "0.2", "--seed", "7", "--out", out]);
    assert!(ran.status.success(), "{}", said(&ran));
    let sum = last_line(&ran);
    let parts = ["file: ", " grants, ", " faults, 0 overlaps, 0 epoch regressions, "];
    assert!(parts.iter().all(|part| sum.contains(part)), "{sum}");

    let history = folder.path().join("file-7/history.jsonl");
    let again = faults(&["--judge", history.to_str().unwrap()]);
    assert!(again.status.success(), "{}", said(&again));
    assert_eq!(last_line(&again), sum);

    let spoiled = folder.path().join("spoiled.jsonl");
    fs::write(&spoiled, without_the_last_turns(&history)).unwrap();
    let spoiled = faults(&["--judge", spoiled.to_str().unwrap()]);
    assert!(!spoiled.status.success(), "{}", said(&spoiled));
}

/// As if nobody had got on after the faults.
fn without_the_last_turns(history: &Path) -> String {
    let text = fs::read_to_string(history).unwrap();
    let kept = text.lines().filter(|line| !line.contains(r#""what":"turn""#));
    kept.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_history_that_is_not_there_is_an_error() {
    let judged = faults(&["--judge", "/no/such/history"]);
    assert!(!judged.status.success());
    assert!(said(&judged).contains("/no/such/history"), "{}", said(&judged));
}
