//! The suite, on one real server.
#![expect(clippy::unwrap_used, reason = "a fixture that cannot be had is a failure")]

mod support;

use std::sync::Arc;

use async_trait::async_trait;
use lease_conformance::{Damage, Fixture};
use lease_core::{Backend, BreakNote, Name, Nonce};

use support::bucket::Bucket;
use support::server::{Server, USERS};

/// A bucket of its own on a server of its own, where a reader may look.
struct Single {
    bucket: Bucket,
    server: Server,
}

#[async_trait]
impl Fixture for Single {
    async fn start() -> Self {
        let server = Server::start(None, USERS);
        let bucket = Bucket::at(server.url(), 1).await;
        Self { bucket, server }
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        Arc::new(self.bucket.connect().await)
    }

    async fn unreachable(&self) -> Arc<dyn Backend> {
        Arc::new(self.bucket.unreachable().await)
    }

    async fn read_only(&self) -> Option<Arc<dyn Backend>> {
        // The bucket is there once a client has come that may create it.
        self.bucket.connect().await;
        let options = self.bucket.options.clone().user("reader", "reader").read_only();
        assert!(self.server.url().starts_with("nats://"));
        Some(Arc::new(lease_nats::connect(options).await.unwrap()))
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
}

lease_conformance::suite!(Single);
