//! The servers that all tests of a run share.

use std::thread::{self, ScopedJoinHandle};

use crate::azure::Azure;
use crate::error::{Error, Result};
use crate::gcs::Gcs;
use crate::mongo::{ReplicaSet, Users};
use crate::nats;
use crate::s3::S3;
use crate::server::Server;

/// One of each kind, for tests that leave it as it is: a runner that gives every test a process of
/// its own would else start hundreds.
#[derive(Debug)]
pub struct Shared {
    mongo: ReplicaSet,
    users: Users,
    nats: Server,
    s3: S3,
    azure: Azure,
    gcs: Gcs,
}

impl Shared {
    /// Those that the variables name, and new ones for the others, all at the same time.
    ///
    /// # Errors
    ///
    /// When one of them cannot be had or started.
    pub fn start() -> Result<Self> {
        thread::scope(|scope| {
            let mongo = scope.spawn(ReplicaSet::shared);
            let users = scope.spawn(Users::shared);
            let nats = scope.spawn(nats::shared);
            let s3 = scope.spawn(S3::shared);
            let azure = scope.spawn(Azure::shared);
            let gcs = scope.spawn(Gcs::shared);
            Ok(Self {
                mongo: started(mongo)?,
                users: started(users)?,
                nats: started(nats)?,
                s3: started(s3)?,
                azure: started(azure)?,
                gcs: started(gcs)?,
            })
        })
    }

    /// What makes the tests of other processes use them.
    #[must_use]
    pub fn variables(&self) -> [(&'static str, String); 6] {
        [
            self.mongo.variable(),
            self.users.variable(),
            nats::variable(&self.nats),
            self.s3.variable(),
            self.azure.variable(),
            self.gcs.variable(),
        ]
    }
}

fn started<T>(starting: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    let bug = |_| Error::new("a server's start panicked", "see the panic above");
    starting.join().map_err(bug)?
}
