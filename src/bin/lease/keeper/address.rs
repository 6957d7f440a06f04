//! Where a keeper is found, and what it is asked there.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use leasehold::{HolderInfo, Liveness, Name, ProcessId};
use serde::{Deserialize, Serialize};

use super::{Answer, Asked, Carried};
use crate::exit::{Cause, Failure};
use crate::taking::RELEASE;

/// How long an answer may take: as long as a release, and a little for the keeper itself.
const PATIENCE: Duration = RELEASE.saturating_add(Duration::from_secs(2));

/// The longest answer.
const LONGEST: u64 = 256 * 1024;

/// Where a keeper is found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Address {
    pid: u32,
    process: Option<ProcessId>,
    host: String,
    socket: PathBuf,
}

/// What a keeper says of a lease that it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) drain: bool,
    pub(crate) remaining: Duration,
}

impl Address {
    pub(super) fn new(pid: u32, process: Option<ProcessId>, socket: PathBuf) -> Self {
        let host = HolderInfo::of_this_process().build().map(|info| info.host);
        Self { pid, process, host: host.unwrap_or_default(), socket }
    }

    pub(crate) const fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the lease is held, as the store and the keeper's own clock say.
    pub(crate) fn check(&self, name: &Name) -> Result<Kept, Failure> {
        match self.ask(name, Asked::Check)? {
            Answer::Held { drain, remaining_ms } => {
                Ok(Kept { drain, remaining: Duration::from_millis(remaining_ms) })
            }
            _ => Err(unexpected()),
        }
    }

    /// Whether it may still hold the lease, for all that can be found out from here.
    pub(crate) fn may_hold(&self, name: &Name) -> Result<bool, Failure> {
        match self.check(name) {
            Ok(_) => Ok(true),
            Err(failure) if failure.cause == Cause::Lost => Ok(self.is_elsewhere()),
            Err(failure) => Err(failure),
        }
    }

    /// Frees the lease; the keeper ends.
    pub(crate) fn release(&self, name: &Name) -> Result<(), Failure> {
        match self.ask(name, Asked::Release)? {
            Answer::Freed => Ok(()),
            _ => Err(unexpected()),
        }
    }

    /// Takes a ticket for the lease; the keeper ends.
    pub(crate) fn hand_over(&self, name: &Name) -> Result<Carried, Failure> {
        match self.ask(name, Asked::HandOver)? {
            Answer::Ticket(carried) => Ok(*carried),
            _ => Err(unexpected()),
        }
    }

    fn ask(&self, name: &Name, what: Asked) -> Result<Answer, Failure> {
        let Ok(stream) = UnixStream::connect(&self.socket) else {
            return Err(self.unreachable(name));
        };
        match exchange(stream, what) {
            // It has ended without an answer, or another was answered in this one's place.
            Ok(None) => Err(self.unreachable(name)),
            Ok(Some(Answer::Failed { code, message })) => {
                Err(Failure::new(Cause::of_code(code), message))
            }
            Ok(Some(answer)) => Ok(answer),
            Err(error) => {
                let why = match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => "is it stopped?".to_owned(),
                    _ => error.to_string(),
                };
                let message = format!(
                    "the keeper of `{name}`, process {} on {}, does not answer ({why}): whether \
                     the lease is held is not known",
                    self.pid, self.host
                );
                Err(Failure::new(Cause::Unavailable, message))
            }
        }
    }

    fn liveness(&self) -> Liveness {
        self.process.as_ref().map_or(Liveness::Unknown, ProcessId::liveness)
    }

    /// Whether it may run where it cannot be seen from here: on another machine, or on this one beside a
    /// wall. It has ended if it was started here before the machine was.
    fn is_elsewhere(&self) -> bool {
        let here =
            || HolderInfo::of_this_process().build().is_ok_and(|info| info.host == self.host);
        let restarted = || {
            let both = self.process.as_ref().zip(ProcessId::of_this_process());
            both.is_some_and(|(its, mine)| its.boot != mine.boot)
        };
        self.liveness() == Liveness::Unknown && !(here() && restarted())
    }

    /// Nobody listens: the keeper has ended, or it is not here.
    fn unreachable(&self, name: &Name) -> Failure {
        let (pid, host) = (self.pid, &self.host);
        let liveness = self.liveness();
        let message = match liveness {
            Liveness::Alive => {
                let message = format!(
                    "the keeper of `{name}`, process {pid}, cannot be asked at `{}`: try again; to \
                     end it, send it SIGTERM",
                    self.socket.display()
                );
                return Failure::new(Cause::System, message);
            }
            Liveness::Unknown if self.is_elsewhere() => format!(
                "`{name}` is kept by a process of {host} and cannot be asked for from here: there, \
                 `lease renew --end-keeper` gives a ticket that works anywhere"
            ),
            Liveness::Unknown | Liveness::Dead => format!(
                "the keeper of `{name}`, process {pid}, has ended: the lease is freed, was taken over \
                 by this ticket, or ends with its ttl"
            ),
        };
        if liveness == Liveness::Dead {
            // What a killed keeper has left.
            let _ = std::fs::remove_file(&self.socket);
        }
        Failure::new(Cause::Lost, message)
    }
}

/// Asks and hears the answer; nothing if there is none.
fn exchange(mut stream: UnixStream, what: Asked) -> std::io::Result<Option<Answer>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{}\n", serde_json::to_string(&what)?).as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    if line.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_str(&line)?)) }
}

fn unexpected() -> Failure {
    Failure::system("the keeper is not understood", "it is of another version")
}
