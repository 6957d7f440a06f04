//! What happened in a schedule, as data.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, PausedClock};
use crate::{Epoch, Mode, Token};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When, in the world's time since the start.
    pub at: Duration,
    /// To which client.
    pub client: usize,
    /// What.
    pub happening: Happening,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Happening {
    /// It asks for the name.
    Asks(Mode),
    /// It was granted.
    Granted(Mode, Epoch),
    /// It was not, and why.
    NotGranted(String),
    /// Its lease is over, and why.
    Over(String),
    /// Its write arrived at the resource.
    Wrote {
        /// With which token.
        token: Token,
        /// Whether the resource took it.
        admitted: bool,
    },
    /// Its process stops.
    Stops(Duration),
    /// Its process is killed.
    Crashes,
    /// Somebody breaks its lease.
    Broken(Epoch),
    /// A request of its was spoiled.
    Spoiled {
        /// Which step.
        what: &'static str,
        /// How.
        fault: &'static str,
    },
    /// The faults are over.
    Calm,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9.3} s  client {}  {:?}", self.at.as_secs_f64(), self.client, self.happening)
    }
}

#[derive(Debug)]
pub(super) struct History {
    clock: PausedClock,
    events: Mutex<Vec<Event>>,
}

impl History {
    pub(super) const fn new(clock: PausedClock) -> Self {
        Self { clock, events: Mutex::new(Vec::new()) }
    }

    pub(super) fn add(&self, client: usize, happening: Happening) {
        let at = self.clock.now().since_origin();
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.push(Event { at, client, happening });
    }

    pub(super) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
