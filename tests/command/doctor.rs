//! `lease doctor` says whether a store gives what leases need, and leaves it as it was.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::scene::{Scene, text};

/// All files and folders below one, with what is in them.
fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            all.insert(path.clone(), std::fs::read(&path).unwrap_or_default());
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    all
}

/// The one object that `--json` prints.
#[track_caller]
fn json(output: &Output) -> Value {
    let read = serde_json::from_slice(&output.stdout);
    read.unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

/// The check of this name, in that object.
#[track_caller]
fn check<'v>(told: &'v Value, name: &str) -> &'v Value {
    let checks = told["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name}: {told}"))
}

/// Somebody holds a lease, and somebody else asks whether the store is right: the lease goes on, and
/// what is there afterwards is what was there before.
#[test]
fn a_store_in_use_is_left_as_it_was() {
    let scene = Scene::new();
    let args = ["run", "--ttl", "1h", "--label", "alpha", "job", "--", "sleep", "60"];
    let _holder = scene.shell("holder", &args);
    scene.wait_for_state("job", "exclusive");
    let before = everything(&scene.path("leases"));

    let told = scene.output(&["doctor"]);
    assert_eq!(told.status.code(), Some(0), "{}{}", text(&told.stdout), text(&told.stderr));
    let table = text(&told.stdout);
    for word in ["CHECK", "RESULT", "WHAT", "one-holder", "conditional-create", "holds"] {
        assert!(table.contains(word), "{table}");
    }
    assert_eq!(everything(&scene.path("leases")), before);
    assert_eq!(scene.status("job")["holders"][0]["label"], "alpha");
}

#[test]
fn machines_read_one_object() {
    let scene = Scene::new();
    assert!(scene.output(&["run", "job", "--", "true"]).status.success());
    let output = scene.output(&["doctor", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told = json(&output);
    assert_eq!(told["backend"], "objstore");
    assert!(["sound", "doubtful"].contains(&told["verdict"].as_str().unwrap()), "{told}");
    let one = check(&told, "one-holder");
    assert_eq!((&one["result"], &one["fix"]), (&"holds".into(), &Value::Null));
    assert!(one["guarantee"].as_str().unwrap().contains("granted"), "{one}");
    assert!(!one["what"].as_str().unwrap().is_empty(), "{one}");
}

/// A folder that is not there is in doubt, for it may be one that is not mounted; above it there must
/// be one.
#[test]
fn a_folder_that_is_missing_is_told_and_not_made() {
    let scene = Scene::new();
    let doubt = scene.output(&["doctor"]);
    assert_eq!(doubt.status.code(), Some(0), "{}", text(&doubt.stdout));
    let shown = text(&doubt.stdout);
    assert!(shown.contains("place is doubtful") && shown.contains("to change: "), "{shown}");
    let strict = scene.output(&["doctor", "--strict", "--json"]);
    assert_eq!(strict.status.code(), Some(78), "{}", text(&strict.stdout));
    assert_eq!(json(&strict)["verdict"], "doubtful");

    let url = format!("{}/not/here", scene.url());
    let broken = scene.output(&["doctor", "--on", &url, "--json"]);
    assert_eq!(broken.status.code(), Some(78), "{}", text(&broken.stdout));
    let told = json(&broken);
    assert_eq!(
        (&told["verdict"], &check(&told, "place")["result"]),
        (&"broken".into(), &"broken".into())
    );
    assert!(everything(&scene.path("")).is_empty());
}

#[test]
fn a_folder_that_may_only_be_read_is_broken() {
    let scene = Scene::new();
    assert!(scene.output(&["run", "job", "--", "true"]).status.success());
    let program = scene.as_somebody_else();
    scene.let_only_read();
    let mut command = Command::new(&program);
    command.arg("doctor").env("LEASE_URL", scene.url()).current_dir("/");
    if nix::unistd::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let told = command.output().unwrap();
    scene.let_all_write();
    assert_eq!(told.status.code(), Some(78), "{}", text(&told.stdout));
    let shown = text(&told.stdout);
    assert!(
        shown.contains("may-write is broken") && shown.contains("do not keep leases"),
        "{shown}"
    );
}

/// Nobody is there: that is no finding about the store.
#[cfg(feature = "nats")]
#[test]
fn a_server_that_is_not_there_is_unavailable() {
    let scene = Scene::at("nats://127.0.0.1:1/leases".to_owned());
    let away = scene.output(&["doctor", "--json"]);
    assert_eq!(away.status.code(), Some(69), "{}", text(&away.stdout));
    assert_eq!(json(&away)["verdict"], "unanswered");
}

/// A memory that ends with the command has nothing to look at, nor has a URL that is none.
#[test]
fn a_url_that_is_none_is_a_usage_error() {
    let scene = Scene::new();
    for url in ["memory:", "leases", "s3://bucket?colour=blue"] {
        let told = scene.output(&["doctor", "--on", url]);
        assert_eq!(told.status.code(), Some(64), "{url}: {}", text(&told.stderr));
    }
}
