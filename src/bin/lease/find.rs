//! Whether there is such a command, asked before anybody waits for a lease to run it under.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use crate::exit::{Cause, Failure};

/// Where the system looks if `PATH` is not set.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Finds the program as the system will when it runs it.
pub(crate) fn check(program: &OsStr) -> Result<(), Failure> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from(DEFAULT_PATH));
    find(program, &path).map(drop)
}

fn find(program: &OsStr, path: &OsStr) -> Result<PathBuf, Failure> {
    let shown = program.to_string_lossy();
    let candidates: Vec<PathBuf> = if program.as_bytes().contains(&b'/') {
        vec![PathBuf::from(program)]
    } else {
        std::env::split_paths(path).map(|folder| folder.join(program)).collect()
    };
    let there = |file: &&PathBuf| file.exists() && !program.is_empty();
    if let Some(found) = candidates.iter().filter(there).find(|file| can_run(file)) {
        return Ok(found.clone());
    }
    Err(match candidates.iter().find(there) {
        Some(file) => Failure::new(
            Cause::NotExecutable,
            format!("`{}` cannot be run: make it executable, or name its program", file.display()),
        ),
        None => Failure::new(Cause::NotFound, format!("there is no command `{shown}`")),
    })
}

fn can_run(file: &Path) -> bool {
    file.is_file() && access(file, AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("sh", Ok(()))]
    #[case("/bin/sh", Ok(()))]
    #[case("no-such-command-here", Err(Cause::NotFound))]
    #[case("/no/such/folder/sh", Err(Cause::NotFound))]
    #[case("", Err(Cause::NotFound))]
    #[case("/etc/passwd", Err(Cause::NotExecutable))]
    #[case("/etc", Err(Cause::NotExecutable))]
    #[case("/etc/passwd/sh", Err(Cause::NotFound))]
    fn a_command_is_found_as_a_shell_finds_it(
        #[case] program: &str,
        #[case] expected: Result<(), Cause>,
    ) {
        let found = find(OsStr::new(program), OsStr::new("/no/such/folder:/bin:/usr/bin"));
        assert_eq!(found.map(drop).map_err(|failure| failure.cause), expected);
    }
}
