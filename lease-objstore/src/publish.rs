//! Writing a file so that it is there whole or not at all, and removing files.
//!
//! As the driver does it: write a staging file, then link it to its name (create-if-absent) or
//! rename it there (overwrite). Other than the driver it makes no folder but the file's own, so a
//! lease folder that was unmounted or moved away does not come back empty; it does all in one go of
//! the blocking pool; and it flushes no more than it must.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::folder::tag;
use crate::key::{Key, Part};

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct How {
    /// Only if no file is there; else [`ErrorKind::AlreadyExists`].
    pub(crate) create: bool,
    /// So that it survives a power loss.
    pub(crate) durable: bool,
}

/// Writes a file below `root` whole. Its entity tag.
pub(crate) fn publish(root: &Path, path: &Path, body: &[&[u8]], how: How) -> io::Result<String> {
    let (staging, mut file, new_folder) = stage(root, path)?;
    let written = write(&mut file, body, how.durable && content_matters(path));
    let closed = close(file);
    let published = written.and_then(|tag| {
        closed?;
        match how.create {
            true => fs::hard_link(&staging, path)?,
            false => fs::rename(&staging, path)?,
        }
        Ok(tag)
    });
    if how.create || published.is_err() {
        // Left behind at the worst; it holds nothing.
        fs::remove_file(&staging).ok();
    }
    if how.durable && published.is_ok() {
        let folder = parent(path)?;
        flush_folder(folder)?;
        if new_folder {
            flush_folder(parent(folder)?)?;
        }
    }
    published
}

/// Removes the files, as far as they are there; ends at the first failure. How many were there.
pub(crate) fn remove(paths: &[PathBuf]) -> io::Result<usize> {
    let mut removed = 0;
    for path in paths {
        match fs::remove_file(path) {
            Ok(()) => removed += 1,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(removed)
}

/// A new staging file for `path`, and whether its folder had to be made.
fn stage(root: &Path, path: &Path) -> io::Result<(PathBuf, File, bool)> {
    let folder = parent(path)?;
    let mut new_folder = false;
    let mut number: u64 = 1;
    loop {
        let mut staging = path.as_os_str().to_owned();
        staging.push(format!("#{number}"));
        let staging = PathBuf::from(staging);
        match OpenOptions::new().write(true).create_new(true).open(&staging) {
            Ok(file) => return Ok((staging, file, new_folder)),
            // Somebody else writes the same file, or did when it was killed.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) if error.kind() == ErrorKind::NotFound && folder != root && !new_folder => {
                match fs::create_dir(folder) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                }
                new_folder = true;
            }
            Err(error) => return Err(error),
        }
    }
}

fn write(file: &mut File, body: &[&[u8]], flush: bool) -> io::Result<String> {
    for part in body {
        file.write_all(part)?;
    }
    if flush {
        file.sync_all()?;
    }
    tag(&file.metadata()?)
}

/// Over NFS it is only now that a failed write is told.
#[cfg(unix)]
fn close(file: File) -> io::Result<()> {
    nix::unistd::close(file).map_err(io::Error::from)
}

#[cfg(not(unix))]
fn close(_: File) -> io::Result<()> {
    Ok(())
}

/// A granted mark says all by being there: one that a power loss left empty counts as granted.
fn content_matters(path: &Path) -> bool {
    let key = path.file_name().and_then(|file| Key::parse(file.to_str()?));
    !matches!(key, Some(Key::Exclusive(_, Part::Mark)))
}

fn parent(path: &Path) -> io::Result<&Path> {
    path.parent().ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))
}

/// What was linked or renamed in a folder is kept with the folder.
#[cfg(unix)]
fn flush_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Folders cannot be flushed here; the file system keeps them by itself, or not.
#[cfg(not(unix))]
fn flush_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATE: How = How { create: true, durable: true };
    const OVERWRITE: How = How { create: false, durable: true };

    #[test]
    fn a_file_is_created_once_and_overwritten_at_will() {
        let folder = tempfile::tempdir().unwrap();
        let (root, path) = (folder.path(), folder.path().join("payroll/x-1"));
        publish(root, &path, &[b"one"], CREATE).unwrap();
        let error = publish(root, &path, &[b"two"], CREATE).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        publish(root, &path, &[b"t", b"wo"], OVERWRITE).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no staging files");
    }

    #[test]
    fn no_folder_is_made_above_the_files_own() {
        let parent = tempfile::tempdir().unwrap();
        let gone = parent.path().join("leases");
        for file in ["payroll/x-1", "leasehold.json"] {
            let error = publish(&gone, &gone.join(file), &[b"one"], CREATE).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            assert!(!gone.exists());
        }
    }

    #[test]
    fn leftovers_of_the_killed_are_passed_by() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x-1#1"), "").unwrap();
        let path = folder.path().join("x-1");
        publish(folder.path(), &path, &[b"one"], CREATE).unwrap();
        assert_eq!(fs::read(path).unwrap(), b"one");
    }

    #[test]
    fn what_is_not_there_need_not_be_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (there, gone) = (folder.path().join("x-1"), folder.path().join("x-2"));
        fs::write(&there, "").unwrap();
        assert_eq!(remove(&[gone, there]).unwrap(), 1);
    }
}
