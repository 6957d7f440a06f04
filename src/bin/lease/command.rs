//! The command and its process group, and the watchdog beside it.

use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use leasehold::clock::{SystemClock, within};
use leasehold::{Clock, Lease, Moment};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, getpgrp};
use tokio::process::{Child, Command};

use crate::args::Run;
use crate::exit::Failure;
use crate::gate::Gate;
use crate::group::Group;
use crate::guard::Watchdog;
use crate::itself::{NAME, itself};
use crate::order::{Order, Until};
use crate::shared_clock::shared;
use crate::signals::Signals;
use crate::taking;
use crate::terminal::{self, Terminal};

/// How long a signal that stops this process may take to do so. Where it does nothing, since no
/// shell could continue this process, that is how long it takes to notice.
const STOPPING: Duration = Duration::from_millis(100);

/// How long a group that was killed may take to be gone: the kernel may be writing for it.
pub(crate) const DYING: Duration = Duration::from_millis(500);

/// How often a group is looked at that is to be gone.
pub(crate) const LOOK: Duration = Duration::from_millis(10);

/// A command that runs in a process group of its own.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    group: Pid,
    /// None once it has died and could not be replaced.
    watchdog: Option<Watchdog>,
    terminal: Option<Terminal>,
    /// Whether the command has the terminal whenever this process could.
    foreground: bool,
    grace: Duration,
    told_to_end: bool,
    /// Until when the watchdog was last told that the command may go on.
    until: Until,
    asked_by_watchdog: bool,
}

/// What came of the processes that were started.
pub(crate) enum Event {
    /// The command itself has ended; what it has started may go on.
    Ended(ExitStatus),
    /// The watchdog has.
    Unguarded(Option<ExitStatus>),
}

impl Running {
    /// Starts the command once the watchdog knows of it.
    pub(crate) async fn start(
        run: &Run,
        lease: &Lease,
        url: &str,
        grace: Duration,
    ) -> Result<Self, Failure> {
        let (gate, opener) = Gate::new()?;
        let mut watchdog = Watchdog::start(grace, opener.into())?;
        let terminal = Terminal::of_this_process();
        let foreground = terminal.as_ref().is_some_and(Terminal::is_ours) && !terminal::is_shared();
        let mut exec = Command::new(itself()?);
        exec.arg0(NAME).arg("__exec");
        exec.arg("--parent").arg(std::process::id().to_string());
        exec.arg("--gate").arg(gate.inherited()?.to_string());
        if foreground {
            exec.arg("--foreground");
        }
        let mut child = exec
            .arg("--")
            .args(&run.command)
            .env("LEASE_NAME", lease.name().as_str())
            .env("LEASE_MODE", lease.mode().as_str())
            .env("LEASE_EPOCH", lease.epoch().to_string())
            .env("LEASE_TOKEN", lease.token().to_string())
            .env("LEASE_URL", url)
            .env(taking::ID, lease.nonce().to_string())
            // The ticket of another lease, or one that is used up.
            .env_remove("LEASE_TICKET")
            .process_group(0)
            .spawn()
            .map_err(|error| Failure::system("cannot start the command", error))?;
        drop(gate);
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        let group =
            Pid::from_raw(pid.ok_or_else(|| {
                Failure::system("cannot start the command", "it has no process id")
            })?);
        let now = SystemClock.now();
        let until = until(now, now.plus(lease.remaining()), grace);
        if !watchdog.hears(Order::Guard(group, on_shared_clock(until))).await {
            Group(group).signal(Signal::SIGKILL);
            let _ = child.wait().await;
            return Err(Failure::system(
                "cannot start the command",
                "its watchdog does not listen",
            ));
        }
        Ok(Self {
            child,
            group,
            watchdog: Some(watchdog),
            terminal,
            foreground,
            grace,
            told_to_end: false,
            until,
            asked_by_watchdog: false,
        })
    }

