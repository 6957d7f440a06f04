//! What the command does alike with its leases on any server.

use serde_json::Value;
use testbed::Server;

use crate::scene::{SECOND, Scene, stands_still, text, ticking};

/// The ttl where nothing speaks for a longer one, in seconds.
pub(crate) const TTL: u32 = 3;

/// One shell holds, another one is refused, looks, waits and follows with a higher epoch.
pub(crate) fn two_shells_take_turns(scene: &Scene, ttl: u32) {
    let gate = scene.path("gate");
    let script = format!("until [ -e {} ]; do sleep .02; done", gate.display());
    let ttl = format!("{ttl}s");
    let mut job = scene.shell("job", &["run", "--ttl", &ttl, "job", "--", "sh", "-c", &script]);
    scene.wait_for_state("job", "exclusive");
    let epoch = scene.epoch("job");

    let refused = scene.output(&["run", "--no-wait", "job", "--", "true"]);
    assert_eq!(refused.status.code(), Some(75), "{}", text(&refused.stderr));
    let listed = scene.output(&["list", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert!(names.contains(&Value::from("job")), "{listed}");

    let mut next = scene.shell("next", &["run", "--wait", "20s", "job", "--", "true"]);
    std::fs::write(gate, "").unwrap();
    assert_eq!(job.exit_within(SECOND * 10), Some(0), "{}", job.told());
    assert_eq!(next.exit_within(SECOND * 10), Some(0), "{}", next.told());
    assert!(scene.epoch("job") > epoch);
    assert_eq!(scene.state("job"), "free");
}

/// The server stops. The command and all it has started are ended before the ttl is over, though
/// they do not listen, and whoever comes when the server is back begins later. (Case 51.)
pub(crate) fn a_server_that_stops_ends_the_whole_group_within_the_ttl(
    server: &Server,
    scene: &Scene,
    ttl: u32,
) {
    let log = scene.path("log");
    let script = format!("trap '' TERM; (trap '' TERM; {}) ; true", ticking(&log));
    let within = SECOND * (ttl + 1);
    let ttl = format!("{ttl}s");
    let args = ["run", "--ttl", &ttl, "--kill-grace", "500ms", "job", "--", "sh", "-c", &script];
    let mut job = scene.shell("job", &args);
    scene.lines("log", 5);

    server.pause().unwrap();
    assert_eq!(job.exit_within(within), Some(79), "{}", job.told());
    assert!(stands_still(&log));

    server.resume().unwrap();
    let next = scene.output(&["run", "--wait", "20s", "job", "--", "date", "+%s%N"]);
    assert!(next.status.success(), "{}", text(&next.stderr));
    assert!(scene.lines("log", 1).last().unwrap().as_str() < text(&next.stdout).trim());
}
