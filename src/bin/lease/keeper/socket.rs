//! The socket that a keeper is asked by.
//!
//! It lies in a folder that only its owner can enter. A thread of its own listens, so that whoever
//! connects and says nothing keeps neither the lease nor the script waiting.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use leasehold::Jitter;
use nix::unistd::Uid;
use tokio::sync::mpsc;

use super::{Answer, Asked};
use crate::exit::Failure;

/// How long somebody who has connected may take to say what for.
const SAYING: Duration = Duration::from_secs(1);

/// The longest path that every system takes for a socket.
const LONGEST: usize = 100;

/// Listens; the file is removed in the end.
#[derive(Debug)]
pub(super) struct Socket {
    path: PathBuf,
    asked: mpsc::Receiver<(Asked, Caller)>,
}

/// Somebody who waits for an answer.
#[derive(Debug)]
pub(super) struct Caller(UnixStream);

/// A place for a new socket.
pub(super) fn place() -> Result<PathBuf, Failure> {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folder = match own.filter(|own| own.is_absolute() && own.is_dir()) {
        Some(own) => own.join("lease"),
        None => PathBuf::from(format!("/tmp/lease-{}", Uid::current())),
    };
    let path = folder.join(format!("{}.sock", Jitter::system().nonce()));
    if path.as_os_str().len() > LONGEST {
        let why = "its path is too long for a socket: set XDG_RUNTIME_DIR to a shorter one";
        return Err(cannot(&path, &why));
    }
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(cannot(&folder, &error));
        }
        _ => {}
    }
    let found = fs::symlink_metadata(&folder).map_err(|error| cannot(&folder, &error))?;
    let private =
        found.is_dir() && found.uid() == Uid::current().as_raw() && found.mode() & 0o077 == 0;
    if !private {
        let why = "it is no folder of yours that others cannot enter: remove it, or set \
                   XDG_RUNTIME_DIR";
        return Err(cannot(&folder, &why));
    }
    Ok(path)
}

impl Socket {
    pub(super) fn listen(path: &Path) -> Result<Self, Failure> {
        let listener = UnixListener::bind(path).map_err(|error| cannot(path, &error))?;
        let (ask, asked) = mpsc::channel(1);
        let socket = Self { path: path.to_owned(), asked };
        std::thread::Builder::new()
            .name("socket".into())
            .spawn(move || {
                for caller in listener.incoming().filter_map(Result::ok) {
                    if let Some(asked) = hear(&caller)
                        && ask.blocking_send((asked, Caller(caller))).is_err()
                    {
                        return;
                    }
                }
            })
            .map_err(|error| Failure::system("cannot start a thread", error))?;
        Ok(socket)
    }

    /// Whoever asks next.
    pub(super) async fn next(&mut self) -> (Asked, Caller) {
        match self.asked.recv().await {
            Some(asked) => asked,
            // The thread has ended: nobody can ask any more, and the script is still looked after.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Caller {
    pub(super) fn answer(mut self, answer: &Answer) {
        // One that has gone does not need it.
        if let Ok(line) = serde_json::to_string(answer) {
            let _ = self.0.write_all(format!("{line}\n").as_bytes());
        }
    }
}

fn hear(caller: &UnixStream) -> Option<Asked> {
    caller.set_read_timeout(Some(SAYING)).ok()?;
    caller.set_write_timeout(Some(SAYING)).ok()?;
    let mut line = String::new();
    BufReader::new(caller).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

fn cannot(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::system(&format!("a keeper cannot listen at `{}`", path.display()), why)
}
