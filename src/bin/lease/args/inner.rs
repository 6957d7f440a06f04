//! What the command tells itself: its helpers' own subcommands.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use super::duration;

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

/// Keeps a lease for a script; the rest comes by its standard input.
#[derive(Debug, Args)]
pub(crate) struct Keeper {
    /// In which store, for people who list processes: no password is in it.
    #[arg(long)]
    pub(crate) on: String,

    /// What is kept, for the same.
    #[arg(last = true)]
    pub(crate) name: String,
}
