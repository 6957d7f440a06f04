//! The watchdog, as the process sees it that holds the lease.

use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use leasehold::clock::{SystemClock, within};
use leasehold::{Clock, Moment};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};

use crate::exit::Failure;
use crate::itself::{NAME, itself};
use crate::order::Order;

/// How long it may take to listen. One that is stopped must not stop this process.
const LISTENING: Duration = Duration::from_millis(50);

/// One that does not live for so long is not started again: the next would not either.
const LIFE: Duration = Duration::from_secs(1);

/// A process that ends the command's group when this one cannot.
#[derive(Debug)]
pub(crate) struct Watchdog {
    /// Closes when this process ends, however it ends.
    pipe: ChildStdin,
    process: Child,
    started: Moment,
}

impl Watchdog {
    /// Starts it; what it opens the command's gate with goes to `gate`.
    pub(crate) fn start(grace: Duration, gate: Stdio) -> Result<Self, Failure> {
        let cannot = |error: String| Failure::system("cannot start the watchdog", error);
        let mut process = Command::new(itself()?)
            .arg0(NAME)
            .arg("__watchdog")
            .arg("--grace")
            .arg(format!("{}ms", grace.as_millis()))
            .stdin(Stdio::piped())
            .stdout(gate)
            .stderr(Stdio::null())
            // Neither a signal of the terminal nor a disk that is unmounted concerns it.
            .process_group(0)
            .current_dir("/")
            .spawn()
            .map_err(|error| cannot(error.to_string()))?;
        let pipe = process.stdin.take().ok_or_else(|| cannot("it has no pipe".into()))?;
        Ok(Self { pipe, process, started: SystemClock.now() })
    }

    /// Whether it can still be told.
    pub(crate) async fn hears(&mut self, order: Order) -> bool {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let line = format!("{order}\n");
        let said = within(&clock, LISTENING, self.pipe.write_all(line.as_bytes())).await;
        matches!(said, Some(Ok(())))
    }

    /// How it has ended, once it has.
    pub(crate) async fn ended(&mut self) -> std::io::Result<ExitStatus> {
        self.process.wait().await
    }

    /// Whether somebody has stopped it, so that it guards nobody.
    pub(crate) fn is_stopped(&self) -> bool {
        let pid = self.process.id().and_then(|pid| i32::try_from(pid).ok());
        let stopped = |pid| {
            let id = Id::Pid(Pid::from_raw(pid));
            waitid(id, WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG)
        };
        matches!(pid.map(stopped), Some(Ok(WaitStatus::Stopped(..))))
    }

    /// Whether another in its place may live longer.
    pub(crate) fn has_lived(&self) -> bool {
        SystemClock.now().since(self.started) >= LIFE
    }

    /// Ends it.
    pub(crate) fn end(&mut self) {
        // It may have ended before.
        let _ = self.process.start_kill();
    }
}
