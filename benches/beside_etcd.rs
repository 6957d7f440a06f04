//! A lease that nobody else wants, beside etcd's lock: for scale, since it is a service of its own.
//!
//! `cargo xtask bench --only beside_etcd` starts etcd, where it is installed, and builds the program of
//! `benches/peers`. Each store is one server on this machine, which flushes what it acknowledges.
#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nothing to say")]

use std::process::ExitCode;
use std::sync::Arc;

use leasehold::{Coordinator, connect, objstore};
use measure::{Bench, Comparison, Figure, Other, Times};
use testbed::s3::S3;

#[path = "support/bucket.rs"]
mod bucket;

const ROUNDS: usize = 15;
/// Why a service that is made for it is the faster one than some stores.
const WHY: &str = "etcd's cycle is two entries of its own log, and a process that asks it keeps a connection to one service \
    more. MongoDB's is two updates, each acknowledged once its majority has flushed it, a bucket's four requests.";
/// How many cycles each makes before it is the next one's turn.
const A_TURN: usize = 20;
/// Each waits a while first.
const HAND_OVERS: usize = 40;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(mut bench) = Bench::start() else { return ExitCode::SUCCESS };
    let endpoint = std::env::var("LEASE_BENCH_ETCD").unwrap_or_default();
    let etcd = Other::start("etcd's lock", "LEASE_BENCH_PEERS", &["etcd-lock", &endpoint]);
    let Some(mut etcd) = etcd.filter(|_| !endpoint.is_empty()) else {
        return bench.end();
    };
    let mongo = testbed::mongo::ReplicaSet::start(1).unwrap();
    let nats = testbed::nats::single().unwrap();
    let s3 = S3::start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let stores = [
        ("NATS", format!("{}/bench", nats.url())),
        ("MongoDB", mongo.url().replacen("/?", "/bench?", 1)),
        ("a folder", format!("file://{}/leases", folder.path().display())),
    ];
    let mut all = Vec::new();
    for (store, url) in stores {
        all.push((store, connect(&url).await.unwrap(), Times::default()));
    }
    let bucket = objstore::connect(bucket::options(&s3, "leases")).await.unwrap();
    all.push(("SeaweedFS, by S3", Coordinator::new(Arc::new(bucket)), Times::default()));
    let mut theirs = Times::default();
    for _ in 0..ROUNDS {
        for (_, leases, times) in &mut all {
            let cycle = async || {
                leases.exclusive("job").acquire().await.unwrap().release().await.unwrap();
            };
            times.mean_of(A_TURN, cycle).await;
        }
        theirs.extend(etcd.cycles("exclusive", A_TURN));
    }
    for (store, _, times) in &all {
        let place = format!("one server each, {store}");
        let found = Comparison::new(&place, "exclusive, acquire and release", "leasehold", times);
        bench.compares(found.beside(etcd.name(), &theirs).because_of(etcd.name(), WHY));
    }
    let handover = ["etcd-handover", &endpoint];
    if let Some(mut other) = Other::start("etcd's lock", "LEASE_BENCH_PEERS", &handover)
        && let Some(took) = other.cycles("exclusive", HAND_OVERS)
    {
        let what = "from a release to the next grant, the mean; ours stand under Many at once";
        let took = took.as_secs_f64() * 1e6;
        bench.counts(Figure::new("etcd, one server", what, took, "µs"));
    }
    bench.end()
}
