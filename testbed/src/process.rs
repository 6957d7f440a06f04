//! A child process that cannot outlive the test that started it.

mod leash;

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus};
use rustix::process::{kill_process, kill_process_group, waitid};

use crate::error::{Error, OrRemedy, Result};
use crate::wait::{self, Look};
use leash::Leash;

/// A child in a process group of its own. Signals go to the child alone, as an outside fault
/// would; what ends with this value is the whole group.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    leash: Leash,
}

impl Process {
    /// Starts it. If this test process dies without cleaning up, `litter` is removed too.
    pub(crate) fn spawn(command: &mut Command, litter: Option<&Path>) -> Result<Self> {
        let what = command.get_program().display().to_string();
        let mut leash =
            Leash::new(litter).or_remedy("sh cannot be started", "install a POSIX sh")?;
        let child = command
            .process_group(0)
            .spawn()
            .or_remedy(format!("{what} cannot be started"), "see whether it runs by hand")?;
        leash.hold(child.id()).or_remedy("the leash broke", "run the test again")?;
        Ok(Self { child, leash })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    pub(crate) fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// How it ended, if it did.
    ///
    /// The child is not reaped before this value drops, so that neither its number nor its
    /// group's can be given to a stranger whom a later signal would hit.
    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        exit_status(&waitid(WaitId::Pid(self.pid()), options).ok()??)
    }

    /// Stops it where it stands; returns when it stands still.
    pub(crate) fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)?;
        // The signal is delivered some moments after it is sent; a test must not act before.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()), options)
            .map(drop)
            .or_remedy("the process does not stop", "see whether it still lives")
    }

    pub(crate) fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Kills it, as a crash or the kernel would, and waits for its end.
    pub(crate) fn kill(&self) -> Result<()> {
        if self.ended().is_some() {
            return Ok(());
        }
        self.signal(Signal::KILL)?;
        self.wait(KILLED_WITHIN).map(drop)
    }

    /// Asks it to end, and waits for that.
    pub(crate) fn terminate(&self, within: Duration) -> Result<ExitStatus> {
        match self.ended() {
            Some(status) => Ok(status),
            None => self.signal(Signal::TERM).and_then(|()| self.wait(within)),
        }
    }

    /// Waits for its end.
    pub(crate) fn wait(&self, within: Duration) -> Result<ExitStatus> {
        wait::until(within, || self.ended().ok_or(Look::NotYet(()))).map_err(|()| {
            Error::new(
                format!("process {} did not end within {within:?}", self.id()),
                "see what it waits for, or allow it more time",
            )
        })
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        if let Some(status) = self.ended() {
            return Err(Error::new(
                format!("{signal:?} came too late: the process had ended ({status})"),
                "see why it ended by itself",
            ));
        }
        kill_process(self.pid(), signal)
            .or_remedy(format!("{signal:?} cannot be sent"), "run the test as the same user")
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A failure here must not turn a test's panic into an abort. Nobody is left to kill
        // when the group has ended by itself.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let reaped: io::Result<ExitStatus> = self.child.wait();
        if reaped.is_ok() {
            self.leash.release();
        }
    }
}

/// Generous: a killed process that was writing to a slow disk ends only after that.
const KILLED_WITHIN: Duration = Duration::from_secs(30);

/// The same as `wait` would have given, in the encoding of the system.
fn exit_status(status: &WaitIdStatus) -> Option<ExitStatus> {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Some(ExitStatus::from_raw(code << 8)),
        (None, Some(signal)) => Some(ExitStatus::from_raw(signal)),
        (None, None) => None,
    }
}
