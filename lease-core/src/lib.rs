//! The lease protocol, its contract for stores, and an in-memory reference store.
mod capabilities;
mod epoch;
mod error;
mod holder;
mod jitter;
mod mode;
mod name;
mod policy;
mod timing;

pub mod backend;
pub mod clock;
pub mod handshake;
pub mod memory;
pub mod record;

pub use backend::Backend;
pub use capabilities::{Capabilities, TimeAuthority};
pub use clock::{Clock, Moment};
pub use epoch::{Epoch, Token};
pub use error::{Advice, BoxError, Effect, Error, LossReason, Result};
pub use holder::{HolderInfo, HolderInfoBuilder, Liveness, Nonce, ProcessId};
pub use jitter::Jitter;
pub use mode::Mode;
pub use name::Name;
pub use policy::{Policy, Takeover};
pub use record::{
    BreakNote, Claim, Freshness, Grant, Holding, Judged, Record, Revision, Snapshot, Standing,
    State, Target, Unreadable,
};
pub use timing::{Timing, TimingBuilder};
