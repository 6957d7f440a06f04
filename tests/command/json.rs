//! What machines read.

use serde_json::Value;

use crate::scene::{SECOND, Scene, text, until};

/// Each thing that happens is a line; the last one tells the exit.
#[test]
fn a_run_tells_its_events() {
    let scene = Scene::new();
    let ended = scene.output(&["run", "--json", "job", "--", "sh", "-c", "exit 3"]);
    let events: Vec<Value> =
        text(&ended.stderr).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["granted", "released", "exit"]);
    assert_eq!(events[0]["epoch"], scene.epoch("job"));
    assert_eq!((&events[2]["code"], &events[2]["cause"]), (&3.into(), &"command".into()));
}

#[test]
fn a_wait_tells_who_holds() {
    let scene = Scene::new();
    let _holder = scene.shell("holder", &["run", "--label", "alpha", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "exclusive");
    let ended = scene.output(&["run", "--json", "--wait", "200ms", "job", "--", "true"]);
    let told = text(&ended.stderr);
    let first: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
    assert_eq!((&first["event"], &first["holder"]["label"]), (&"waiting".into(), &"alpha".into()));
    assert!(first["holder"]["free_in_ms"].as_u64().unwrap() <= 15_000);
    let last: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    assert_eq!((&last["cause"], &last["code"]), (&"busy".into(), &75.into()));
}

/// However often it looks, a waiter tells of each change of who is in the way once.
#[test]
fn a_wait_tells_each_holder_once() {
    let scene = Scene::new();
    let hold = |label: &str| {
        let args = ["run", "--label", label, "--writer", "job", "--", "sleep", "60"];
        scene.shell(label, &args)
    };
    let alpha = hold("alpha");
    scene.wait_for_state("job", "writers");
    let beta = hold("beta");
    assert!(until(SECOND * 10, || scene.status("job")["holders"].as_array().unwrap().len() == 2));
    let waits = scene.shell("waits", &["run", "--json", "job", "--", "true"]);
    scene.wait_for_state("job", "draining");
    // Time for many looks.
    assert!(!until(SECOND * 3, || waits.told().lines().count() > 3), "{}", waits.told());
    let told: Vec<Value> = waits.told().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let mut seen: Vec<_> = told
        .iter()
        .map(|event| {
            format!("{} {} {}", event["holder"]["id"], event["writers"], event["draining"])
        })
        .collect();
    let all = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), all, "{}", waits.told());
    drop(alpha);
    let gone = scene.status("job")["holders"]
        .as_array()
        .unwrap()
        .iter()
        .find(|holder| holder["label"] == "alpha")
        .map(|holder| holder["id"].as_str().unwrap().to_owned());
    if let Some(id) = gone {
        assert!(scene.output(&["break", "job", "--id", &id]).status.success());
    }
    assert!(until(SECOND * 10, || waits.told().lines().count() > all), "{}", waits.told());
    let last: Value = serde_json::from_str(waits.told().lines().last().unwrap()).unwrap();
    assert_eq!((&last["holder"]["label"], &last["writers"]), (&"beta".into(), &1.into()));
    drop(beta);
}

/// Status and list show what is known of a holder, and write nothing. (Case 37.)
#[test]
fn looking_shows_all_and_writes_nothing() {
    let scene = Scene::new();
    let args = ["run", "--label", "alpha", "--meta", "why=test", "job", "--", "sleep", "60"];
    let holder = scene.shell("holder", &args);
    scene.wait_for_state("job", "exclusive");
    let files = || {
        let mut all = Vec::new();
        for folder in std::fs::read_dir(scene.path("leases")).unwrap() {
            let folder = folder.unwrap().path();
            all.push(folder.clone());
            if folder.is_dir() {
                all.extend(std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()));
            }
        }
        all.sort();
        all
    };
    let before = files();

    let status = scene.status("job");
    let holder_view = &status["holders"][0];
    assert_eq!(holder_view["label"], "alpha");
    assert_eq!(holder_view["mode"], "exclusive");
    assert_eq!(holder_view["pid"], holder.pid().as_raw());
    assert_eq!(holder_view["metadata"]["why"], "test");
    assert!(holder_view["since_ms"].as_u64().unwrap() > 1_700_000_000_000);
    assert_eq!(status["token"].as_u64(), status["epoch"].as_u64().map(|epoch| 2 * epoch));

    let list: Value = serde_json::from_slice(&scene.output(&["list", "--json"]).stdout).unwrap();
    assert_eq!(list[0]["name"], "job");
    assert_eq!(files(), before);
    let free = scene.status("nobody ever asked for it");
    assert_eq!((&free["state"], &free["epoch"]), (&"free".into(), &0.into()));
}
