//! Servers that the tests of a binary share, and what a test does to a store behind its back.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![expect(clippy::expect_used, reason = "helpers of tests: a failure is the test's failure")]

pub(crate) mod store;
pub(crate) mod wire;

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;

use lease_core::Jitter;
use lease_mongo::{Mongo, Options};
use mongodb::Client;
use testbed::mongo::{ReplicaSet, Users};

/// Three members that the tests share, and none of them stops.
pub(crate) static SET: LazyLock<ReplicaSet> =
    LazyLock::new(|| ReplicaSet::shared().expect("a replica set"));

/// One that asks who is there, and that the tests share too.
pub(crate) static USERS: LazyLock<Users> =
    LazyLock::new(|| Users::shared().expect("a server with users"));

/// A database that no other test uses.
pub(crate) fn fresh_database() -> String {
    format!("t{}", &Jitter::system().nonce().to_string()[..12])
}

/// The URL of `set` with this database and these parameters.
pub(crate) fn url_of(set: &str, database: &str, parameters: &str) -> String {
    let (hosts, query) = set.split_once("/?").expect("a URL of the testbed");
    format!("{hosts}/{database}?{query}{parameters}")
}

/// The shared replica set's URL, for clients that bear with a machine that is busy with tests.
pub(crate) fn url(database: &str) -> String {
    url_of(SET.url(), database, "&timeoutMS=10000")
}

/// The options of a client of the shared replica set.
pub(crate) fn options(database: &str) -> Options {
    Options::parse(&url(database)).expect("a URL")
}

/// A client of the shared replica set.
pub(crate) async fn connected(database: &str) -> Mongo {
    lease_mongo::connect(options(database)).await.expect("the replica set is there")
}

/// The driver itself, as a person with a shell would use it.
pub(crate) async fn shell(url: &str) -> Client {
    Client::with_uri_str(url).await.expect("a client")
}

/// Where the primary of the shared replica set listens.
pub(crate) fn primary_address() -> SocketAddr {
    let primary = SET.primary().expect("a primary");
    let url = SET.members().nth(primary).expect("it is a member").url();
    let address = url.trim_start_matches("mongodb://").split('/').next().expect("an address");
    address.parse().expect("an address")
}

/// Long enough for a machine that is busy, short enough for somebody who waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
