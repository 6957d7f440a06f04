//! Ends the command's group when the process that holds the lease cannot: because it was killed, or
//! because it is stopped while its lease runs out.

use std::time::Duration;

use leasehold::clock::SystemClock;
use leasehold::{Clock, Moment};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin, stdin};

use crate::exit::Failure;

/// Blocks all signals that ask for an end, before there is a second thread: whoever sends one means
/// the command and its holder, and needs the watchdog until those have ended.
pub(crate) fn stay() -> Result<(), Failure> {
    SigSet::all().thread_block().map_err(|error| Failure::system("cannot block signals", error))
}

/// When it asks a command to end of whose holder it hears nothing more: later than the holder would
/// if it could, and never at once.
pub(crate) fn asks_at(told_at: Moment, left: Duration, grace: Duration) -> Moment {
    told_at.plus(left).minus(grace.min(left / 2) / 2)
}

/// Reads what the holder says, and acts once it falls silent.
pub(crate) async fn watch(grace: Duration) -> Result<u8, Failure> {
    let mut lines = BufReader::new(stdin()).lines();
    let Some(group) = next(&mut lines).await.and_then(|line| line.parse().ok()) else {
        // There is no command yet; if it comes, its parent-death signal ends it.
        return Ok(0);
    };
    let group = Pid::from_raw(group);
    let clock = SystemClock;
    let mut believed_until: Option<Moment> = None;
    // When the command is asked to end, unless it has been.
    let mut ask_at: Option<Moment> = None;
    let mut told = false;
    loop {
        let asking = until(ask_at.filter(|_| !told));
        let line = tokio::select! {
            biased;
            line = next(&mut lines) => line,
            // The holder is stopped and cannot end the command.
            () = asking => {
                let _ = killpg(group, Signal::SIGTERM);
                told = true;
                continue;
            }
            () = until(believed_until) => {
                let _ = killpg(group, Signal::SIGKILL);
                return Ok(0);
            }
        };
        match line.as_deref() {
            Some("over") => return Ok(0),
            Some("told") => told = true,
            Some(line) => {
                let left = line.strip_prefix("for ").and_then(|ms| ms.parse().ok());
                if let Some(left) = left.map(Duration::from_millis) {
                    let end = clock.now().plus(left);
                    believed_until = Some(end);
                    ask_at = Some(asks_at(clock.now(), left, grace));
                }
            }
            // The holder was killed.
            None => break,
        }
    }
    if !told {
        let _ = killpg(group, Signal::SIGTERM);
    }
    let kill_at = clock.now().plus(grace).min(believed_until.unwrap_or_else(|| clock.now()));
    clock.sleep_until(kill_at).await;
    let _ = killpg(group, Signal::SIGKILL);
    Ok(0)
}

/// Ends at this moment; never if there is none.
async fn until(at: Option<Moment>) {
    match at {
        Some(at) => SystemClock.sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// The next line; nothing once the holder's end of the pipe is closed.
async fn next(lines: &mut Lines<BufReader<Stdin>>) -> Option<String> {
    lines.next_line().await.ok().flatten()
}
