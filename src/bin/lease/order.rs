//! What the process that holds the lease says to its watchdog, a line each.

use std::fmt;

use leasehold::Moment;
use nix::unistd::Pid;

use crate::shared_clock::{read, written};

/// A line to the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// This group is to be ended then.
    Guard(Pid, Until),
    /// It may go on until then.
    Until(Until),
    /// It has been asked to end: the watchdog does not ask again.
    Told,
    /// There is nothing to end any more.
    Over,
}

/// How long a command may go on of whose holder nothing more is heard, on the shared clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Until {
    /// It is asked to end,
    pub(crate) ask: Moment,
    /// and killed.
    pub(crate) end: Moment,
}

impl Order {
    /// What a line says; nothing if it is none of ours.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let until = |ask, end| Some(Until { ask: read(ask)?, end: read(end)? });
        match words[..] {
            ["guard", group, ask, end] => {
                Some(Self::Guard(Pid::from_raw(group.parse().ok()?), until(ask, end)?))
            }
            ["until", ask, end] => Some(Self::Until(until(ask, end)?)),
            ["told"] => Some(Self::Told),
            ["over"] => Some(Self::Over),
            _ => None,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guard(group, until) => write!(f, "guard {group} {until}"),
            Self::Until(until) => write!(f, "until {until}"),
            Self::Told => f.write_str("told"),
            Self::Over => f.write_str("over"),
        }
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", written(self.ask), written(self.end))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let at = |nanos| Moment::after_origin(Duration::from_nanos(nanos));
        let until = Until { ask: at(7), end: at(u64::MAX) };
        let orders =
            [Order::Guard(Pid::from_raw(42), until), Order::Until(until), Order::Told, Order::Over];
        for order in orders {
            assert_eq!(Order::parse(&order.to_string()), Some(order));
        }
    }

    #[test]
    fn anything_else_is_nothing() {
        for line in ["", "until", "until 1", "until 1 x", "guard 1 2", "told you"] {
            assert_eq!(Order::parse(line), None, "{line}");
        }
    }
}
