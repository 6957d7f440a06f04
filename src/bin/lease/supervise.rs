//! Runs the command while the lease is held, and ends it when it is not.

use std::process::ExitStatus;
use std::time::Duration;

use leasehold::clock::SystemClock;
use leasehold::{Clock, Lease, LossReason, Moment, Status};
use nix::sys::signal::Signal;

use crate::args::OnLost;
use crate::command::{DYING, Event, LOOK, Running};
use crate::exit::Failure;
use crate::signals::{Signals, asks_to_end};
use crate::tell::Teller;

/// How long a command has to end by itself after somebody else was given its lease: hardly any.
const DISPLACED_GRACE: Duration = Duration::from_millis(500);

/// How often a group that was killed is killed again until it is gone.
const AGAIN: Duration = Duration::from_millis(100);

/// Later than any command runs, and early enough to count on from.
const NEVER: Moment = Moment::after_origin(Duration::from_secs(100 * 365 * 24 * 3600));

/// How often the watchdog is told between two renewals: it must know of each soon.
const TOLD_PER_RENEWAL: u32 = 8;

/// How the command ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// Why it was made to, if it was.
    pub(crate) why: Option<Why>,
    /// Whether somebody asked it to end.
    pub(crate) asked: bool,
}

/// Why a command is made to end.
pub(crate) enum Why {
    /// The lease was lost.
    Lost(LossReason),
    /// It was about to be.
    Doubtful,
    /// It was held for as long as it may be.
    TooLong,
    /// Nobody would end the command if this process were killed.
    Unguarded(Failure),
}

/// A command that was asked to end, or has ended and left something running.
struct Ending {
    why: Option<Why>,
    kill_at: Moment,
    killed_at: Option<Moment>,
    /// Whether nothing is done about it: the command goes on.
    is_idle: bool,
}

/// What a command runs under.
pub(crate) struct Supervision<'a> {
    pub(crate) running: &'a mut Running,
    pub(crate) lease: &'a Lease,
    pub(crate) signals: &'a mut Signals,
    pub(crate) grace: Duration,
    pub(crate) on_lost: OnLost,
    /// When the command ends at the latest, whatever the lease does.
    pub(crate) no_longer_than: Option<Moment>,
    pub(crate) teller: &'a Teller,
}

/// Waits until the command has ended, by itself or because the lease did.
pub(crate) async fn until_it_ends(what: Supervision<'_>) -> Result<Ended, Failure> {
    Supervisor {
        what,
        ending: None,
        status: None,
        asked_from_outside: false,
        is_lost: false,
        left_over_until: None,
    }
    .supervise()
    .await
}

struct Supervisor<'a> {
    what: Supervision<'a>,
    ending: Option<Ending>,
    /// How the command itself has ended, once it has.
    status: Option<ExitStatus>,
    /// Whether a signal that asks for an end was passed on.
    asked_from_outside: bool,
    /// Whether the lease was found lost.
    is_lost: bool,
    /// Until when what is left of a command that has ended may go on.
    left_over_until: Option<Moment>,
}

