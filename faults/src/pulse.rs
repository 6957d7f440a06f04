//! Whether a process gets its turn: its loop of events tells when it goes on late.

use std::time::Duration;

use crate::event::{What, Who};
use crate::history::{Recorder, now};

/// Between two beats.
const BETWEEN: Duration = Duration::from_millis(50);
/// How late is told: what costs a lease adds up to far more.
const TOLD: Duration = Duration::from_millis(150);

/// Beats in the runtime of the caller, for as long as that is there.
pub fn start(who: Who, recorder: Recorder) {
    tokio::spawn(async move {
        loop {
            let due = now() + BETWEEN.as_nanos() as u64;
            tokio::time::sleep(BETWEEN).await;
            let late = Duration::from_nanos(now().saturating_sub(due));
            if late >= TOLD {
                let by_ms = u64::try_from(late.as_millis()).unwrap_or(u64::MAX);
                recorder.add(who, What::Late { by_ms });
            }
        }
    });
}
