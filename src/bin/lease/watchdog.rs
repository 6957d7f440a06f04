//! Ends the command's group when the process that holds the lease cannot: because it was killed, or
//! because it is stopped while its lease runs out.

use std::time::Duration;

use leasehold::Moment;
use nix::sys::signal::{SigSet, Signal};

use crate::ears::{Ears, Heard};
use crate::exit::Failure;
use crate::gate;
use crate::group::Group;
use crate::order::{Order, Until};
use crate::shared_clock;

/// How often it looks at the clock: timers stand still while the machine is suspended.
const NAP: Duration = Duration::from_millis(100);

/// How long a holder may be silent before it is heard of for the first time.
const FIRST: Duration = Duration::from_secs(3600);

/// Whom it guards.
struct Guarded {
    group: Group,
    until: Until,
    /// Whether the command has been asked to end.
    told: bool,
    /// Whether the holder was killed.
    alone: bool,
}

/// Does what the holder says, and acts once it falls silent.
pub(crate) fn watch(grace: Duration) -> Result<u8, Failure> {
    stay()?;
    let mut ears = Ears::default();
    let Heard::Order(Order::Guard(group, until)) = ears.hear(FIRST) else {
        // There is no command yet, and without us there will be none.
        return Ok(0);
    };
    gate::open(until.end);
    let mut guarded = Guarded { group: Group(group), until, told: false, alone: false };
    loop {
        // Looked at before listening: what was said before the time was up counts, however late it
        // is heard.
        let now = shared_clock::now();
        match ears.hear(guarded.next().since(now).min(NAP)) {
            Heard::Order(Order::Over) => return Ok(0),
            Heard::Order(Order::Told) => guarded.told = true,
            Heard::Order(Order::Until(until) | Order::Guard(_, until)) => guarded.until = until,
            Heard::Gone => guarded.left_alone(shared_clock::now(), grace),
            Heard::Nothing if guarded.is_done_at(now) => return Ok(0),
            Heard::Nothing => {}
        }
    }
}

impl Guarded {
    /// When there is something to do.
    fn next(&self) -> Moment {
        if self.told { self.until.end } else { self.until.ask.min(self.until.end) }
    }

    /// Does what is to be done by `now`; whether that was all.
    fn is_done_at(&mut self, now: Moment) -> bool {
        if self.alone && self.group.is_gone() {
            return true;
        }
        if now >= self.until.end {
            self.group.signal(Signal::SIGKILL);
            return true;
        }
        if now >= self.until.ask {
            self.ask();
        }
        false
    }

    /// The holder was killed.
    fn left_alone(&mut self, now: Moment, grace: Duration) {
        self.alone = true;
        self.ask();
        self.until.end = self.until.end.min(now.plus(grace));
    }

    fn ask(&mut self) {
        if !std::mem::replace(&mut self.told, true) {
            self.group.signal(Signal::SIGTERM);
        }
    }
}

/// Blocks all signals that ask for an end: whoever sends one means the command and its holder, and
/// needs the watchdog until those have ended.
fn stay() -> Result<(), Failure> {
    SigSet::all().thread_block().map_err(|error| Failure::system("cannot block signals", error))
}
