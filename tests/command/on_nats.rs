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
