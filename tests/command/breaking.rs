//! `lease break` ends exactly what was shown. (Case 47.)

use crate::scene::{SECOND, Scene, text};

#[test]
fn it_needs_the_holders_own_id() {
    let scene = Scene::new();
    let _holder = scene.shell("holder", &["run", "--label", "alpha", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "exclusive");
    let before = scene.status("job");
    let id = before["holders"][0]["id"].as_str().unwrap().to_owned();

    let wrong = scene.output(&["break", "job", "--id", &"0".repeat(32), "--why", "a guess"]);
    assert_eq!(wrong.status.code(), Some(66));
    assert!(text(&wrong.stderr).contains("nothing was changed"), "{}", text(&wrong.stderr));
    assert_eq!(scene.status("job")["holders"][0]["id"], id.as_str());

    let neither = scene.output(&["break", "job"]);
    assert_eq!(neither.status.code(), Some(64));

    let right = scene.output(&["break", "job", "--id", &id, "--why", "it hangs"]);
    assert_eq!(right.status.code(), Some(0), "{}", text(&right.stderr));
    assert_eq!(scene.state("job"), "free");
    assert!(scene.epoch("job") > before["epoch"].as_u64().unwrap());

    let free = scene.output(&["break", "job", "--force"]);
    assert_eq!(free.status.code(), Some(66));
}

/// By force all of it goes: writers and the exclusive that waits for them.
#[test]
fn by_force_it_ends_all_of_them() {
    let scene = Scene::new();
    let _one = scene.shell("one", &["run", "--writer", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "writers");
    let _two = scene.shell("two", &["run", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "draining");

    let broken = scene.output(&["break", "job", "--force", "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&broken.stdout).unwrap();
    assert_eq!(told["broken"].as_array().unwrap().len(), 2);
    assert_eq!(scene.output(&["run", "--no-wait", "job", "--", "true"]).status.code(), Some(0));
}

/// One that waits for the writers to end holds a place that can be broken as well: it starts nothing.
#[test]
fn one_that_waits_for_writers_can_be_broken() {
    let scene = Scene::new();
    let _writer = scene.shell("writer", &["run", "--writer", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "writers");
    let never = scene.path("never");
    let mut waits = scene.shell("waits", &["run", "job", "--", "touch", never.to_str().unwrap()]);
    scene.wait_for_state("job", "draining");

    assert!(scene.output(&["break", "job", "--force"]).status.success());

    assert_eq!(waits.exit_within(SECOND * 10), Some(79), "{}", waits.told());
    assert!(!never.exists());
}
