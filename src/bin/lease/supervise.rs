//! Runs the command while the lease is held, and ends it when it is not.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use leasehold::clock::SystemClock;
use leasehold::{Clock, Lease, LossReason, Moment, Status};
use nix::sys::signal::Signal;

use crate::command::Running;
use crate::exit::{self, Failure};
use crate::run::Signals;
use crate::tell::Teller;

/// How long a command has to end by itself after somebody else was given its lease: hardly any.
const DISPLACED_GRACE: Duration = Duration::from_millis(500);

/// How often a group that was killed is killed again until its command has ended.
const AGAIN: Duration = Duration::from_millis(100);

/// How the command ended.
pub(crate) struct Ended {
    pub(crate) code: u8,
    /// Whether it was ended because the lease was lost, or about to be.
    pub(crate) lost: Option<LossReason>,
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
    let (mut doomed, mut kill_at) = (None, None::<Moment>);
    let beat = lease.timing().renew_every() / 2;
    loop {
        running.believed_for(lease.remaining()).await;
        let now = clock.now();
        // The next moment at which there is something to do without anybody saying so.
        let doubtful = matches!(lease.status(), Status::Doubtful);
        let terminate_in = lease.remaining().saturating_sub(grace);
        let mut wake = now.plus(beat);
        if doubtful && doomed.is_none() {
            wake = wake.min(now.plus(terminate_in));
        }
        wake = kill_at.map_or(wake, |at| wake.min(at));

        tokio::select! {
            biased;
            ended = running.ended() => {
                return Ok(Ended { code: code(ended?), lost: doomed });
            }
            signal = signals.next() => running.signal(signal),
            reason = lease.lost(), if kill_at.is_none() => {
                teller.lost(lease, reason);
                doomed = Some(reason);
                running.signal(Signal::SIGTERM);
                kill_at = Some(match reason {
                    // The belief is over: whoever comes next may come now.
                    LossReason::Expired => clock.now(),
                    _ => clock.now().plus(grace.min(DISPLACED_GRACE)),
                });
            }
            () = clock.sleep_until(wake) => {
                if kill_at.is_some_and(|at| clock.now() >= at) {
                    running.signal(Signal::SIGKILL);
                    // Again for whoever was started at that very moment.
                    kill_at = Some(clock.now().plus(AGAIN));
                }
                let doubtful = matches!(lease.status(), Status::Doubtful);
                if doubtful && doomed.is_none() && lease.remaining() <= grace {
                    teller.doubtful(lease);
                    doomed = Some(LossReason::Expired);
                    running.signal(Signal::SIGTERM);
                }
            }
            _ = status.changed() => {}
        }
    }
}

/// The code by which shells tell how a command ended.
fn code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code & 0xff).unwrap_or(u8::MAX),
        (None, Some(signal)) => exit::of_signal(signal),
        (None, None) => u8::MAX,
    }
}
