//! Runs servers by hand: `cargo run -p testbed -- nats`, or `all` of them.
//!
//! Prints the variables that make the tests use them, and runs them until its input ends.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

use std::io::{self, Read};
use std::process::ExitCode;

use testbed::Shared;
use testbed::azure::Azure;
use testbed::gcs::Gcs;
use testbed::mongo::{ReplicaSet, Users};
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
            let set = ReplicaSet::shared()?;
            hold(&[set.variable()])
        }
        "mongo-users" => {
            let users = Users::shared()?;
            hold(&[users.variable()])
        }
        "nats" => {
            let server = nats::shared()?;
            hold(&[nats::variable(&server)])
        }
        "s3" => {
            let s3 = S3::shared()?;
            hold(&[s3.variable()])
        }
        "azure" => {
            let azure = Azure::shared()?;
            hold(&[azure.variable()])
        }
        "gcs" => {
            let gcs = Gcs::shared()?;
            hold(&[gcs.variable()])
        }
        "all" => {
            let shared = Shared::start()?;
            hold(&shared.variables())
        }
        _ => Err("say which: mongo, mongo-users, nats, s3, azure, gcs or all".into()),
    }
}

/// The servers live in the caller until this returns.
fn hold(variables: &[(&str, String)]) -> Result<(), Anything> {
    for (variable, url) in variables {
        println!("{variable}={url}");
    }
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
