//! Another wall clock for a process.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::error::{Error, OrRemedy, Result};
use crate::folder;

/// What is put between a process and its clock.
const SOURCE: &str = include_str!("shim/shim.c");
const REMEDY: &str = "use Linux with glibc and a C compiler: the one that links Rust programs";

/// Shows processes another wall clock than the machine's; what they wait for is not concerned, and
/// neither is the clock that counts since the machine was started.
#[derive(Debug)]
pub struct Shim {
    library: PathBuf,
    _folder: TempDir,
}

impl Shim {
    /// Compiles it.
    ///
    /// # Errors
    ///
    /// When there is no C compiler, or the system is not Linux with glibc.
    pub fn build() -> Result<Self> {
        if !cfg!(all(target_os = "linux", target_env = "gnu")) {
            return Err(Error::new("there is no shim for the clock of this system", REMEDY));
        }
        let folder = folder::temporary("shim")?;
        let (source, library) = (folder.path().join("shim.c"), folder.path().join("shim.so"));
        fs::write(&source, SOURCE).or_remedy(source.display(), "see whether the disk is full")?;
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl");
        let made = compiler.stdin(Stdio::null()).status().or_remedy("cc", REMEDY)?;
        if made.success() {
            Ok(Self { library, _folder: folder })
        } else {
            Err(Error::new("the shim for the clock does not compile", REMEDY))
        }
    }

    /// The process that `command` starts will see a wall clock that is so many seconds ahead, or
    /// behind where that is negative. This value must outlive the start.
    pub fn shift(&self, command: &mut Command, seconds: i64) {
        command.env("LD_PRELOAD", &self.library).env("LEASE_TEST_AHEAD", seconds.to_string());
    }
}
