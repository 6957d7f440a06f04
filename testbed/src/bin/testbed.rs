//! Runs one server by hand: `cargo run -p testbed -- nats`.
//!
//! Prints the variable that makes the tests use it, and runs it until its input ends.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

use std::io::{self, Read};
use std::process::ExitCode;

use testbed::azure::Azure;
use testbed::gcs::Gcs;
use testbed::mongo::{self, ReplicaSet};
use testbed::nats;
use testbed::s3::S3;

type Anything = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    match run(&wanted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn run(wanted: &str) -> Result<(), Anything> {
    match wanted {
        "mongo" => {
            let server = mongo::standalone()?;
            hold("LEASE_TEST_MONGO_URL", server.url())
        }
        "mongo-replica-set" => {
            let set = ReplicaSet::start(3)?;
            hold("LEASE_TEST_MONGO_URL", set.url())
        }
        "nats" => {
            let server = nats::single()?;
            hold("LEASE_TEST_NATS_URL", server.url())
        }
        "s3" => {
            let s3 = S3::start()?;
            let url = s3.url().replacen("://", &format!("://{}:{}@", s3.key_id(), s3.secret()), 1);
            hold("LEASE_TEST_S3_URL", &url)
        }
        "azure" => {
            let azure = Azure::start()?;
            hold("LEASE_TEST_AZURE_URL", azure.url())
        }
        "gcs" => {
            let gcs = Gcs::start()?;
            hold("LEASE_TEST_GCS_URL", gcs.url())
        }
        _ => Err("say which: mongo, mongo-replica-set, nats, s3, azure or gcs".into()),
    }
}

/// The server lives in the caller until this returns.
fn hold(variable: &str, url: &str) -> Result<(), Anything> {
    println!("{variable}={url}");
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
