//! The same command with its leases on MongoDB.

use testbed::{Server, mongo};

use crate::on_a_server;
use crate::scene::{Scene, text};

/// A server of its own, and the URL of a collection on it that is not there yet.
fn on_mongo() -> (Server, Scene) {
    let server = mongo::standalone().unwrap();
    let (hosts, query) = server.url().split_once("/?").unwrap();
    let scene = Scene::at(format!("{hosts}/jobs?{query}&collection=locks"));
    (server, scene)
}

#[test]
fn two_shells_take_turns() {
    let (_server, scene) = on_mongo();
    on_a_server::two_shells_take_turns(&scene, on_a_server::TTL);
}

#[test]
fn a_server_that_stops_ends_the_whole_group_within_the_ttl() {
    let (server, scene) = on_mongo();
    on_a_server::a_server_that_stops_ends_the_whole_group_within_the_ttl(
        &server,
        &scene,
        on_a_server::TTL,
    );
}

#[test]
fn a_ticket_works_once() {
    let (_server, scene) = on_mongo();
    on_a_server::a_ticket_works_once(&scene, on_a_server::TTL);
}

#[test]
fn a_server_that_stops_is_told_to_the_script() {
    let (server, scene) = on_mongo();
    on_a_server::a_server_that_stops_is_told_to_the_script(&server, &scene, on_a_server::TTL);
}

/// A server alone is in doubt and not broken; one that is stopped does not answer.
#[test]
fn the_doctor_tells_what_it_finds() {
    let (server, scene) = on_mongo();
    let doubt = scene.output(&["doctor"]);
    assert_eq!(doubt.status.code(), Some(0), "{}{}", text(&doubt.stdout), text(&doubt.stderr));
    let shown = text(&doubt.stdout);
    assert!(shown.contains("topology is doubtful") && shown.contains("--replSet"), "{shown}");
    let listed = scene.output(&["list", "--json"]);
    assert_eq!(text(&listed.stdout).trim(), "[]", "nothing is left");
    server.kill().unwrap();
    let away = scene.output(&["doctor"]);
    assert_eq!(away.status.code(), Some(69), "{}{}", text(&away.stdout), text(&away.stderr));
}
