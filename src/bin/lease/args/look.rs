//! What those are told who only look.

use clap::Args;
use leasehold::Name;

use super::{On, name};
use crate::exit;

/// Show who holds NAME, or that it is free; needs read rights only
#[derive(Debug, Args)]
#[command(after_help = exit::help("status"))]
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

/// Tell each change of these names until it is ended: who holds, who waits for writers to end, who let
/// it expire; needs read rights only
#[derive(Debug, Args)]
#[command(after_help = exit::help("watch"))]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) on: On,

    /// Print a JSON line for each change
    #[arg(long)]
    pub(crate) json: bool,

    /// What to watch, one name or several
    #[arg(value_parser = name, required = true, value_name = "NAME")]
    pub(crate) names: Vec<Name>,
}

/// List all names of the store, and what is with each; needs read rights only
#[derive(Debug, Args)]
#[command(after_help = exit::help("list"))]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) on: On,

    /// Print one JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

/// Ask a live store for each guarantee that leases need of it: which is gone, and what to change
///
/// It writes where nobody else does and removes it again, and touches no lease that is held. It
/// takes some seconds, and up to a minute on a slow store.
#[derive(Debug, Args)]
#[command(after_help = exit::help("doctor"))]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) on: On,

    /// Take what is in doubt for broken
    #[arg(long)]
    pub(crate) strict: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
