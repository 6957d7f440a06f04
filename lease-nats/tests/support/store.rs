//! The suite's view of a bucket.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lease_conformance::{Damage, Fixture};
use lease_core::{Backend, Capabilities, Name, Nonce};

use super::SECOND;
use super::bucket::Bucket;
use super::server::{Server, USERS};

/// A bucket of its own, on a server of its own or on servers that all cases share.
pub struct Store {
    bucket: Bucket,
    /// Its own, which knows somebody who may only look.
    server: Option<Server>,
    ttl: Duration,
}

impl Store {
    /// On servers that run. They know nobody who may only look.
    pub async fn at(url: &str, replicas: u8, ttl: Duration) -> Self {
        Self { bucket: Bucket::at(url, replicas).await, server: None, ttl }
    }
}

#[async_trait]
impl Fixture for Store {
    async fn start() -> Self {
        let server = Server::start(None, USERS);
        let store = Self::at(server.url(), 1, SECOND).await;
        Self { server: Some(server), ..store }
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        Arc::new(self.bucket.connect().await)
    }

    async fn unreachable(&self) -> Arc<dyn Backend> {
        Arc::new(self.bucket.unreachable().await)
    }

    async fn read_only(&self) -> Option<Arc<dyn Backend>> {
        self.server.as_ref()?;
        // The bucket is there once a client has come that may create it.
        self.bucket.connect().await;
        let options = self.bucket.options.clone().user("reader", "reader").read_only();
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

    // Where many cases share servers they need a longer one.
    fn ttl(&self, _: &Capabilities) -> Duration {
        self.ttl
    }
}
