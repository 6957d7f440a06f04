//! flock(2): a lock of the system on a file that stays. It knows no time and no other machine.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::orders::{Failure, Mode, Peer, time};

/// A lock on one file.
pub(crate) struct Lock(PathBuf);

impl Lock {
    /// The file is made by the first cycle.
    pub(crate) fn new(file: &str) -> Self {
        Self(file.into())
    }
}

impl Peer for Lock {
    async fn cycles(&mut self, mode: Mode, count: u32) -> Result<Option<Duration>, Failure> {
        let operation = match mode {
            Mode::Exclusive => FlockOperation::LockExclusive,
            Mode::Writer => FlockOperation::LockShared,
        };
        // As flock(1) does it: a lock belongs to an opened file, so whoever wants it opens one, and
        // closing it releases the lock.
        let cycle = async || {
            let file = File::options().create(true).append(true).open(&self.0)?;
            Ok(flock(&file, operation)?)
        };
        Ok(Some(time(count, cycle).await?))
    }
}
