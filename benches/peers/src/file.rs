//! The file part of `distributed-lock`: a lock of the system on a file, removed by its release.

use std::time::Duration;

use distributed_lock_core::{DistributedLock, LockHandle, LockProvider};
use distributed_lock_file::{FileDistributedLock, FileLockProvider};

use crate::orders::{Failure, Mode, Peer, own_name, time};

/// A lock of one name in a folder.
pub(crate) struct Lock(FileDistributedLock);

impl Lock {
    /// The folder is made if it is not there.
    pub(crate) fn open(folder: &str) -> Result<Self, Failure> {
        Ok(Self(FileLockProvider::new(folder)?.create_lock(&own_name())))
    }
}

impl Peer for Lock {
    async fn cycles(&mut self, mode: Mode, count: u32) -> Result<Option<Duration>, Failure> {
        let Mode::Exclusive = mode else { return Ok(None) };
        let took = time(count, async || Ok(self.0.acquire(None).await?.release().await?)).await?;
        Ok(Some(took))
    }
}
