//! A copy of the workspace in which something is broken.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::edits::Edit;
use crate::step::{Failure, cargo, output_of, workspace};

/// Without what is broken a test may wait for ever, in seconds.
const PATIENCE: &str = "300";

/// The workspace's files, apart from the originals, with a target folder of their own.
pub(crate) struct Copy(PathBuf);

impl Copy {
    pub(crate) fn make() -> Result<Self, Failure> {
        let copy = Self(workspace().join("target/rules"));
        copy.share_the_servers()?;
        let mut list = Command::new("git");
        list.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
        list.current_dir(workspace());
        for file in String::from_utf8_lossy(&output_of(list)?).lines() {
            // One that was deleted, but not yet committed as such, is still listed.
            let Ok(bytes) = fs::read(workspace().join(file)) else { continue };
            let path = copy.tree().join(file);
            // What is the same is not written again, so that it is not built again.
            if fs::read(&path).is_ok_and(|there| there == bytes) {
                continue;
            }
            let wrong = |failure| Failure::Io(path.display().to_string(), failure);
            fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(wrong)?;
            fs::write(&path, bytes).map_err(wrong)?;
        }
        Ok(copy)
    }

    /// What the testbed has installed is not installed again.
    fn share_the_servers(&self) -> Result<(), Failure> {
        let (shared, link) = (workspace().join("target/testbed"), self.0.join("build/testbed"));
        let wrong = |failure| Failure::Io(link.display().to_string(), failure);
        fs::create_dir_all(&shared).map_err(wrong)?;
        fs::create_dir_all(self.0.join("build")).map_err(wrong)?;
        match std::os::unix::fs::symlink(&shared, &link) {
            Err(failure) if failure.kind() != ErrorKind::AlreadyExists => Err(wrong(failure)),
            _ => Ok(()),
        }
    }

    fn tree(&self) -> PathBuf {
        self.0.join("tree")
    }

    /// Breaks what goes by this name; returns the files as they were.
    pub(crate) fn apply(
        &self,
        name: &str,
        edits: &[Edit],
    ) -> Result<Vec<(PathBuf, String)>, Failure> {
        let mut before = Vec::new();
        for edit in edits {
            let path = self.tree().join(edit.file);
            let text = read(&path)?;
            if text.matches(edit.kept).count() != 1 {
                return Err(Failure::Rule(format!("{}: {} is not there", name, edit.kept)));
            }
            write(&path, &text.replace(edit.kept, edit.broken))?;
            before.push((path, text));
        }
        // The first text of a file that was edited twice is the original.
        before.reverse();
        Ok(before)
    }

    /// Makes it whole again.
    pub(crate) fn restore(before: Vec<(PathBuf, String)>) -> Result<(), Failure> {
        before.into_iter().try_for_each(|(path, text)| write(&path, &text))
    }

    pub(crate) fn build(&self, arguments: &[&str]) -> Result<(), Failure> {
        let mut command = self.cargo();
        command.args(arguments);
        output_of(command).map(drop)
    }

    /// What a cargo command printed in the copy, however it ended.
    pub(crate) fn printed_by(&self, arguments: &[&str]) -> Result<String, Failure> {
        let cargo = self.cargo();
        let mut command = Command::new("timeout");
        command.arg(PATIENCE).arg(cargo.get_program()).args(arguments);
        command.current_dir(self.tree());
        command.envs(cargo.get_envs().filter_map(|(key, value)| Some((key, value?))));
        let wrong = |failure| Failure::Io("timeout".to_owned(), failure);
        Ok(String::from_utf8_lossy(&command.output().map_err(wrong)?.stdout).into_owned())
    }

    /// Cargo in the copy, with a folder of its own for what it builds: quickly, and quick enough.
    fn cargo(&self) -> Command {
        let mut command = cargo(&[]);
        command.current_dir(self.tree()).env("CARGO_TARGET_DIR", self.0.join("build"));
        command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_PROFILE_DEV_DEBUG", "false");
        command
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|failure| Failure::Io(path.display().to_string(), failure))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|failure| Failure::Io(path.display().to_string(), failure))
}
