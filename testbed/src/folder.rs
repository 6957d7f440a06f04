//! Where things are kept: what is installed stays under `target/`, what runs is temporary.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{OrRemedy, Result};

/// `target/testbed`, made if it is not there yet.
pub(crate) fn testbed() -> Result<PathBuf> {
    let target = match env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"),
    };
    let folder = target.join("testbed");
    made(&folder)?;
    folder.canonicalize().or_remedy(format!("{} cannot be resolved", folder.display()), WRITABLE)
}

/// A folder inside [`testbed`].
pub(crate) fn inside(name: &str) -> Result<PathBuf> {
    let folder = testbed()?.join(name);
    made(&folder)?;
    Ok(folder)
}

/// A new temporary directory for one server.
pub(crate) fn temporary(kind: &str) -> Result<TempDir> {
    tempfile::Builder::new()
        .prefix(&format!("leasehold-{kind}-"))
        .tempdir()
        .or_remedy("no temporary directory", "point TMPDIR at a folder that can be written")
}

const WRITABLE: &str = "point CARGO_TARGET_DIR at a folder that can be written";

fn made(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).or_remedy(format!("{} cannot be made", folder.display()), WRITABLE)
}
