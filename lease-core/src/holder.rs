//! Who holds: a nonce that is the identity, and information for people and tools.

mod info;
mod nonce;
mod process;

pub use info::{HolderInfo, HolderInfoBuilder};
pub use nonce::Nonce;
pub use process::{Liveness, ProcessId};
