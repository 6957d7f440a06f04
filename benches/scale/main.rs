//! Many at once: one process that holds thousands of leases, and many who want the same one.
//!
//! `cargo bench -p leasehold --all-features --bench scale` starts the servers that it needs.
#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nothing to say")]

use std::process::ExitCode;
use std::sync::Arc;

use futures::future::BoxFuture;
use leasehold::memory::Memory;
use leasehold::{Backend, StoreUrl};
use measure::Bench;
use metrics_util::debugging::DebuggingRecorder;
use testbed::mongo::ReplicaSet;
use testbed::s3::S3;
use tokio::runtime::Runtime;

mod contenders;
mod holder;

use contenders::contend;
use holder::hold;

/// How many leases one process holds, one crowd after the other.
const LEASES: [usize; 3] = [1000, 3000, 10_000];
/// The same where each renewal is two requests that a cloud bills.
const OBJECTS: [usize; 3] = [100, 300, 1000];

/// Opens a client of its own on the same store.
type Open = Arc<dyn Fn() -> BoxFuture<'static, Arc<dyn Backend>> + Send + Sync>;

fn at(url: String) -> Open {
    Arc::new(move || {
        let url = url.clone();
        Box::pin(async move { StoreUrl::parse(&url).unwrap().open().await.unwrap() })
    })
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
fn on(bench: &mut Bench, place: &str, open: &Open, leases: &[usize], recorder: &Recorder) {
    runtime().block_on(async {
        hold(bench, place, open().await, leases, recorder).await;
        contend(bench, place, open).await;
    });
}

type Recorder = metrics_util::debugging::Snapshotter;

fn main() -> ExitCode {
    let Some(mut bench) = Bench::start() else { return ExitCode::SUCCESS };
    let recorder = DebuggingRecorder::new();
    let shown = recorder.snapshotter();
    recorder.install().unwrap();

    on(&mut bench, "memory", &in_memory(), &LEASES, &shown);
    {
        let set = ReplicaSet::start(3).unwrap();
        let url = set.url().replacen("/?", "/scale?", 1);
        on(&mut bench, "MongoDB, a replica set of three", &at(url), &LEASES, &shown);
    }
    {
        let server = testbed::nats::single().unwrap();
        let url = format!("{}/scale", server.url());
        on(&mut bench, "NATS, one server", &at(url), &LEASES, &shown);
    }
    {
        let s3 = S3::start().unwrap();
        s3.create_bucket("scale").unwrap();
        let (region, endpoint) = (s3.region(), s3.url());
        let login = format!("access_key_id={}&secret_access_key={}", s3.key_id(), s3.secret());
        let url = format!("s3://scale/leases?region={region}&endpoint={endpoint}&{login}");
        on(&mut bench, "SeaweedFS, by S3", &at(url), &OBJECTS, &shown);
    }
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}/leases", folder.path().display());
    on(&mut bench, "a folder", &at(url), &OBJECTS, &shown);
    bench.end()
}
