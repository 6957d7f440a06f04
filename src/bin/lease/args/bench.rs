//! What `lease bench` is told.

use clap::Args;
use leasehold::Name;

use super::{On, name};
use crate::exit;

/// Measure how long each operation takes on this store, as it is reached from here
///
/// One client does one thing after the other, on a name of its own and, for writers, on one that ends
/// with `-writers`; both stay known to the store afterwards. REQUESTS tells how many each operation
/// makes, as the tests of each store count them. LOOKS tells how many bare reads of the name take as long: where a read is one round
/// trip, about how many round trips it is.
#[derive(Debug, Args)]
#[command(after_help = exit::help("bench"))]
pub(crate) struct Bench {
    #[command(flatten)]
    pub(crate) on: On,

    /// How many rounds of all operations
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rounds: u32,

    /// Print one JSON array
    #[arg(long)]
    pub(crate) json: bool,

    /// The name to measure on
    #[arg(value_parser = name, default_value = "lease-bench")]
    pub(crate) name: Name,
}
