//! The same command with its leases on NATS.

use testbed::{Server, nats};

use crate::on_a_server;
use crate::scene::{SECOND, Scene, text};

/// A server, and a bucket on it that was used before.
fn on_nats() -> (Server, Scene) {
    let server = nats::single().unwrap();
    let scene = Scene::at(format!("{}/leases", server.url()));
    let first = scene.output(&["run", "first", "--", "true"]);
    assert!(first.status.success(), "{}", text(&first.stderr));
    (server, scene)
}

#[test]
fn two_shells_take_turns() {
    let (_server, scene) = on_nats();
    on_a_server::two_shells_take_turns(&scene, on_a_server::TTL);
}

#[test]
fn a_server_that_stops_ends_the_whole_group_within_the_ttl() {
    let (server, scene) = on_nats();
    on_a_server::a_server_that_stops_ends_the_whole_group_within_the_ttl(
        &server,
        &scene,
        on_a_server::TTL,
    );
}

/// An operator takes the lease away: the command is ended at the next renewal.
#[test]
fn a_broken_lease_ends_the_command() {
    let (_server, scene) = on_nats();
    let mut job = scene.shell("job", &["run", "--ttl", "3s", "job", "--", "sleep", "60"]);
    scene.wait_for_state("job", "exclusive");
    let broken = scene.output(&["break", "job", "--force", "--why", "a test"]);
    assert!(broken.status.success(), "{}", text(&broken.stderr));
    assert_eq!(job.exit_within(SECOND * 4), Some(79), "{}", job.told());
}

#[test]
fn a_ticket_works_once() {
    let (_server, scene) = on_nats();
    on_a_server::a_ticket_works_once(&scene, on_a_server::TTL);
}

#[test]
fn a_server_that_stops_is_told_to_the_script() {
    let (server, scene) = on_nats();
    on_a_server::a_server_that_stops_is_told_to_the_script(&server, &scene, on_a_server::TTL);
}

/// One replica is in doubt and not broken; a bucket in memory is broken unless that is wanted.
#[test]
fn the_doctor_tells_what_it_finds() {
    let (server, scene) = on_nats();
    let doubt = scene.output(&["doctor"]);
    assert_eq!(doubt.status.code(), Some(0), "{}{}", text(&doubt.stdout), text(&doubt.stderr));
    assert!(text(&doubt.stdout).contains("replicas is doubtful"), "{}", text(&doubt.stdout));
    assert_eq!(scene.output(&["doctor", "--strict"]).status.code(), Some(78));

    let forgets = format!("{}/forgets?storage=memory", server.url());
    let first = scene.output(&["run", "--on", &forgets, "first", "--", "true"]);
    assert!(first.status.success(), "{}", text(&first.stderr));
    let wrong = format!("{}/forgets", server.url());
    let broken = scene.output(&["doctor", "--on", &wrong]);
    assert_eq!(broken.status.code(), Some(78), "{}", text(&broken.stdout));
    assert!(text(&broken.stdout).contains("storage is broken"), "{}", text(&broken.stdout));
}
