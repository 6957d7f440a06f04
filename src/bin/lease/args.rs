//! What the command line may say.

use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use leasehold::{Name, Nonce, StoreUrl, Timing};

use crate::{exit, show};

mod bench;
mod break_;
mod inner;
mod look;
mod run;
mod ticket;
mod want;

pub(crate) use bench::Bench;
pub(crate) use break_::Break;
pub(crate) use inner::{Exec, Keeper, Watchdog};
pub(crate) use look::{Doctor, List, Status, Watch};
pub(crate) use run::{OnLost, Run};
pub(crate) use ticket::{Acquire, Check, Form, Release, Renew};
pub(crate) use want::Want;

/// Runs a command under a lease: one process at a time, and if it dies another takes over.
#[derive(Debug, Parser)]
#[command(name = "lease", version, after_help = exit::help(""), arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    Run(Box<Run>),
    Status(Status),
    List(List),
    Watch(Watch),
    Break(Break),
    Bench(Bench),
    Acquire(Acquire),
    Renew(Renew),
    Check(Check),
    Release(Release),
    Doctor(Doctor),
    /// Print what a shell needs to complete this command's words
    ///
    /// For bash: lease completions bash > /etc/bash_completion.d/lease
    #[command(after_help = exit::help("completions"))]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, of this command or of one of its subcommands
    ///
    /// To read it at once: lease man run | man -l -
    #[command(after_help = exit::help("man"))]
    Man {
        /// Which subcommand, such as run
        #[arg(value_parser = crate::manual::PAGES)]
        command: Option<String>,
    },
    #[command(name = "__exec", hide = true)]
    Exec(Exec),
    #[command(name = "__watchdog", hide = true)]
    Watchdog(Watchdog),
    #[command(name = "__keeper", hide = true)]
    Keeper(Keeper),
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
        Some((key, _)) if show::OWN_KEYS.contains(&key) => {
            Err(format!("lease itself tells {key}: use another key"))
        }
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write it as key=value".to_owned()),
    }
}

fn label(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a label without a letter names nobody: leave --label out".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

fn not_success(text: &str) -> Result<u8, String> {
    match text.parse() {
        Ok(0) => Err("0 would look as if it had been held: use 1 to 255".to_owned()),
        Ok(code) => Ok(code),
        Err(_) => Err("use 1 to 255".to_owned()),
    }
}
