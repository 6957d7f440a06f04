//! What `lease run` is told.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use leasehold::{Name, Timing};

use super::{Want, duration, name};
use crate::exit::{self, Cause, Failure};
use crate::taking;

/// Run a command while holding NAME; wait for it first, if need be
///
/// The command gets LEASE_NAME, LEASE_MODE, LEASE_EPOCH, LEASE_TOKEN and LEASE_URL in its
/// environment. It runs in a process group of its own. If the lease cannot be renewed, the whole group
/// gets SIGTERM, and SIGKILL at the latest when the lease may not be believed in any more. If the lease
/// is taken away by `lease break`, somebody else may work before the command has ended. What leaves
/// the group, as by setsid, timeout or `set -m`, is reached by nothing of this.
#[derive(Debug, Args)]
#[command(after_help = exit::TABLE)]
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

impl Run {
    /// What each option alone cannot tell.
    pub(crate) fn check(&self, timing: &Timing) -> Result<(), Failure> {
        let (grace, ttl) = (self.kill_grace(timing), timing.ttl());
        if grace <= ttl / 2 {
            return Ok(());
        }
        let show = humantime::format_duration;
        let message = format!(
            "a --kill-grace of {} is more than half of the --ttl of {}, and would end the command \
             for one late renewal: use at most {}, or a ttl of {}",
            show(grace),
            show(ttl),
            show(ttl / 2),
            show(grace.saturating_mul(2)),
        );
        Err(Failure::new(Cause::Usage, message))
    }

    pub(crate) fn kill_grace(&self, timing: &Timing) -> Duration {
        self.kill_grace.unwrap_or_else(|| taking::grace(timing))
    }
}