impl Supervisor<'_> {
    async fn supervise(mut self) -> Result<Ended, Failure> {
        let mut children = Signals::only(Signal::SIGCHLD)?;
        let mut continued = Signals::only(Signal::SIGCONT)?;
        let mut changes = self.what.lease.status_changes();
        loop {
            // In this order: a stall in between makes the end earlier, never later. Looked at here,
            // and not by which of the branches below wakes up: a lease that is over must not look
            // to the watchdog like one whose time is up.
            let now = SystemClock.now();
            let left = self.what.lease.remaining();
            if left.is_zero() {
                self.lost().await;
            }
            if self.what.running.was_asked_by_watchdog() {
                self.ask().await;
            }
            if let Some(status) = self.status
                && self.is_over(status)
            {
                let why = self.ending.and_then(|ending| ending.why);
                return Ok(Ended { status, why, asked: self.asked_from_outside });
            }
            let believed_until = now.plus(left);
            if let Err(failure) = self.what.running.must_end_by(self.end(believed_until)).await {
                self.unguarded(failure).await;
            }
            let wake = self.wake(now, believed_until);

            let lost = self.is_lost;
            tokio::select! {
                biased;
                event = self.what.running.next(self.status.is_some()) => self.take(event?).await,
                signal = self.what.signals.next() => {
                    self.what.running.signal(signal);
                    self.asked_from_outside |= asks_to_end(signal);
                }
                _ = children.next() => self.look_at_children(&mut continued).await,
                _ = continued.next() => self.what.running.go_on(),
                _ = self.what.lease.lost(), if !lost => {}
                () = SystemClock.sleep_until(wake) => self.act().await,
                _ = changes.changed() => {}
            }
        }
    }

    /// Whether nothing is left that has to end with the command.
    fn is_over(&mut self, status: ExitStatus) -> bool {
        // A command that ends by itself may leave behind whom it likes. One that was ended did not
        // mean to.
        let by_itself = status.code().is_some() && !self.asked_from_outside;
        let nobody_asked = self.ending.as_ref().is_none_or(|ending| ending.is_idle);
        if (by_itself && nobody_asked) || self.what.running.is_gone() {
            return true;
        }
        let now = SystemClock.now();
        let time = self.what.grace.min(self.what.lease.remaining());
        let end = match &self.ending {
            // Of a lease that is lost nothing remains; what is left has its grace all the same where
            // the command itself was let go on.
            Some(_) => now.plus(self.what.grace),
            None => now.plus(time),
        };
        let end = *self.left_over_until.get_or_insert(end);
        let ending = self.ending.get_or_insert_with(|| Ending::by(end, None));
        if ending.killed_at.is_none() {
            ending.kill_at = ending.kill_at.min(end);
        }
        ending.killed_at.is_some_and(|at| now.since(at) >= DYING)
    }

    /// Until when the command may go on if nothing more is heard of this process.
    fn end(&self, believed_until: Moment) -> Moment {
        match &self.ending {
            // What was asked to end has no longer than it had then, whatever gets through after all.
            Some(Ending { why: Some(_), kill_at, .. }) => *kill_at,
            // What is merely left over ends by this process, and is told.
            _ if self.what.on_lost == OnLost::Kill => self.latest(believed_until),
            _ => self.latest(NEVER),
        }
    }

    /// When to look again.
    fn wake(&self, now: Moment, believed_until: Moment) -> Moment {
        let ask_at = self.latest(NEVER).minus(self.what.grace);
        let due = match &self.ending {
            Some(ending) if ending.is_idle => ending.kill_at.min(ask_at),
            Some(ending) => ending.kill_at,
            None if self.is_doubtful() && self.what.on_lost != OnLost::Keep => {
                believed_until.minus(self.what.grace).min(ask_at)
            }
            None => believed_until.min(ask_at),
        };
        let look = match self.status {
            Some(_) => LOOK,
            None => self.what.lease.timing().renew_every() / TOLD_PER_RENEWAL,
        };
        due.min(now.plus(look))
    }

    fn is_doubtful(&self) -> bool {
        self.what.lease.status() == Status::Doubtful
    }

    async fn take(&mut self, event: Event) {
        match event {
            Event::Ended(status) => self.status = Some(status),
            Event::Unguarded(status) => {
                if let Err(failure) = self.what.running.unguarded(status).await {
                    self.unguarded(failure).await;
                }
            }
        }
    }

    async fn look_at_children(&mut self, continued: &mut Signals) {
        if let Some(by) = self.what.running.was_stopped() {
            self.what.running.stopped(by, continued).await;
        }
        if let Err(failure) = self.what.running.look_after_watchdog().await {
            self.unguarded(failure).await;
        }
    }

    /// Does what is due.
    async fn act(&mut self) {
        let now = SystemClock.now();
        if self.ending.as_ref().is_none_or(|ending| ending.is_idle)
            && now >= self.latest(NEVER).minus(self.what.grace)
        {
            self.what.running.tell_to_end().await;
            let kill_at = match self.what.on_lost {
                OnLost::Kill => self.latest(now.plus(self.what.lease.remaining())),
                OnLost::Term | OnLost::Keep => self.latest(NEVER),
            };
            self.ending = Some(Ending::by(kill_at, Some(Why::TooLong)));
            self.what.teller.held_too_long(kill_at.since(now));
        }
        let Some(ending) = &mut self.ending else {
            if self.is_doubtful() && self.what.lease.remaining() <= self.what.grace {
                self.ask().await;
            }
            return;
        };
        if now >= ending.kill_at {
            self.what.running.signal(Signal::SIGKILL);
            // Again for what a debugger or a stop has kept.
            ending.kill_at = now.plus(AGAIN);
            if ending.killed_at.is_none() && ending.why.is_none() {
                self.what.teller.killed_the_rest();
            }
            ending.killed_at.get_or_insert(now);
        }
    }

    /// Asks the command to end since the lease has, whatever else it is asked for.
    async fn lost(&mut self) {
        if std::mem::replace(&mut self.is_lost, true) {
            return;
        }
        // First the signals: what is told may not be read.
        if self.what.on_lost != OnLost::Keep {
            self.what.running.tell_to_end().await;
        }
        let why = match self.what.lease.status() {
            Status::Lost(reason) => reason,
            Status::Held | Status::Doubtful => LossReason::Expired,
        };
        let left = match why {
            _ if self.what.on_lost != OnLost::Kill => Duration::MAX,
            // The belief is over: whoever comes next may come now.
            LossReason::Expired => {
                self.what.running.signal(Signal::SIGKILL);
                Duration::ZERO
            }
            _ => self.what.grace.min(DISPLACED_GRACE),
        };
        let kill_at = self.latest(SystemClock.now().plus(left).min(NEVER));
        let kill_at = self.ending.as_ref().map_or(kill_at, |ending| ending.kill_at.min(kill_at));
        match &mut self.ending {
            // It is being ended already, for another reason.
            Some(ending @ Ending { why: Some(Why::TooLong), .. }) => ending.kill_at = kill_at,
            ending => {
                let killed_at = ending.as_ref().and_then(|ending| ending.killed_at);
                let is_idle = self.what.on_lost == OnLost::Keep;
                *ending = Some(Ending { kill_at, killed_at, is_idle, why: Some(Why::Lost(why)) });
            }
        }
        self.what.teller.lost(self.what.lease, why, self.what.on_lost);
    }

    /// No later than the command may run at all.
    fn latest(&self, at: Moment) -> Moment {
        self.what.no_longer_than.map_or(at, |latest| latest.min(at))
    }

    /// Asks the command to end before the lease does.
    async fn ask(&mut self) {
        if self.ending.is_none() && self.what.on_lost != OnLost::Keep {
            self.what.running.tell_to_end().await;
            let kill_at = match self.what.on_lost {
                OnLost::Kill => SystemClock.now().plus(self.what.lease.remaining()),
                OnLost::Term | OnLost::Keep => NEVER,
            };
            let kill_at = self.latest(kill_at);
            self.ending = Some(Ending::by(kill_at, Some(Why::Doubtful)));
            self.what.teller.doubtful(self.what.lease);
        }
    }

    /// Asks the command to end since nobody else could.
    async fn unguarded(&mut self, failure: Failure) {
        if self.ending.is_none() {
            self.what.running.tell_to_end().await;
            let now = SystemClock.now();
            let time = self.what.grace.min(self.what.lease.remaining());
            self.ending = Some(Ending::by(now.plus(time), Some(Why::Unguarded(failure))));
        }
    }
}

impl Ending {
    const fn by(kill_at: Moment, why: Option<Why>) -> Self {
        Self { why, kill_at, killed_at: None, is_idle: false }
    }
}
