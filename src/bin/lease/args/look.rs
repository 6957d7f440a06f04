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

/// List all names of the store, and what is with each; needs read rights only
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) on: On,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
