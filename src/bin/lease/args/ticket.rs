//! What those are told who take and carry tickets.

use clap::Args;
use leasehold::Name;
use nix::sys::signal::Signal;

use super::{On, Want, name};
use crate::exit;

/// Take NAME and print a ticket for it: for scripts that cannot run under `lease run`
///
/// The lease lives one ttl, and another with each `lease renew`; or it is kept in the background with
/// --keep-while. The ticket works once: each renewal prints the next one, and whoever redeems one
/// elsewhere has the lease. Other users of the machine see the command line, so give tickets by a file
/// or by LEASE_TICKET.
#[derive(Debug, Args)]
#[command(after_help = exit::help("acquire"))]
pub(crate) struct Acquire {
    #[command(flatten)]
    pub(crate) want: Want,

    /// Write the ticket to this file, for its owner only, instead of printing it
    #[arg(long, value_name = "FILE")]
    pub(crate) ticket: Option<String>,

    /// Keep the lease in the background while this process lives, such as a script's own $$
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) keep_while: Option<i32>,

    /// Send that process this signal, such as TERM, when the lease is lost; where renewals fail, a
    /// quarter of the ttl (at most 5s) before that
    #[arg(long, value_name = "SIGNAL", value_parser = signal, requires = "keep_while")]
    pub(crate) on_lost: Option<Signal>,

    #[command(flatten)]
    pub(crate) form: Form,

    /// What to hold
    #[arg(value_parser = name)]
    pub(crate) name: Name,
}

/// How a ticket is printed.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Form {
    /// Print lines that a shell can eval: LEASE_NAME, LEASE_MODE, LEASE_EPOCH, LEASE_TOKEN and
    /// LEASE_TICKET
    #[arg(long, conflicts_with = "json")]
    pub(crate) env: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// A ticket that is there.
#[derive(Debug, Args)]
pub(crate) struct Given {
    #[command(flatten)]
    pub(crate) on: On,

    /// The ticket, or the file that holds it
    #[arg(long, env = "LEASE_TICKET", hide_env_values = true, value_name = "TICKET")]
    pub(crate) ticket: String,
}

/// Renew the lease of a ticket for one more ttl; the ticket is used up, and a new one takes its place
///
/// A new one is printed, or written over the file. Of two who renew with one ticket one gets through.
/// A lease that is kept in the background is only checked, and its ticket stays.
#[derive(Debug, Args)]
#[command(after_help = exit::help("renew"))]
pub(crate) struct Renew {
    #[command(flatten)]
    pub(crate) given: Given,

    /// Take the lease from its keeper, which ends: the new ticket works anywhere
    #[arg(long)]
    pub(crate) end_keeper: bool,

    #[command(flatten)]
    pub(crate) form: Form,
}

/// Ask the store whether the lease of a ticket is held; the ticket is not used up
///
/// The answer is a moment old and prolongs nothing. Where it matters, send the token along.
#[derive(Debug, Args)]
#[command(after_help = exit::help("check"))]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) given: Given,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Free the lease of a ticket, and end its keeper
#[derive(Debug, Args)]
#[command(after_help = exit::help("release"))]
pub(crate) struct Release {
    #[command(flatten)]
    pub(crate) given: Given,
}

fn signal(text: &str) -> Result<Signal, String> {
    let upper = text.to_ascii_uppercase();
    let named = if upper.starts_with("SIG") { upper } else { format!("SIG{upper}") };
    named.parse().map_err(|_| "write a signal's name, such as TERM or USR1".to_owned())
}
