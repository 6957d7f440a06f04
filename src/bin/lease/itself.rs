//! This program, to be started again under one of its hidden names.

use std::path::PathBuf;

use crate::exit::Failure;

/// How it is called in lists of processes.
pub(crate) const NAME: &str = "lease";

/// The program that runs, also where the file that it was started from has been replaced or removed
/// since, as by an update.
#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it may not be found")]
pub(crate) fn itself() -> Result<PathBuf, Failure> {
    Ok(PathBuf::from("/proc/self/exe"))
}

/// The file that it was started from.
#[cfg(not(target_os = "linux"))]
pub(crate) fn itself() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::system("cannot find this program", error))
}
