//! What the command does alike with its leases on any server.

use serde_json::Value;
use testbed::Server;

use crate::scene::{SECOND, Scene, stands_still, text, ticking};
use crate::tickets::printed;

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

/// A lease goes from ticket to ticket and to another process, each of them works once, and the name
/// is free in the end.
pub(crate) fn a_ticket_works_once(scene: &Scene, ttl: u32) {
    let ttl = format!("{ttl}s");
    let first = printed(&scene.output(&["acquire", "--ttl", &ttl, "job"]));
    let second = printed(&scene.output(&["renew", "--ticket", &first]));
    for command in ["renew", "check", "release"] {
        let spent = scene.output(&[command, "--ticket", &first]);
        assert_eq!(spent.status.code(), Some(79), "{command}: {}", text(&spent.stderr));
    }
    let epoch = scene.epoch("job");
    let check = printed(&scene.output(&["check", "--ticket", &second]));
    assert!(check.contains(&format!("epoch {epoch}")), "{check}");
    let args = ["run", "--ticket", &second, "--", "sh", "-c", "echo $LEASE_EPOCH"];
    assert_eq!(printed(&scene.output(&args)), epoch.to_string());
    let spent = scene.output(&["check", "--ticket", &second]);
    assert_eq!(spent.status.code(), Some(79), "{}", text(&spent.stderr));
    assert_eq!(scene.state("job"), "free");
}

/// The server stops. The script whose lease is kept in the background is told before the ttl is over.
pub(crate) fn a_server_that_stops_is_told_to_the_script(server: &Server, scene: &Scene, ttl: u32) {
    let script = format!(
        "trap 'echo lost; exit' TERM
         ticket=$(lease acquire --ttl {ttl}s --keep-while $$ --on-lost TERM job) || exit
         echo held; while :; do sleep .05; done"
    );
    let mut script = scene.shell_of("script", scene.script(&script));
    assert_eq!(scene.lines("script.out", 1), ["held"], "{}", script.told());
    server.pause().unwrap();
    let ended = script.exit_within(SECOND * ttl);
    server.resume().unwrap();
    assert_eq!(ended, Some(0), "{}", script.told());
    assert_eq!(scene.lines("script.out", 2), ["held", "lost"]);
    printed(&scene.output(&["run", "--wait", "20s", "job", "--", "true"]));
}
