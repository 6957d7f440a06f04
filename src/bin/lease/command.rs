//! The command and its process group, and the watchdog beside it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use leasehold::Lease;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};

use crate::exit::Failure;
use crate::terminal::{self, TakeBack};

/// A command that runs in a process group of its own.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    group: Pid,
    watchdog: Watchdog,
    _terminal: TakeBack,
}

impl Running {
    /// Starts the command, and the watchdog before it.
    pub(crate) async fn start(
        command: &[OsString],
        lease: &Lease,
        url: &str,
        grace: Duration,
    ) -> Result<Self, Failure> {
        let itself = itself()?;
        let mut watchdog = Watchdog::start(&itself, grace)?;
        let foreground = terminal::is_ours();
        let terminal = TakeBack(foreground);
        let mut exec = Command::new(&itself);
        exec.arg("__exec").arg("--parent").arg(std::process::id().to_string());
        if foreground {
            exec.arg("--foreground");
        }
        let child = exec
            .arg("--")
            .args(command)
            .env("LEASE_NAME", lease.name().as_str())
            .env("LEASE_MODE", lease.mode().as_str())
            .env("LEASE_EPOCH", lease.epoch().to_string())
            .env("LEASE_TOKEN", lease.token().to_string())
            .env("LEASE_URL", url)
            .process_group(0)
            .spawn()
            .map_err(|error| Failure::system("cannot start the command", error))?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        let group =
            Pid::from_raw(pid.ok_or_else(|| {
                Failure::system("cannot start the command", "it has no process id")
            })?);
        watchdog.guard(group).await?;
        Ok(Self { child, group, watchdog, _terminal: terminal })
    }

    /// Waits for the command itself; what it has started may go on.
    pub(crate) async fn ended(&mut self) -> Result<ExitStatus, Failure> {
        self.child.wait().await.map_err(|error| Failure::system("cannot wait", error))
    }

    /// Sends a signal to the whole group.
    pub(crate) fn signal(&self, signal: Signal) {
        // A group that is gone needs no signal.
        let _ = killpg(self.group, signal);
    }

    /// Tells the watchdog for how long the lease may be believed in.
    pub(crate) async fn believed_for(&mut self, time: Duration) {
        self.watchdog.say(&format!("for {}\n", time.as_millis())).await;
    }

    /// Tells the watchdog that there is nothing to end any more.
    pub(crate) async fn over(mut self) {
        self.watchdog.say("over\n").await;
    }
}

/// A process that ends the command's group when this one cannot.
#[derive(Debug)]
struct Watchdog {
    /// Closes when this process ends, however it ends.
    pipe: ChildStdin,
    _process: Child,
}

impl Watchdog {
    fn start(itself: &PathBuf, grace: Duration) -> Result<Self, Failure> {
        let cannot = |error: String| Failure::system("cannot start the watchdog", error);
        let mut process = Command::new(itself)
            .arg("__watchdog")
            .arg("--grace")
            .arg(format!("{}ms", grace.as_millis()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| cannot(error.to_string()))?;
        let pipe = process.stdin.take().ok_or_else(|| cannot("it has no pipe".into()))?;
        Ok(Self { pipe, _process: process })
    }

    async fn guard(&mut self, group: Pid) -> Result<(), Failure> {
        let line = format!("{group}\n");
        let said = self.pipe.write_all(line.as_bytes()).await;
        said.map_err(|error| Failure::system("the watchdog does not listen", error))
    }

    async fn say(&mut self, line: &str) {
        // A watchdog that was killed cannot be told; the command is still ended by this process.
        let _ = self.pipe.write_all(line.as_bytes()).await;
    }
}

fn itself() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::system("cannot find this program", error))
}
