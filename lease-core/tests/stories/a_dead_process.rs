//! A process that is gone for good, and one of which that cannot be said. (Case 30.)

use std::process::Command;
use std::sync::Arc;

use lease_core::{Backend, Claim, HolderInfo, Jitter, Mode, Policy, ProcessId};
use rstest::rstest;
use serde_json::json;

use crate::world::{JOB, SECOND, World, held_by, job};

/// A process that ended: its pid is free again, or belongs to somebody else by now.
fn ended() -> ProcessId {
    let mut child = Command::new("true").spawn().unwrap();
    let pid = child.id();
    child.wait().unwrap();
    let mut value = serde_json::to_value(ProcessId::of_this_process().unwrap()).unwrap();
    value["pid"] = json!(pid);
    value["started"] = json!(1);
    serde_json::from_value(value).unwrap()
}

/// The exclusive of a process, as it left it.
async fn left_by(world: &World, process: ProcessId) {
    let here = HolderInfo::of_this_process().build().unwrap();
    left_at(world, &here.host, process).await;
}

async fn left_at(world: &World, host: &str, process: ProcessId) {
    let mut info = serde_json::to_value(HolderInfo::default()).unwrap();
    info["host"] = json!(host);
    info["label"] = json!("gone");
    info["process"] = serde_json::to_value(process).unwrap();
    let claim = Claim {
        name: job(),
        nonce: Jitter::system().nonce(),
        mode: Mode::Exclusive,
        ttl: SECOND * 60,
        info: Arc::new(serde_json::from_value(info).unwrap()),
    };
    let seen = world.store.observe(&job()).await.unwrap();
    world.store.install(&claim, &seen, None).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn need_not_be_waited_for() {
    let world = World::new();
    left_by(&world, ended()).await;
    let ann = world.person("ann", SECOND * 2);

    let refusing = ann.exclusive(JOB).policy(Policy::refuse()).acquire().await;
    assert_eq!(held_by(refusing), "gone");
    drop(ann.exclusive(JOB).acquire().await.unwrap());
}

/// The same pid, but of another boot or another container: it may well be alive.
#[rstest]
#[case::another_boot("boot", json!("00000000-0000-0000-0000-000000000000"))]
#[case::another_namespace("namespace", json!(1))]
#[tokio::test(start_paused = true)]
async fn elsewhere_is_respected(#[case] field: &str, #[case] other: serde_json::Value) {
    let world = World::new();
    let mut process = serde_json::to_value(ended()).unwrap();
    process[field] = other;
    left_by(&world, serde_json::from_value(process).unwrap()).await;

    let ann = world.person("ann", SECOND * 2);
    assert_eq!(held_by(ann.exclusive(JOB).acquire().await), "gone");
}

/// Two machines that were restored from one image have one boot id. Their names tell them apart.
#[tokio::test(start_paused = true)]
async fn on_a_machine_of_another_name_is_respected() {
    let world = World::new();
    left_at(&world, "its-twin", ended()).await;

    let ann = world.person("ann", SECOND * 2);
    assert_eq!(held_by(ann.exclusive(JOB).acquire().await), "gone");
}
