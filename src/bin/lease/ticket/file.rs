//! Tickets in files: whole or not there, and for their owner only.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use leasehold::{Coordinator, Error, Jitter, Mode, Name, StoreUrl};

use super::{Carried, is_ticket, readable};
use crate::exit::{Cause, Failure};

/// No ticket is longer: what is, is something else.
const LONGEST: u64 = 64 * 1024;

/// As much as most tickets need.
const FILLER: [u8; 4096] = [b'\n'; 4096];

/// The text of a file; nothing if there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, Failure> {
    let cannot = |error: std::io::Error| {
        let message = format!("`{}` cannot be read: {error}", path.display());
        Failure::new(Cause::Usage, message)
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if no_such_file(&error) => return Ok(None),
        Err(error) => return Err(cannot(error)),
    };
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Whether there is no file of this name, or cannot be.
fn no_such_file(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidFilename)
}

/// A place for a ticket in a file. What is there stays until the next ticket is there as a whole.
#[derive(Debug)]
pub(crate) struct Slot {
    path: PathBuf,
    /// What becomes the file. Its room on the disk is taken beforehand.
    next: PathBuf,
    file: File,
    /// What was there before.
    old: Option<Carried>,
}

impl Slot {
    /// The same for a file of this name, which must not be taken for a ticket itself.
    pub(crate) fn named(name: &str) -> Result<Self, Failure> {
        if name.trim().is_empty() || is_ticket(name) {
            let message = "--ticket names the file that the ticket is written to; without it the \
                           ticket is printed";
            return Err(Failure::new(Cause::Usage, message));
        }
        Self::prepare(Path::new(name))
    }

    /// Finds out whether a ticket can be written there, as far as that can be known.
    pub(crate) fn prepare(path: &Path) -> Result<Self, Failure> {
        let old = old(path)?;
        // A link stays one: what it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let cannot = |error: std::io::Error| cannot_write(&path, &error);
        let name = path.file_name().ok_or_else(|| cannot(ErrorKind::IsADirectory.into()))?;
        let name = format!(".{}.{}", name.to_string_lossy(), Jitter::system().nonce());
        let next = std::path::absolute(path.with_file_name(name)).map_err(cannot)?;
        let path = std::path::absolute(&path).map_err(cannot)?;
        let cannot = |error: std::io::Error| cannot_write(&path, &error);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&next);
        let mut slot = Self { file: file.map_err(cannot)?, path: path.clone(), next, old };
        slot.file.write_all(&FILLER).and_then(|()| slot.file.sync_all()).map_err(cannot)?;
        Ok(slot)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses to overwrite the ticket of a lease that may be held, which nobody could free then; unless
    /// it has ended by the time that `name` is granted.
    pub(crate) async fn check(
        &self,
        leases: &Coordinator,
        store: &StoreUrl,
        name: &Name,
        mode: Mode,
    ) -> Result<(), Failure> {
        let Some(old) = &self.old else { return Ok(()) };
        let (here, alone) = (old.is_in(store), Mode::Exclusive);
        if here && old.name() == name && (mode == alone || old.ticket.mode() == alone) {
            return Ok(());
        }
        let may_be_held = match old.keeper() {
            Some(keeper) => keeper.may_hold(old.name())?,
            None if here => match leases.confirm(&old.ticket).await {
                Ok(_) => true,
                Err(Error::Lost { .. }) => false,
                Err(error) => return Err(error.into()),
            },
            // Only its time tells: which store to ask is not known.
            None => old.believed_for() != Some(Duration::ZERO),
        };
        if !may_be_held {
            return Ok(());
        }
        let (path, name) = (self.path.display(), old.name());
        let (what, on) = match here {
            true => ("that has not ended", ""),
            false => {
                ("in another store, or under another URL, that may not have ended", " --on URL")
            }
        };
        let message = format!(
            "`{path}` holds the ticket of a lease on `{name}` {what}: free it with `lease release \
             --ticket {path}{on}`, or name another file"
        );
        Err(Failure::new(Cause::Busy, message))
    }

    /// Puts the ticket there.
    pub(crate) fn fill(mut self, text: &str) -> Result<(), Failure> {
        let line = format!("{text}\n");
        let written = self
            .file
            .rewind()
            .and_then(|()| self.file.write_all(line.as_bytes()))
            .and_then(|()| self.file.set_len(line.len() as u64))
            .and_then(|()| self.file.sync_all())
            .and_then(|()| fs::rename(&self.next, &self.path));
        written.map_err(|error| cannot_write(&self.path, &error))?;
        // Where a folder cannot be synced the file is there all the same.
        if let Some(folder) = self.path.parent() {
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // It is not there any more once it has become the file.
        let _ = fs::remove_file(&self.next);
    }
}

/// What a ticket would replace: another ticket, or nothing.
fn old(path: &Path) -> Result<Option<Carried>, Failure> {
    let other = || {
        let path = path.display();
        let message = format!("`{path}` is there and is no ticket: name another file for it");
        Failure::new(Cause::Usage, message)
    };
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => return Err(other()),
        _ => {}
    }
    match read(path)? {
        Some(text) if is_ticket(text.trim()) => {
            let what = format!("the ticket in `{}`", path.display());
            // It may be somebody's all the same.
            readable(text.trim(), &what).map(Some).map_err(|failure| {
                let message = format!(
                    "{}; or name another file, or remove this one if nobody needs it",
                    failure.message
                );
                Failure { message, ..failure }
            })
        }
        Some(text) if !text.trim().is_empty() => Err(other()),
        _ => Ok(None),
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    let what = format!("cannot write the ticket to `{}`", path.display());
    Failure::system(&what, error)
}
