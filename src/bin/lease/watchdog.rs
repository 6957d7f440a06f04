//! Ends the command's group when the process that holds the lease cannot: because it was killed, or
//! because it is stopped while its lease runs out.

use std::time::Duration;

use leasehold::clock::SystemClock;
use leasehold::{Clock, Moment};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin, stdin};

use crate::exit::Failure;

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
    loop {
        let runs_out = async {
            match believed_until {
                Some(at) => clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let line = tokio::select! {
            biased;
            line = next(&mut lines) => line,
            // The holder is stopped and cannot end the command: there is no time left to ask.
            () = runs_out => {
                let _ = killpg(group, Signal::SIGKILL);
                return Ok(0);
            }
        };
        match line.as_deref() {
            Some("over") => return Ok(0),
            Some(line) => {
                let left = line.strip_prefix("for ").and_then(|ms| ms.parse().ok());
                if let Some(left) = left {
                    believed_until = Some(clock.now().plus(Duration::from_millis(left)));
                }
            }
            // The holder was killed.
            None => break,
        }
    }
    let _ = killpg(group, Signal::SIGTERM);
    let kill_at = clock.now().plus(grace).min(believed_until.unwrap_or_else(|| clock.now()));
    clock.sleep_until(kill_at).await;
    let _ = killpg(group, Signal::SIGKILL);
    Ok(0)
}

/// The next line; nothing once the holder's end of the pipe is closed.
async fn next(lines: &mut Lines<BufReader<Stdin>>) -> Option<String> {
    lines.next_line().await.ok().flatten()
}
