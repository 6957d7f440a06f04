//! A disk that can run full: a small one, in memory, that only this process and its children see.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// Tells the second run where it is.
const VARIABLE: &str = "LEASE_FAULTS_DISK";
/// Room for the leases of a run and for an hour's staging files of clients that were killed while they
/// wrote, and soon filled.
const SIZE: &str = "16m";
/// How soon room that somebody made is taken again.
const AGAIN: Duration = Duration::from_millis(50);

/// A small disk.
#[derive(Clone, Debug)]
pub struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// The one that [`again`] has made for this process.
    #[must_use]
    pub fn here() -> Option<Self> {
        env::var_os(VARIABLE).map(|folder| Self { folder: folder.into() })
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Fills it, and keeps it full for as long as `meanwhile` takes.
    ///
    /// # Errors
    ///
    /// When what filled it cannot be removed again.
    pub async fn fill(&self, meanwhile: impl Future<Output = ()>) -> io::Result<()> {
        let filler = self.folder.join("filler");
        let filling = async {
            loop {
                take_all(&filler);
                tokio::time::sleep(AGAIN).await;
            }
        };
        tokio::select! {
            // First of all, so that there is something to remove however short the time is.
            biased;
            () = filling => {}
            () = meanwhile => {}
        }
        fs::remove_file(&filler)
    }
}

/// Appends until nothing more goes in.
fn take_all(filler: &Path) {
    let mut block = 64 * 1024;
    while block > 0 {
        let file = OpenOptions::new().create(true).append(true).open(filler);
        let went_in = file.and_then(|mut file| file.write_all(&vec![0; block]));
        if went_in.is_err() {
            block /= 2;
        }
    }
}

/// What runs this program once more with these arguments, on a small disk; nothing where it runs on one,
/// or where the system lets nobody have mounts of his own. The folder must outlive it.
///
/// # Errors
///
/// When there is no place for a folder.
pub fn again() -> io::Result<Option<(Command, TempDir)>> {
    const NAMESPACE: [&str; 2] = ["--map-root-user", "--mount"];
    if Disk::here().is_some() {
        return Ok(None);
    }
    let folder = tempfile::Builder::new().prefix("leasehold-disk-").tempdir()?;
    let mount = format!("mount -t tmpfs -o size={SIZE} none \"$0\" && exec \"$@\"");
    let on_it = || {
        let mut command = Command::new("unshare");
        command.args(NAMESPACE).args(["sh", "-c", &mount]).arg(folder.path());
        command
    };
    let mut trial = on_it();
    trial.arg("true").stdout(Stdio::null()).stderr(Stdio::null());
    if !trial.status().is_ok_and(|status| status.success()) {
        return Ok(None);
    }
    let mut command = on_it();
    command.arg(env::current_exe()?).args(env::args_os().skip(1)).env(VARIABLE, folder.path());
    Ok(Some((command, folder)))
}
