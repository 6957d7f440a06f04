//! The gate between the start of a process and the command that it becomes.
//!
//! The watchdog opens it once it knows whom to guard and until when. A gate that nobody can open any
//! more, since the watchdog or the holder has died before that, lets nobody through.

use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe, stdout};
use std::os::fd::AsRawFd;

use leasehold::Moment;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::unistd::close;

use crate::exit::{Cause, Failure};
use crate::shared_clock;

/// Where this process finds the files that it was started with, by their numbers.
pub(crate) const FILES: &str = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };

/// The holder's end: it goes to the process that waits.
#[derive(Debug)]
pub(crate) struct Gate(PipeReader);

impl Gate {
    /// A closed gate, and what the watchdog opens it with.
    pub(crate) fn new() -> Result<(Self, PipeWriter), Failure> {
        let (reader, writer) = pipe().map_err(cannot)?;
        Ok((Self(reader), writer))
    }

    /// Lets the processes that are started from now on inherit it, and tells its number.
    pub(crate) fn inherited(&self) -> Result<i32, Failure> {
        fcntl(&self.0, FcntlArg::F_SETFD(FdFlag::empty())).map_err(cannot)?;
        Ok(self.0.as_raw_fd())
    }
}

/// Opens the gate that is this process's standard output, to be passed until `end`.
pub(crate) fn open(end: Moment) {
    let mut gate = stdout().lock();
    // Whoever waited there may have been ended meanwhile.
    let _ = writeln!(gate, "{}", shared_clock::written(end)).and_then(|()| gate.flush());
}

/// Waits at the gate with this number until it opens.
pub(crate) fn pass(number: i32) -> Result<(), Failure> {
    // By its name, for a mere number may be anybody's. The command must not find it open.
    let gate = File::open(format!("{FILES}/{number}")).map_err(cannot)?;
    close(number).map_err(cannot)?;
    let mut line = String::new();
    BufReader::new(gate).read_line(&mut line).map_err(cannot)?;
    let Some(end) = line.strip_suffix('\n').and_then(shared_clock::read) else {
        return Err(Failure::system("the command was not started", "its watchdog has ended"));
    };
    if shared_clock::now() >= end {
        let late = "the lease ran out before the command could start: it was not started";
        return Err(Failure::new(Cause::Lost, late));
    }
    Ok(())
}

fn cannot(error: impl std::fmt::Display) -> Failure {
    Failure::system("cannot make the command wait for its watchdog", error)
}
