//! The command and its process group, and the watchdog beside it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use leasehold::clock::{SystemClock, within};
use leasehold::{Clock, Lease, Moment};
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, getpgrp};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};

use crate::exit::Failure;
use crate::signals::Signals;
use crate::terminal::Terminal;
use crate::watchdog;

/// How long a signal that stops this process may take to do so. Where it does nothing, since no
/// shell could continue this process, that is how long it takes to notice.
const STOPPING: Duration = Duration::from_millis(100);

/// How long a group that was killed may take to be gone: the kernel may be writing for it, and what
/// nobody has asked for its exit status counts as well.
const DYING: Duration = Duration::from_millis(500);

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// How long the watchdog may take to listen. One that is stopped must not stop this process.
const LISTENING: Duration = Duration::from_millis(50);

/// A command that runs in a process group of its own.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    group: Pid,
    watchdog: Watchdog,
    terminal: Option<Terminal>,
    grace: Duration,
    told_to_end: bool,
    /// When the watchdog asks the command to end, unless it hears of this process before.
    watchdog_asks_at: Option<Moment>,
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
        let terminal = Terminal::of_this_process();
        let mut exec = Command::new(&itself);
        exec.arg("__exec").arg("--parent").arg(std::process::id().to_string());
        if terminal.as_ref().is_some_and(Terminal::is_ours) {
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
        if let Err(failure) = watchdog.guard(group).await {
            // Without a watchdog the command must not run.
            let _ = killpg(group, Signal::SIGKILL);
            return Err(failure);
        }
        Ok(Self {
            child,
            group,
            watchdog,
            terminal,
            grace,
            told_to_end: false,
            watchdog_asks_at: None,
        })
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

    /// Asks the whole group to end, once.
    pub(crate) async fn tell_to_end(&mut self) {
        if !std::mem::replace(&mut self.told_to_end, true) {
            self.signal(Signal::SIGTERM);
            self.watchdog.say("told\n").await;
        }
    }

    /// Ends the whole group, and waits until it is gone.
    pub(crate) async fn kill_all(&self) {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let gone = async {
            while killpg(self.group, Signal::SIGKILL) != Err(Errno::ESRCH) {
                clock.sleep_until(clock.now().plus(LOOK)).await;
            }
        };
        within(&clock, DYING, gone).await;
    }

    /// Whether the terminal has stopped the command since this was last asked: by Ctrl-Z, or since
    /// it wants to read from the background.
    pub(crate) fn was_stopped(&self) -> bool {
        let stopped = waitid(Id::Pid(self.group), WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG);
        matches!(
            stopped,
            Ok(WaitStatus::Stopped(_, Signal::SIGTSTP | Signal::SIGTTIN | Signal::SIGTTOU))
        )
    }

    /// Stops this process as well, so that the shell notices and goes on; and later the command with
    /// it. Nothing is renewed meanwhile: the watchdog ends the command if that takes too long.
    pub(crate) async fn stop_with_it(&self, continued: &mut Signals) {
        let Some(terminal) = &self.terminal else { return };
        terminal.take_back(self.group);
        // To all that Ctrl-Z would have reached, had the command not had a group of its own.
        let _ = killpg(getpgrp(), Signal::SIGTSTP);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let was_stopped = within(&clock, STOPPING, continued.next()).await.is_some();
        // Without a shell to go on at, the command cannot be stopped from the terminal.
        if was_stopped || terminal.is_ours() {
            self.go_on();
        }
    }

    /// Lets the command go on, at the terminal if this process has it.
    pub(crate) fn go_on(&self) {
        if let Some(terminal) = self.terminal.as_ref().filter(|terminal| terminal.is_ours()) {
            let _ = terminal.give(self.group);
        }
        self.signal(Signal::SIGCONT);
    }

    /// Tells the watchdog how long the command may go on if nothing more is said.
    pub(crate) async fn must_end_in(&mut self, time: Duration) {
        self.watchdog.say(&format!("for {}\n", time.as_millis())).await;
        self.watchdog_asks_at = Some(watchdog::asks_at(SystemClock.now(), time, self.grace));
    }

    /// Whether this process was silent for so long that the watchdog asked the command to end.
    pub(crate) fn was_asked_by_watchdog(&self) -> bool {
        let asked = |at| !self.told_to_end && SystemClock.now() >= at;
        self.watchdog_asks_at.is_some_and(asked)
    }

    /// Tells the watchdog that there is nothing to end any more.
    pub(crate) async fn over(mut self) {
        self.watchdog.say("over\n").await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(terminal) = &self.terminal {
            terminal.take_back(self.group);
        }
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
            // Neither a signal of the terminal nor a disk that is unmounted concerns it.
            .process_group(0)
            .current_dir("/")
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
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let _ = within(&clock, LISTENING, self.pipe.write_all(line.as_bytes())).await;
    }
}

fn itself() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::system("cannot find this program", error))
}
