//! What shows a process another time.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A library that is loaded into a process before the system's own.
pub(crate) struct Shim {
    library: PathBuf,
    _folder: tempfile::TempDir,
}

impl Shim {
    /// Compiles it, by the compiler that links this test.
    pub(crate) fn build() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join("shim.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ahead/shim.c");
        let made = Command::new("cc")
            .args(["-O1", "-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .status()
            .expect("a C compiler: the one that links Rust programs");
        assert!(made.success(), "the shim does not compile");
        Self { library, _folder: folder }
    }

    /// The process that this command starts sees a wall clock that is so many seconds ahead.
    pub(crate) fn shift(&self, command: &mut Command, seconds: i64) {
        command.env("LD_PRELOAD", &self.library).env("LEASE_TEST_AHEAD", seconds.to_string());
    }
}
