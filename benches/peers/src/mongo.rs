//! The MongoDB part of `distributed-lock`: a document with an expiry, deleted by its release.

use std::time::Duration;

use distributed_lock_core::{DistributedLock, LockHandle};
use distributed_lock_mongo::MongoDistributedLock;
use mongodb::Client;

use crate::orders::{Failure, Mode, Peer, own_name, time};

/// Where its documents go unless the URL names a database.
const DATABASE: &str = "peers";

/// A lock of one name, on a driver that stays connected.
pub(crate) struct Lock(MongoDistributedLock);

impl Lock {
    /// It writes with the concern that the URL asks for, for the crate sets none.
    pub(crate) async fn connect(url: &str) -> Result<Self, Failure> {
        let client = Client::with_uri_str(url).await?;
        let database = client.default_database().unwrap_or_else(|| client.database(DATABASE));
        // Its own defaults: the collection `DistributedLocks`, an expiry of 30 s.
        Ok(Self(MongoDistributedLock::new(own_name(), database, None, None)))
    }
}

impl Peer for Lock {
    async fn cycles(&mut self, mode: Mode, count: u32) -> Result<Option<Duration>, Failure> {
        let Mode::Exclusive = mode else { return Ok(None) };
        let took = time(count, async || Ok(self.0.acquire(None).await?.release().await?)).await?;
        Ok(Some(took))
    }
}
