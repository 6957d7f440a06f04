//! What is asked for, by whoever takes a lease.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::{Args, ValueEnum};
use leasehold::{Mode, Policy, Timing};

use super::{On, duration, key_value, label, not_success, timing};
use crate::exit::Failure;

/// What is asked for, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Want {
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

    /// How long a holder that died blocks the name; a lease that is kept is renewed every third of it
    #[arg(long, value_name = "TIME", value_parser = timing, default_value = "15s")]
    pub(crate) ttl: Timing,

    /// What to do about a holder that let its lease expire
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Takeover::Expired)]
    takeover: Takeover,

    /// Who holds, for people: shown by status and to those who wait [default: host:pid]
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub(crate) label: Option<String>,

    /// Anything else to tell, any number of times, each key once: shown by status --json
    #[arg(long = "meta", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) metadata: Vec<(String, String)>,

    /// Exit with this code where another holds it, instead of 75
    #[arg(long, value_name = "CODE", value_parser = not_success)]
    pub(crate) conflict_exit_code: Option<u8>,
}

/// What to do about a holder that let its lease expire.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Takeover {
    /// Leave it: an operator has to break it first
    Refuse,
    /// Take over from it
    Expired,
}

impl Want {
    /// What each option alone cannot tell.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let mut keys = BTreeSet::new();
        let twice = self.metadata.iter().find(|(key, _)| !keys.insert(key));
        twice.map_or(Ok(()), |(key, _)| {
            Err(Failure::usage(format!("--meta tells `{key}` twice: give each key once")))
        })
    }

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
}
