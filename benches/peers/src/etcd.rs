//! etcd's own lock: a key under a session's lease, granted when no older key of the name is left.

use std::time::Duration;

use etcd_client::{Client, GetOptions, LockOptions};

use crate::orders::{Failure, Mode, Peer, own_name, time};

/// A session outlives its order without being kept alive, which would cost no cycle anything: it
/// happens once in a third of this.
const SESSION_SECONDS: i64 = 3600;

/// A client with a lease that its locks hang on.
#[derive(Clone)]
pub(crate) struct Session {
    client: Client,
    lease: i64,
}

impl Session {
    pub(crate) async fn open(client: &Client) -> Result<Self, Failure> {
        let mut client = client.clone();
        let lease = client.lease_grant(SESSION_SECONDS, None).await?.id();
        Ok(Self { client, lease })
    }

    /// Waits until it holds the name, and returns the key by which it does.
    pub(crate) async fn lock(&mut self) -> Result<Vec<u8>, Failure> {
        let options = LockOptions::new().with_lease(self.lease);
        Ok(self.client.lock(own_name(), Some(options)).await?.key().to_vec())
    }

    pub(crate) async fn unlock(&mut self, key: Vec<u8>) -> Result<(), Failure> {
        self.client.unlock(key).await?;
        Ok(())
    }

    /// How many hold the name or wait for it.
    pub(crate) async fn queued(&mut self) -> Result<i64, Failure> {
        let options = GetOptions::new().with_prefix().with_count_only();
        Ok(self.client.get(own_name() + "/", Some(options)).await?.count())
    }

    pub(crate) async fn close(mut self) -> Result<(), Failure> {
        self.client.lease_revoke(self.lease).await?;
        Ok(())
    }
}

/// A lock of one name, on a client that stays connected.
pub(crate) struct Lock(Client);

impl Lock {
    pub(crate) async fn connect(endpoint: &str) -> Result<Self, Failure> {
        Ok(Self(Client::connect([endpoint], None).await?))
    }
}

impl Peer for Lock {
    async fn cycles(&mut self, mode: Mode, count: u32) -> Result<Option<Duration>, Failure> {
        let Mode::Exclusive = mode else { return Ok(None) };
        let mut session = Session::open(&self.0).await?;
        let cycle = async || {
            let key = session.lock().await?;
            session.unlock(key).await
        };
        let took = time(count, cycle).await?;
        session.close().await?;
        Ok(Some(took))
    }
}
