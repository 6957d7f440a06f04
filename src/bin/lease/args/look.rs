//! What those are told who only look.

use clap::Args;
use leasehold::Name;

use super::{On, name};

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

/// Tell each change of these names until it is ended: who holds, who waits, who let it expire; needs
/// read rights only
#[derive(Debug, Args)]
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
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) on: On,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
