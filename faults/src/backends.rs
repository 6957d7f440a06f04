//! The kinds of stores, and what a run on each looks like.

use std::time::Duration;

use clap::ValueEnum;

/// On which kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A folder.
    File,
    /// MongoDB: a replica set of three.
    Mongo,
    /// NATS JetStream: a cluster of three.
    Nats,
    /// S3: SeaweedFS.
    S3,
    /// Azure Blob Storage: Azurite.
    Azure,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::File, Self::Mongo, Self::Nats, Self::S3, Self::Azure];

    /// As it is written on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Mongo => "mongo",
            Self::Nats => "nats",
            Self::S3 => "s3",
            Self::Azure => "azure",
        }
    }

    /// The ttl of the clients' leases: so short that much happens, and not below what the store can
    /// judge. A failover may cost leases here; it must not cost more.
    #[must_use]
    pub const fn ttl(self) -> Duration {
        match self {
            Self::File => Duration::from_millis(1500),
            Self::Mongo | Self::Nats => Duration::from_secs(4),
            // Their clocks have steps of a second.
            Self::S3 | Self::Azure => Duration::from_secs(6),
        }
    }

    /// How far a client's wall clock may be set off. Servers of buckets refuse requests that are
    /// signed with a time more than a quarter of an hour away, and that would be no lease's matter.
    #[must_use]
    pub const fn wall_clocks(self) -> Duration {
        match self {
            Self::S3 | Self::Azure => Duration::from_secs(10 * 60),
            Self::File | Self::Mongo | Self::Nats => Duration::from_secs(2 * 24 * 3600),
        }
    }
}
