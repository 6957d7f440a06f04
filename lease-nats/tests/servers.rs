//! The suite again: on three servers that replicate, and on the oldest version that is supported.
//!
//! All cases of one kind of server run beside each other, each in a bucket of its own: what they
//! mostly do is wait for a ttl.

mod support;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use lease_conformance::{CASES, Damage, Fixture};
use lease_core::{Backend, BreakNote, Capabilities, Name, Nonce};

use support::SECOND;
use support::bucket::Bucket;
use support::server::{OLDEST, Server};

/// A bucket of its own on servers that all cases share.
struct Shared {
    bucket: Bucket,
    ttl: Duration,
}

#[async_trait]
impl Fixture for Shared {
    async fn start() -> Self {
        unreachable!("each test says on which servers")
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        Arc::new(self.bucket.connect().await)
    }

    async fn unreachable(&self) -> Arc<dyn Backend> {
        Arc::new(self.bucket.unreachable().await)
    }

    async fn read_only(&self) -> Option<Arc<dyn Backend>> {
        None
    }

    async fn erase(&self, name: &Name) {
        self.bucket.erase(name).await;
    }

    async fn damage(&self, name: &Name, nonce: Nonce, damage: Damage) {
        self.bucket.damage(name, nonce, damage).await;
    }

    async fn records(&self, name: &Name) -> usize {
        self.bucket.records(name).await
    }

    async fn last_break(&self, name: &Name) -> Option<BreakNote> {
        self.bucket.last_break(name).await
    }

    // They share two cores with all the others, and with the servers.
    fn ttl(&self, _: &Capabilities) -> Duration {
        self.ttl
    }
}

/// Runs every case on these servers, so many beside each other, and tells all that failed.
async fn all_cases(url: &str, replicas: u8, at_once: usize, ttl: Duration) {
    // Until three servers have agreed on a leader they place nothing.
    Bucket::at(url, replicas).await.connect().await;
    let runs = CASES.iter().map(|case| async move {
        let bucket = Bucket::at(url, replicas).await;
        let told = tokio::spawn(async move {
            let store = Shared { bucket, ttl };
            case.run(&store).await;
        });
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
    all_cases(&urls.join(","), 3, 8, SECOND * 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_the_oldest_passes() {
    let server = Server::start(Some(OLDEST), "");
    all_cases(server.url(), 1, 12, SECOND).await;
}
