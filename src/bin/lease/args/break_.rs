//! What `lease break` is told.

use clap::{ArgGroup, Args};
use leasehold::{Name, Nonce};

use super::{On, name, nonce};
use crate::exit;

/// Take NAME away from its holder, who may still be working: prefer to stop it
///
/// Exactly the records that were shown are removed. The epoch of a granted exclusive rises, so that
/// a resource that looks at tokens refuses its late writes. The holder's `lease run` ends its
/// command at its next renewal.
#[derive(Debug, Args)]
#[command(after_help = exit::help("break"), group = ArgGroup::new("which").required(true).args(["id", "force"]))]
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
