//! Waiting for something in another process, never without an end.

use std::thread;
use std::time::{Duration, Instant};

/// How long between two looks: short beside what servers need to start.
const BETWEEN: Duration = Duration::from_millis(50);

/// Looks until the answer is `Ok`, or returns the last look's reason when the time is up.
///
/// At least one look happens, and one that fails for good ends the wait at once.
pub(crate) fn until<T, E>(
    within: Duration,
    mut look: impl FnMut() -> Result<T, Look<E>>,
) -> Result<T, E> {
    let end = Instant::now() + within;
    loop {
        match look() {
            Ok(value) => return Ok(value),
            Err(Look::Never(reason)) => return Err(reason),
            Err(Look::NotYet(reason)) if Instant::now() >= end => return Err(reason),
            Err(Look::NotYet(_)) => thread::sleep(BETWEEN),
        }
    }
}

/// Why a look found nothing.
#[derive(Debug)]
pub(crate) enum Look<E> {
    /// Worth another look.
    NotYet(E),
    /// No later look will find it.
    Never(E),
}
