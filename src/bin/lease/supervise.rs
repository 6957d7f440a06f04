//! Runs the command while the lease is held, and ends it when it is not.

use std::process::ExitStatus;
use std::time::Duration;

use leasehold::clock::SystemClock;
use leasehold::{Clock, Lease, LossReason, Moment, Status};
use nix::sys::signal::Signal;

use crate::command::Running;
use crate::exit::Failure;
use crate::signals::Signals;
use crate::tell::Teller;

/// How long a command has to end by itself after somebody else was given its lease: hardly any.
const DISPLACED_GRACE: Duration = Duration::from_millis(500);

/// How often a group that was killed is killed again until its command has ended.
const AGAIN: Duration = Duration::from_millis(100);

/// How often the watchdog is told between two renewals: it must know of each soon.
const TOLD_PER_RENEWAL: u32 = 8;

/// How the command ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// Whether it was ended because the lease was lost, or about to be.
    pub(crate) lost: Option<LossReason>,
}

/// A command that was asked to end.
#[derive(Clone, Copy)]
struct Ending {
    why: LossReason,
    kill_at: Moment,
}

/// Waits until the command has ended, by itself or because the lease did.
pub(crate) async fn until_it_ends(
    running: &mut Running,
    lease: &Lease,
    signals: &mut Signals,
    grace: Duration,
    teller: &Teller,
) -> Result<Ended, Failure> {
    let clock = SystemClock;
    let mut status = lease.status_changes();
    let mut children = Signals::only(Signal::SIGCHLD)?;
    let mut continued = Signals::only(Signal::SIGCONT)?;
    let mut ending: Option<Ending> = None;
    let mut asked_by_watchdog = false;
    loop {
        // Looked at here, and not by which of the branches below wakes up: a lease that is over must
        // not look to the watchdog like one whose time is up.
        let left = lease.remaining();
        if ending.is_none() && left.is_zero() {
            let why = loss(lease).unwrap_or(LossReason::Expired);
            ending = Some(lost(why, running, lease, grace, teller).await);
        }
        // While this process was stopped the watchdog may have asked the command to end.
        asked_by_watchdog |= running.was_asked_by_watchdog();
        if asked_by_watchdog && ending.is_none() {
            ending = Some(ask(running, lease, teller).await);
        }
        let now = clock.now();
        // What was asked to end has no longer than it had then, whatever gets through after all.
        let deadline = ending.map_or_else(|| now.plus(left), |ending| ending.kill_at);
        running.must_end_in(deadline.since(now)).await;
        let wake = match ending {
            Some(ending) => ending.kill_at,
            None if lease.status() == Status::Doubtful => deadline.minus(grace),
            None => deadline,
        };
        let wake = wake.min(now.plus(lease.timing().renew_every() / TOLD_PER_RENEWAL));

        tokio::select! {
            biased;
            ended = running.ended() => {
                // It may have been ended by the watchdog, while this process was stopped.
                asked_by_watchdog |= running.was_asked_by_watchdog();
                let why = ending.map(|ending| ending.why).or_else(|| loss(lease));
                let lost = why.or_else(|| asked_by_watchdog.then_some(LossReason::Expired));
                return Ok(Ended { status: ended?, lost });
            }
            signal = signals.next() => running.signal(signal),
            _ = children.next() => if running.was_stopped() {
                running.stop_with_it(&mut continued).await;
            },
            _ = continued.next() => running.go_on(),
            _ = lease.lost(), if ending.is_none() => {}
            () = clock.sleep_until(wake) => match &mut ending {
                Some(ending) if clock.now() >= ending.kill_at => {
                    running.signal(Signal::SIGKILL);
                    // Again for whoever was started at that very moment.
                    ending.kill_at = clock.now().plus(AGAIN);
                }
                None if lease.status() == Status::Doubtful && lease.remaining() <= grace => {
                    ending = Some(ask(running, lease, teller).await);
                }
                _ => {}
            },
            _ = status.changed() => {}
        }
    }
}

/// Asks the command to end since the lease has.
async fn lost(
    why: LossReason,
    running: &mut Running,
    lease: &Lease,
    grace: Duration,
    teller: &Teller,
) -> Ending {
    // First the signals: whoever should read what is told may not be reading.
    running.tell_to_end().await;
    let left = match why {
        // The belief is over: whoever comes next may come now.
        LossReason::Expired => {
            running.signal(Signal::SIGKILL);
            Duration::ZERO
        }
        _ => grace.min(DISPLACED_GRACE),
    };
    let kill_at = SystemClock.now().plus(left);
    teller.lost(lease, why);
    Ending { why, kill_at }
}

/// Asks the command to end before the lease does.
async fn ask(running: &mut Running, lease: &Lease, teller: &Teller) -> Ending {
    running.tell_to_end().await;
    let kill_at = SystemClock.now().plus(lease.remaining());
    teller.doubtful(lease);
    Ending { why: LossReason::Expired, kill_at }
}

fn loss(lease: &Lease) -> Option<LossReason> {
    match lease.status() {
        Status::Lost(reason) => Some(reason),
        Status::Held | Status::Doubtful => None,
    }
}
