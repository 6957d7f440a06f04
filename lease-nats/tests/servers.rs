//! The suite again: on three servers that replicate, and on the oldest version that is supported.
//!
//! All cases of one kind of server run beside each other, each in a bucket of its own: what they
//! mostly do is wait for a ttl.

mod support;

use std::time::Duration;

use futures::{StreamExt, stream};
use lease_conformance::CASES;

use support::SECOND;
use support::bucket::Bucket;
use support::server::{OLDEST, Server};
use support::store::Store;

/// Runs every case on these servers, so many beside each other, and tells all that failed.
async fn all_cases(url: &str, replicas: u8, at_once: usize, ttl: Duration) {
    // Until three servers have agreed on a leader they place nothing.
    Bucket::at(url, replicas).await.connect().await;
    let runs = CASES.iter().map(|case| async move {
        let store = Store::at(url, replicas, ttl).await;
        let told = tokio::spawn(async move { case.run(&store).await });
        told.await.err().map(|failure| format!("{}: {failure}", case.name))
    });
    let runs = stream::iter(runs).buffer_unordered(at_once);
    let failed: Vec<String> = runs.filter_map(|failure| async { failure }).collect().await;
    assert!(failed.is_empty(), "\n{}\n", failed.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_of_the_newest_pass() {
    let cluster = testbed::nats::Cluster::start().unwrap();
    all_cases(cluster.url(), 3, 8, SECOND * 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_of_the_oldest_pass() {
    let cluster = Server::cluster(OLDEST);
    let urls: Vec<&str> = cluster.iter().map(Server::url).collect();
    // Fewer: on a busy machine these lose a leader when many buckets are made at once.
    all_cases(&urls.join(","), 3, 5, SECOND * 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_the_oldest_passes() {
    let server = Server::start(Some(OLDEST), "");
    all_cases(server.url(), 1, 12, SECOND).await;
}
