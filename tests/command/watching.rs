//! `lease watch` and `lease bench`.

use serde_json::Value;

use crate::scene::{SECOND, Scene, read, text, until};

/// Each change is a line, for people and for machines, and who broke what is told by status.
#[test]
fn each_change_is_told() {
    let scene = Scene::new();
    // The folder is made by whoever holds first.
    assert!(scene.output(&["run", "job", "--", "true"]).status.success());
    let people = scene.shell("people", &["watch", "job", "other"]);
    let machine = scene.shell("machine", &["watch", "--json", "job"]);
    let told = |file: &str| read(&scene.path(file));
    assert!(until(SECOND * 10, || told("people.out").contains("  job  free")));
    assert!(until(SECOND * 10, || told("people.out").contains("  other  free")));
    assert!(until(SECOND * 10, || told("machine.out").contains("free")));

    let args = ["run", "--ttl", "2s", "--label", "ann", "job", "--", "sleep", "60"];
    let mut job = scene.shell("job", &args);
    assert!(until(SECOND * 10, || told("people.out").contains("  job  ann holds it alone; epoch")));
    assert!(until(SECOND * 10, || told("machine.out").contains(r#""state":"exclusive""#)));
    let broken = scene.output(&["break", "job", "--force", "--why", "it hangs"]);
    assert!(broken.status.success(), "{}", text(&broken.stderr));
    // A grant and a break may be seen half done, so that it is told more than once what is the case.
    let last = |file: &str, of: &str| {
        told(file).lines().rfind(|line| line.contains(of)).map(str::to_owned)
    };
    let free = |line: Option<String>, text: &str| line.is_some_and(|line| line.contains(text));
    assert!(until(SECOND * 10, || free(last("people.out", "  job  "), "  job  free")));
    job.exit_within(SECOND * 5);

    assert!(until(SECOND * 10, || free(last("machine.out", "{"), r#""state":"free""#)));
    let told = told("machine.out");
    let lines: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut states: Vec<_> = lines.iter().map(|line| line["state"].as_str().unwrap()).collect();
    // What raises the epoch holds for a moment.
    states.retain(|state| *state != "draining");
    states.dedup();
    assert_eq!(states, ["free", "exclusive", "free"]);
    let held = lines.iter().find(|line| line["state"] == "exclusive").unwrap();
    assert_eq!(held["holders"][0]["label"], "ann");
    assert!(lines.is_sorted_by_key(|line| line["seen_ms"].as_u64()));

    let status = scene.status("job");
    assert_eq!(status["last_break"]["why"], "it hangs");
    assert!(status["last_break"]["at_ms"].as_u64().unwrap() > 0);
    let status = text(&scene.output(&["status", "job"]).stdout);
    assert!(status.contains("last broken") && status.contains(": it hangs"), "{status}");
    drop((people, machine));
}

/// A name that nobody has used is free; a store that is not there is an error.
#[test]
fn what_is_not_there_is_told_apart() {
    let scene = Scene::new();
    assert!(scene.output(&["run", "job", "--", "true"]).status.success());
    let watching = scene.shell("watching", &["watch", "no-such-name"]);
    assert!(until(SECOND * 10, || read(&scene.path("watching.out")).contains("free")));
    drop(watching);
    let nowhere = scene.output(&["watch", "--on", "file:///no/such/folder/leases", "job"]);
    assert_eq!(nowhere.status.code(), Some(78), "{}", text(&nowhere.stderr));
}

/// All operations are measured, and nobody holds the name afterwards.
#[test]
fn a_bench_measures_each_operation() {
    let scene = Scene::new();
    let output = scene.output(&["bench", "--rounds", "5", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let measured: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<_> =
        measured.as_array().unwrap().iter().map(|it| it["operation"].as_str().unwrap()).collect();
    let expected = [
        "look",
        "acquire exclusive",
        "renew",
        "confirm",
        "release exclusive",
        "acquire writer",
        "release writer",
    ];
    assert_eq!(names, expected);
    for one in measured.as_array().unwrap() {
        assert_eq!(one["rounds"], 5);
        assert!(one["p50_us"].as_u64() <= one["max_us"].as_u64());
    }
    let requests = measured.as_array().unwrap().iter().map(|it| it["requests"].as_u64().unwrap());
    assert_eq!(requests.collect::<Vec<_>>(), [1, 2, 2, 1, 2, 3, 2]);
    assert_eq!(scene.state("lease-bench"), "free");

    let table = text(&scene.output(&["bench", "--rounds", "1", "mine"]).stdout);
    assert!(table.contains("acquire exclusive"), "{table}");
    let holder = scene.shell("holder", &["run", "mine", "--", "sleep", "60"]);
    scene.wait_for_state("mine", "exclusive");
    assert_eq!(scene.output(&["bench", "--rounds", "1", "mine"]).status.code(), Some(75));
    assert_eq!(scene.output(&["bench", "--rounds", "0"]).status.code(), Some(64));
    drop(holder);
}
