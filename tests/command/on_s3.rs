//! The same command with its leases in a bucket.

use nix::sys::signal::Signal;
use serde_json::Value;
use testbed::s3::S3;

use crate::on_a_server;
use crate::scene::{SECOND, Scene, stands_still, text, ticking, until};

/// The shortest that a bucket's clock can judge, in seconds.
const TTL: u32 = 5;

/// A prefix of its own in a bucket on this server, where somebody held a lease before.
fn on(server: &S3) -> Scene {
    server.create_bucket("backups").unwrap();
    let (prefix, region) = (leasehold::Jitter::system().nonce(), server.region());
    let url = format!("s3://backups/{prefix}?region={region}&endpoint={}", server.url());
    let login = vec![
        ("AWS_ACCESS_KEY_ID", server.key_id().to_owned()),
        ("AWS_SECRET_ACCESS_KEY", server.secret().to_owned()),
    ];
    let scene = Scene::at_with(url, login);
    // A server that was only just started answers some of its first requests late.
    let first = || scene.output(&["run", "first", "--", "true"]).status.success();
    assert!(until(SECOND * 30, first), "nobody is there");
    scene
}

#[test]
fn two_shells_take_turns() {
    let server = S3::shared().unwrap();
    let scene = on(&server);
    on_a_server::two_shells_take_turns(&scene, TTL);
}

#[test]
fn a_ticket_works_once() {
    let server = S3::shared().unwrap();
    on_a_server::a_ticket_works_once(&on(&server), TTL);
}

#[test]
fn a_server_that_stops_ends_the_whole_group_within_the_ttl() {
    let mut server = S3::start().unwrap();
    let scene = on(&server);
    on_a_server::a_server_that_stops_ends_the_whole_group_within_the_ttl(
        server.server(),
        &scene,
        TTL,
    );
}

#[test]
fn a_server_that_stops_is_told_to_the_script() {
    let mut server = S3::start().unwrap();
    let scene = on(&server);
    on_a_server::a_server_that_stops_is_told_to_the_script(server.server(), &scene, TTL);
}

/// The wrapper is killed with -9: what it ran ends, and whoever waits gets its turn within the ttl,
/// and not before. An operator need not wait for it.
#[test]
fn a_killed_holder_is_followed_or_broken() {
    let server = S3::shared().unwrap();
    let scene = on(&server);
    let log = scene.path("log");
    let args = ["run", "--ttl", "5s", "backup", "--", "sh", "-c", &ticking(&log)];
    let mut job = scene.shell("job", &args);
    scene.lines("log", 5);
    let epoch = scene.epoch("backup");
    job.signal(Signal::SIGKILL);
    assert_eq!(job.exit_within(SECOND), None, "by a signal");

    let next = scene.output(&["run", "--wait", "20s", "backup", "--", "date", "+%s%N"]);
    assert!(next.status.success(), "{}", text(&next.stderr));
    assert!(stands_still(&log), "the one before has ended");
    assert!(scene.lines("log", 1).last().unwrap().as_str() < text(&next.stdout).trim());
    assert!(scene.epoch("backup") > epoch);

    // The same once more, for an operator who does not wait.
    let mut job = scene.shell("again", &["run", "--ttl", "1h", "backup", "--", "sleep", "3600"]);
    scene.wait_for_state("backup", "exclusive");
    job.signal(Signal::SIGKILL);
    assert_eq!(job.exit_within(SECOND), None, "by a signal");
    let shown = scene.status("backup");
    let id = shown["holders"][0]["id"].as_str().expect("the holder is shown");
    let broken = scene.output(&["break", "backup", "--id", id, "--why", "it was killed"]);
    assert!(broken.status.success(), "{}", text(&broken.stderr));
    let next = scene.output(&["run", "--no-wait", "backup", "--", "true"]);
    assert!(next.status.success(), "{}", text(&next.stderr));
    let listed: Value = serde_json::from_slice(&scene.output(&["list", "--json"]).stdout).unwrap();
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");
}

/// Credentials that are wrong, and a bucket that is not there, are told in a sentence with what to
/// do, and at once.
#[test]
fn what_a_person_has_to_mend_is_told() {
    let server = S3::shared().unwrap();
    let scene = on(&server);
    let wrong = scene
        .lease(&["status", "backup"])
        .env("AWS_SECRET_ACCESS_KEY", "not-the-secret")
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(78), "{}", text(&wrong.stderr));
    let told = text(&wrong.stderr);
    assert!(told.contains("credentials") && !told.contains("not-the-secret"), "{told}");

    let url = format!("s3://no-such/leases?region={}&endpoint={}", server.region(), server.url());
    let missing = scene.output(&["status", "--on", &url, "backup"]);
    assert_eq!(missing.status.code(), Some(78), "{}", text(&missing.stderr));
    assert!(text(&missing.stderr).contains("create the bucket"), "{}", text(&missing.stderr));
    let typo = scene.output(&["status", "--on", "s3://backups?regoin=here", "backup"]);
    assert_eq!(typo.status.code(), Some(64), "{}", text(&typo.stderr));
    assert!(text(&typo.stderr).contains("region"), "{}", text(&typo.stderr));
}

/// A bucket that is right, one that is not there, and credentials that are wrong.
#[test]
fn the_doctor_tells_what_it_finds() {
    let server = S3::shared().unwrap();
    let scene = on(&server);
    let right = scene.output(&["doctor", "--json"]);
    assert_eq!(right.status.code(), Some(0), "{}{}", text(&right.stdout), text(&right.stderr));
    let told: Value = serde_json::from_slice(&right.stdout).unwrap();
    let checks = told["checks"].as_array().unwrap();
    let holds = |name: &str| checks.iter().any(|c| c["name"] == name && c["result"] == "holds");
    assert!(holds("conditional-create") && holds("writers-first"), "{told}");

    let url = format!("s3://no-such/leases?region={}&endpoint={}", server.region(), server.url());
    let missing = scene.output(&["doctor", "--on", &url]);
    assert_eq!(missing.status.code(), Some(78), "{}", text(&missing.stdout));
    let mut command = scene.lease(&["doctor"]);
    let wrong = command.env("AWS_SECRET_ACCESS_KEY", "not-the-secret").output().unwrap();
    assert_eq!(wrong.status.code(), Some(78), "{}", text(&wrong.stdout));
    let shown = text(&wrong.stdout);
    assert!(shown.contains("login is broken") && !shown.contains("not-the-secret"), "{shown}");
}