    /// What happens next; of the command itself only as long as it has not `ended`.
    pub(crate) async fn next(&mut self, ended: bool) -> Result<Event, Failure> {
        let watchdog = async {
            match &mut self.watchdog {
                Some(watchdog) => watchdog.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            status = self.child.wait(), if !ended => match status {
                Ok(status) => Ok(Event::Ended(status)),
                Err(error) => Err(Failure::system("cannot wait", error)),
            },
            status = watchdog => Ok(Event::Unguarded(status.ok())),
        }
    }

    /// Sends a signal to the whole group.
    pub(crate) fn signal(&self, signal: Signal) {
        Group(self.group).signal(signal);
    }

    /// Whether nobody of the group works any more.
    pub(crate) fn is_gone(&self) -> bool {
        Group(self.group).is_gone()
    }

    /// Ends the whole group, and waits until it is gone.
    pub(crate) async fn kill_all(&self) {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let gone = async {
            while !self.is_gone() {
                self.signal(Signal::SIGKILL);
                clock.sleep_until(clock.now().plus(LOOK)).await;
            }
        };
        within(&clock, DYING, gone).await;
    }

    /// Asks the whole group to end, once.
    pub(crate) async fn tell_to_end(&mut self) {
        if !std::mem::replace(&mut self.told_to_end, true) {
            self.signal(Signal::SIGTERM);
            if let Some(watchdog) = &mut self.watchdog {
                // One that does not hear is noticed when it is told until when.
                watchdog.hears(Order::Told).await;
            }
        }
    }

    /// By which signal the terminal has stopped the command since this was last asked: for Ctrl-Z,
    /// or since it wants to use the terminal from the background.
    pub(crate) fn was_stopped(&self) -> Option<Signal> {
        match waitid(Id::Pid(self.group), WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG) {
            Ok(WaitStatus::Stopped(
                _,
                by @ (Signal::SIGTSTP | Signal::SIGTTIN | Signal::SIGTTOU),
            )) => Some(by),
            _ => None,
        }
    }

    /// The command was stopped by the terminal.
    pub(crate) async fn stopped(&mut self, by: Signal, continued: &mut Signals) {
        let ours = self.terminal.as_ref().is_some_and(Terminal::is_ours);
        if ours && by != Signal::SIGTSTP {
            // It was left to the rest of a pipeline, but the command wants it after all.
            self.foreground = true;
            self.go_on();
        } else {
            self.stop_with_it(continued).await;
        }
    }

    /// Stops this process as well, so that the shell notices and goes on; and later the command with
    /// it. Nothing is renewed meanwhile: the watchdog ends the command if that takes too long.
    async fn stop_with_it(&self, continued: &mut Signals) {
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

    /// Lets the command go on, at the terminal if this process has it to give.
    pub(crate) fn go_on(&self) {
        if let Some(terminal) = &self.terminal
            && self.foreground
            && terminal.is_ours()
        {
            let _ = terminal.give(self.group);
        }
        self.signal(Signal::SIGCONT);
    }

    /// Tells the watchdog until when the command may go on if nothing more is said.
    pub(crate) async fn must_end_by(&mut self, end: Moment) -> Result<(), Failure> {
        let until = until(SystemClock.now(), end, self.grace);
        let Some(watchdog) = &mut self.watchdog else { return Ok(()) };
        let heard = watchdog.hears(Order::Until(on_shared_clock(until))).await;
        // Looked at after it was told: what is said before the time counts for the watchdog, too.
        self.asked_by_watchdog = self.was_asked_by_watchdog();
        self.until = until;
        if heard { Ok(()) } else { self.replace_watchdog().await }
    }

    /// Whether this process was silent for so long that the watchdog asked the command to end.
    pub(crate) fn was_asked_by_watchdog(&self) -> bool {
        let due = !self.told_to_end && SystemClock.now() >= self.until.ask;
        self.asked_by_watchdog || due
    }

    /// The watchdog has ended, by itself if this is a success: then it has ended the command.
    pub(crate) async fn unguarded(&mut self, status: Option<ExitStatus>) -> Result<(), Failure> {
        if status.is_some_and(|status| status.success()) {
            self.watchdog = None;
            self.asked_by_watchdog = true;
            return Ok(());
        }
        self.replace_watchdog().await
    }

    /// Replaces a watchdog that somebody has stopped.
    pub(crate) async fn look_after_watchdog(&mut self) -> Result<(), Failure> {
        if self.watchdog.as_ref().is_some_and(Watchdog::is_stopped) {
            return self.replace_watchdog().await;
        }
        Ok(())
    }

    async fn replace_watchdog(&mut self) -> Result<(), Failure> {
        let Some(mut old) = self.watchdog.take() else { return Ok(()) };
        old.end();
        let fails = || Failure::system("the watchdog was ended", "another did not live either");
        if !old.has_lived() {
            return Err(fails());
        }
        let mut new = Watchdog::start(self.grace, Stdio::null())?;
        let guarded = new.hears(Order::Guard(self.group, on_shared_clock(self.until))).await
            && (!self.told_to_end || new.hears(Order::Told).await);
        if !guarded {
            new.end();
            return Err(fails());
        }
        self.watchdog = Some(new);
        Ok(())
    }

    /// Tells the watchdog that there is nothing to end any more.
    pub(crate) async fn over(mut self) {
        if let Some(watchdog) = &mut self.watchdog
            && !watchdog.hears(Order::Over).await
        {
            watchdog.end();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(terminal) = &self.terminal {
            terminal.take_back(self.group);
        }
    }
}

/// The watchdog asks later than this process would if it could, and never at once.
fn until(now: Moment, end: Moment, grace: Duration) -> Until {
    Until { ask: end.minus(grace.min(end.since(now) / 2) / 2), end }
}

fn on_shared_clock(until: Until) -> Until {
    Until { ask: shared(until.ask), end: shared(until.end) }
}
