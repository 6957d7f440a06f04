//! The process that a lease is kept for.

use std::time::Duration;

use leasehold::clock::SystemClock;
use leasehold::{Clock, Liveness, ProcessId};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::exit::{Cause, Failure};

/// How often it is looked at: it is nobody's child here, so the system does not tell of its end.
const LOOK: Duration = Duration::from_millis(200);

/// A process, known by more than its pid where the system tells, since pids are used again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Script {
    pid: i32,
    process: Option<ProcessId>,
}

impl Script {
    /// The process that has this pid now.
    pub(crate) fn find(pid: i32) -> Result<Self, Failure> {
        let process = u32::try_from(pid).ok().and_then(ProcessId::of);
        // One that has ended and was not asked for its exit status yet still has a pid.
        let is_told = process.is_some() || ProcessId::of_this_process().is_none();
        let script = Self { pid, process };
        if is_told && script.lives() { Ok(script) } else { Err(script.is_gone()) }
    }

    pub(crate) const fn pid(&self) -> i32 {
        self.pid
    }

    pub(crate) fn lives(&self) -> bool {
        match self.process.as_ref().map(ProcessId::liveness) {
            Some(Liveness::Alive) => true,
            Some(Liveness::Dead) => false,
            // It may be another user's.
            Some(Liveness::Unknown) | None => {
                kill(Pid::from_raw(self.pid), None) != Err(Errno::ESRCH)
            }
        }
    }

    pub(crate) fn is_gone(&self) -> Failure {
        let message = format!(
            "there is no process {} to keep the lease for: write --keep-while $$",
            self.pid
        );
        Failure::new(Cause::Usage, message)
    }

    /// Waits for its end.
    pub(crate) async fn ended(&self) {
        while self.lives() {
            SystemClock.sleep_until(SystemClock.now().plus(LOOK)).await;
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        if self.lives() {
            // It may have ended in between.
            let _ = kill(Pid::from_raw(self.pid), signal);
        }
    }
}
