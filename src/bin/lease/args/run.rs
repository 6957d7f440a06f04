//! What `lease run` is told.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};
use leasehold::{Name, Timing};

use super::{Want, duration, name};
use crate::exit::{self, Failure};
use crate::taking;

/// Run a command while holding NAME; wait for it first, if need be
///
/// The command gets LEASE_NAME, LEASE_MODE, LEASE_EPOCH, LEASE_TOKEN, LEASE_URL and LEASE_ID in its
/// environment. It runs in a process group of its own. If the lease cannot be renewed, the whole group
/// gets SIGTERM, and SIGKILL at the latest when the lease may not be believed in any more. If the lease
/// is taken away by `lease break`, somebody else may work before the command has ended. What leaves
/// the group, as by setsid, timeout or `set -m`, is reached by nothing of this.
#[derive(Debug, Args)]
#[command(after_help = exit::help("run"))]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) want: Want,

    /// How long before the end of the lease the command gets SIGTERM when renewals fail, and how
    /// long it may leave something running when a signal has ended it; at most half of the ttl
    /// [default: a quarter of the ttl, at most 5s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    kill_grace: Option<Duration>,

    /// Run it under the lease of this ticket, which is used up, instead of asking for NAME: a ticket,
    /// or the file that holds one
    #[arg(
        long,
        value_name = "TICKET",
        conflicts_with_all = ["name", "writer", "exclusive", "wait", "no_wait", "ttl", "takeover"]
    )]
    pub(crate) ticket: Option<String>,

    /// After a takeover wait so long before the command starts, so that the last writes of the
    /// holder before have arrived
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "ticket")]
    grace: Option<Duration>,

    /// What happens to the command when the lease is lost
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = OnLost::Kill)]
    pub(crate) on_lost: OnLost,

    /// Hold it for so long at the least, also where the command ends sooner: no second machine runs
    /// the same job again whose clock is a little late. A signal ends that wait
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) min_hold: Option<Duration>,

    /// Hold it for so long at the most: the command gets SIGTERM a --kill-grace before that, and
    /// SIGKILL when it is over
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) max_hold: Option<Duration>,

    /// Tell what happens as JSON lines on standard error
    #[arg(long)]
    pub(crate) json: bool,

    /// What to hold
    #[arg(value_parser = name, required_unless_present = "ticket")]
    pub(crate) name: Option<Name>,

    /// The command and its arguments, after --
    #[arg(last = true, required = true, value_name = "COMMAND", num_args = 1..)]
    pub(crate) command: Vec<OsString>,
}

/// What happens to the command when the lease is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLost {
    /// SIGTERM, then SIGKILL before the store could grant another
    Kill,
    /// SIGTERM alone: what does not heed it runs on, beside the next holder
    Term,
    /// Nothing: it runs on, beside the next holder. Only where the resource refuses old tokens
    Keep,
}

impl Run {
    /// The durations of the lease where no ticket tells them.
    ///
    /// # Errors
    ///
    /// For those that no lease can have.
    pub(crate) fn timing(&self) -> Result<Timing, Failure> {
        let ttl = Timing::with_ttl(self.want.ttl.ttl());
        let timing = ttl.grace(self.grace.unwrap_or_default()).build();
        timing.map_err(|error| Failure::usage(error.to_string()))
    }

    /// What each option alone cannot tell.
    pub(crate) fn check(&self, timing: &Timing) -> Result<(), Failure> {
        self.want.check()?;
        let (grace, ttl) = (self.kill_grace(timing), timing.ttl());
        let show = humantime::format_duration;
        if grace > ttl / 2 {
            return Err(Failure::usage(format!(
                "a --kill-grace of {} is more than half of the --ttl of {}, and would end the \
                 command for one late renewal: use at most {}, or a ttl of {}",
                show(grace),
                show(ttl),
                show(ttl / 2),
                show(grace.saturating_mul(2)),
            )));
        }
        let Some(most) = self.max_hold else { return Ok(()) };
        if most <= grace {
            return Err(Failure::usage(format!(
                "a --max-hold of {} leaves the command no time before its --kill-grace of {} \
                 begins: use a longer one",
                show(most),
                show(grace),
            )));
        }
        match self.min_hold {
            Some(least) if least > most => Err(Failure::usage(format!(
                "a --min-hold of {} is longer than the --max-hold of {}: use a shorter one",
                show(least),
                show(most),
            ))),
            _ => Ok(()),
        }
    }

    pub(crate) fn kill_grace(&self, timing: &Timing) -> Duration {
        self.kill_grace.unwrap_or_else(|| taking::grace(timing))
    }
}
