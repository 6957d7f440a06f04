//! What the command line may say.

use std::ffi::OsString;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use leasehold::{Mode, Name, Nonce, Policy, StoreUrl, Timing};

use crate::exit::{self, Cause, Failure};

/// Runs a command under a lease: one process at a time, and if it dies another takes over.
#[derive(Debug, Parser)]
#[command(name = "lease", version, after_help = exit::TABLE, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    Run(Run),
    Status(Status),
    List(List),
    Break(Break),
    /// Print what a shell needs to complete this command's words
    ///
    /// For bash: lease completions bash > /etc/bash_completion.d/lease
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, of this command or of one of its subcommands
    ///
    /// To read it at once: lease man run | man -l -
    Man {
        /// Which subcommand, such as run
        command: Option<String>,
    },
    #[command(name = "__exec", hide = true)]
    Exec(Exec),
    #[command(name = "__watchdog", hide = true)]
    Watchdog(Watchdog),
    /// Dies of the Ctrl-C that ended the command.
    #[command(name = "__interrupted", hide = true)]
    Interrupted,
}

/// Where the leases are.
#[derive(Debug, Args)]
pub(crate) struct On {
    /// The store that keeps the leases, such as file:///mnt/shared/leases
    #[arg(
        long = "on",
        env = "LEASE_URL",
        hide_env_values = true,
        value_name = "URL",
        value_parser = store
    )]
    pub(crate) store: StoreUrl,
}

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
    pub(crate) on: On,

    /// Hold it beside other writers; only an exclusive keeps them out
    #[arg(long, conflicts_with = "exclusive")]
    writer: bool,

    /// Hold it alone, after the writers have ended (the default)
    #[arg(long)]
    exclusive: bool,

    /// Wait so long for it; without this, for ever
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "no_wait")]
    wait: Option<Duration>,

    /// Do not wait: one try
    #[arg(long)]
    no_wait: bool,

    /// How long a holder that died blocks the name; the lease is renewed every third of it
    #[arg(long, value_name = "TIME", value_parser = timing, default_value = "15s")]
    pub(crate) ttl: Timing,

    /// How long before the end of the lease the command gets SIGTERM when renewals fail, and how
    /// long it may leave something running when a signal has ended it; at most half of the ttl
    /// [default: a quarter of the ttl, at most 5s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    kill_grace: Option<Duration>,

    /// What to do about a holder that let its lease expire
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Takeover::Expired)]
    takeover: Takeover,

    /// Who holds, for people: shown by status and to those who wait [default: host:pid]
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,

    /// Anything else to show, any number of times
    #[arg(long = "meta", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) metadata: Vec<(String, String)>,

    /// Exit with this code where another holds it, instead of 75
    #[arg(long, value_name = "CODE")]
    pub(crate) conflict_exit_code: Option<u8>,

    /// Tell what happens as JSON lines on standard error
    #[arg(long)]
    pub(crate) json: bool,

    /// What to hold
    #[arg(value_parser = name)]
    pub(crate) name: Name,

    /// The command and its arguments, after --
    #[arg(last = true, required = true, value_name = "COMMAND", num_args = 1..)]
    pub(crate) command: Vec<OsString>,
}

/// What to do about a holder that let its lease expire.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Takeover {
    /// Leave it: an operator has to break it first
    Refuse,
    /// Take over from it
    Expired,
}

impl Run {
    /// The longest time between SIGTERM and SIGKILL that nobody asked for.
    const KILL_GRACE: Duration = Duration::from_secs(5);

    pub(crate) const fn mode(&self) -> Mode {
        if self.writer { Mode::Writer } else { Mode::Exclusive }
    }

    /// How long to wait; nothing for a single try.
    pub(crate) const fn wait(&self) -> Option<Duration> {
        match (self.no_wait, self.wait) {
            (true, _) => None,
            (false, Some(time)) => Some(time),
            (false, None) => Some(Duration::MAX),
        }
    }

    pub(crate) fn policy(&self) -> Policy {
        match self.takeover {
            Takeover::Refuse => Policy::refuse(),
            Takeover::Expired => Policy::expired(),
        }
    }

    /// What each option alone cannot tell.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let (grace, ttl) = (self.kill_grace(), self.ttl.ttl());
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

    pub(crate) fn kill_grace(&self) -> Duration {
        self.kill_grace.unwrap_or_else(|| (self.ttl.ttl() / 4).min(Self::KILL_GRACE))
    }
}

/// Show who holds NAME, or that it is free; needs read rights only
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) on: On,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// What is held
    #[arg(value_parser = name)]
    pub(crate) name: Name,
}

/// List all names of the store, and what is with each; needs read rights only
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) on: On,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Take NAME away from its holder, who may still be working: prefer to stop it
///
/// Exactly the records that were shown are removed. The epoch of a granted exclusive rises, so that
/// a resource that looks at tokens refuses its late writes. The holder's `lease run` ends its
/// command at its next renewal.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).args(["id", "force"]))]
pub(crate) struct Break {
    #[command(flatten)]
    pub(crate) on: On,

    /// The holder's id, as status shows it
    #[arg(long, value_name = "ID", value_parser = nonce)]
    pub(crate) id: Option<Nonce>,

    /// Break every record of the name, writers and waiting exclusives too, after showing them
    #[arg(long)]
    pub(crate) force: bool,

    /// Why, for whoever wonders
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) why: String,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// What is held
    #[arg(value_parser = name)]
    pub(crate) name: Name,
}

/// Becomes the command: what `run` starts.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// The process that holds the lease: without it nothing is run.
    #[arg(long)]
    pub(crate) parent: i32,

    /// The gate to wait at.
    #[arg(long)]
    pub(crate) gate: i32,

    /// Whether the terminal goes with it.
    #[arg(long)]
    pub(crate) foreground: bool,

    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// Ends the command's group if the process that holds the lease cannot.
#[derive(Debug, Args)]
pub(crate) struct Watchdog {
    #[arg(long, value_parser = duration)]
    pub(crate) grace: Duration,
}

fn store(text: &str) -> Result<StoreUrl, String> {
    let url = StoreUrl::parse(text).map_err(|error| error.to_string())?;
    if url.is_memory() {
        return Err(
            "leases in memory end with this command and keep nobody out; use a folder, such \
                    as file:///tmp/leases"
                .to_owned(),
        );
    }
    Ok(url)
}

fn name(text: &str) -> leasehold::Result<Name> {
    Name::parse(text)
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{error}; write a number and its unit, such as 500ms, 30s or 5m"))
}

fn timing(text: &str) -> Result<Timing, String> {
    Timing::with_ttl(duration(text)?).build().map_err(|error| error.to_string())
}

fn nonce(text: &str) -> Result<Nonce, String> {
    text.parse().map_err(|_| "an id is the 32 hex digits that `lease status` shows".to_owned())
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write it as key=value".to_owned()),
    }
}
