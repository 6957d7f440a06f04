//! Many at once: one process that holds thousands of leases, many who want the same one, and a thousand
//! writers of one name.
//!
//! `cargo bench -p leasehold --all-features --bench scale` starts the servers that it needs.
#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nothing to say")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use leasehold::memory::Memory;
use leasehold::{Backend, StoreUrl, objstore};
use measure::Bench;
use metrics_util::debugging::DebuggingRecorder;
use testbed::mongo::ReplicaSet;
use testbed::s3::S3;
use tokio::runtime::Runtime;

#[path = "../support/bucket.rs"]
mod bucket;
mod contenders;
mod crowd;
mod holder;

use contenders::contend;
use crowd::crowd;
use holder::hold;

/// How much is asked of a store.
struct Load {
    /// How many leases one process holds, one crowd after the other.
    leases: [usize; 3],
    /// The time between two renewals of each of many writers.
    pace: Duration,
}

/// A ttl of 15 s.
const LIVELY: Load = Load { leases: [1000, 3000, 10_000], pace: Duration::from_secs(5) };
/// A ttl of a minute, where each renewal is two requests that a cloud bills: a thousand writers at the other
/// pace are more than the server of the tests gets done.
const BILLED: Load = Load { leases: [100, 300, 1000], pace: Duration::from_secs(20) };

/// Opens a client of its own on the same store.
type Open = Arc<dyn Fn() -> BoxFuture<'static, Arc<dyn Backend>> + Send + Sync>;

fn at(url: String) -> Open {
    Arc::new(move || {
        let url = url.clone();
        Box::pin(async move { StoreUrl::parse(&url).unwrap().open().await.unwrap() })
    })
}

fn in_bucket(options: objstore::Options) -> Open {
    Arc::new(move || {
        let options = options.clone();
        Box::pin(async move {
            let client: Arc<dyn Backend> = Arc::new(objstore::connect(options).await.unwrap());
            client
        })
    })
}

/// Thirty-two that join a thousand at once wait for each other, on a small machine for long.
fn patient(mongo: &str) -> String {
    format!("{}&timeoutMS=20000", mongo.replacen("/?", "/scale?", 1))
}

fn in_memory() -> Open {
    let memory = Memory::new();
    Arc::new(move || {
        let client: Arc<dyn Backend> = Arc::new(memory.clone());
        Box::pin(async move { client })
    })
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Tells all that is asked of one store. Its server ends with its turn, so that it costs the others
/// nothing.
fn on(bench: &mut Bench, place: &str, open: &Open, load: &Load, recorder: &Recorder) {
    runtime().block_on(async {
        hold(bench, place, open().await, &load.leases, recorder).await;
        contend(bench, place, open).await;
        crowd(bench, place, &*open().await, load.pace).await;
    });
}

type Recorder = metrics_util::debugging::Snapshotter;

fn main() -> ExitCode {
    let Some(mut bench) = Bench::start() else { return ExitCode::SUCCESS };
    let recorder = DebuggingRecorder::new();
    let shown = recorder.snapshotter();
    recorder.install().unwrap();

    on(&mut bench, "memory", &in_memory(), &LIVELY, &shown);
    {
        let alone = testbed::mongo::standalone().unwrap();
        let open = at(patient(alone.url()));
        runtime().block_on(async {
            crowd(&mut bench, "MongoDB, a server alone", &*open().await, LIVELY.pace).await;
        });
    }
    {
        let set = ReplicaSet::start(3).unwrap();
        let url = patient(set.url());
        on(&mut bench, "MongoDB, a replica set of three", &at(url), &LIVELY, &shown);
    }
    {
        let server = testbed::nats::single().unwrap();
        let url = format!("{}/scale", server.url());
        on(&mut bench, "NATS, one server", &at(url), &LIVELY, &shown);
    }
    {
        let s3 = S3::start().unwrap();
        let options = bucket::options(&s3, "scale");
        on(&mut bench, "SeaweedFS, by S3", &in_bucket(options), &BILLED, &shown);
    }
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}/leases", folder.path().display());
    on(&mut bench, "a folder", &at(url), &BILLED, &shown);
    bench.end()
}
