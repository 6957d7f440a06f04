//! The lease protocol, its contract for stores, and an in-memory reference store.
//!
//! Many processes on many machines agree through a store who may do a job: any number of
//! [writers](Mode::Writer) at once, or one [exclusive](Mode::Exclusive) that has first drained the
//! writers. Every grant carries an [epoch](Epoch) that only rises, so that a resource can turn a
//! holder away that stalled.
//!
//! # What a lease promises
//!
//! - Two conflicting holders never *believe* in their leases at the same time, as long as clocks
//!   run at about the same rate and the store's clock does not jump forward.
//! - A holder that cannot renew stops believing before the store could grant another, by its own
//!   clock and without anybody's help; that clock counts suspend.
//! - An unclear answer of the store is never read as "free" or as "mine".
//!
//! # What it does not promise
//!
//! A write that is on its way when the belief ends may still land. Only the resource that is written
//! to can refuse it, by keeping the highest [`Token`] it has seen: see [`Lease::announce`],
//! [`Lease::guard`] and [`Gate`].
//!
//! # Where to look
//!
//! | for | see |
//! |---|---|
//! | taking leases | [`Coordinator`], [`Acquire`], [`Lease`], [`HeldLeases`] |
//! | electing a leader | [`Election`], [`Term`], [`Leaders`] |
//! | looking on | [`Coordinator::status`], [`Observation`] |
//! | durations, takeover | [`Timing`], [`Policy`] |
//! | protecting a resource | [`Fence`], [`Gate`], [`DurableGate`] |
//! | what went wrong, and what to do | [`Error`], [`Advice`] |
//! | writing a backend | [`Backend`], [`handshake`], [`memory`] and the crate `lease-conformance` |
//! | testing | [`clock::ManualClock`], [`keeper::Driven`], [`memory::Memory`] |

mod acquire;
mod capabilities;
mod coordinator;
mod election;
mod epoch;
mod error;
mod fence;
mod held;
mod holder;
mod jitter;
mod lease;
mod mode;
mod name;
mod observation;
mod policy;
mod timing;
mod waiter;

pub mod backend;
pub mod checkup;
pub mod clock;
pub mod handshake;
pub mod keeper;
pub mod layer;
pub mod memory;
pub mod record;
#[cfg(feature = "sim")]
pub mod sim;
pub mod telemetry;

pub use acquire::{Acquire, Waiting};
pub use backend::Backend;
pub use capabilities::{Capabilities, TimeAuthority};
pub use clock::{Clock, Moment};
pub use coordinator::{Coordinator, CoordinatorBuilder};
pub use election::{Election, Leader, Leaders, Term};
pub use epoch::{Epoch, Token};
pub use error::{Advice, BoxError, Effect, Error, LossReason, Result};
pub use fence::{Admission, DurableGate, Fence, Gate};
pub use held::{HeldLease, HeldLeases};
pub use holder::{HolderInfo, HolderInfoBuilder, Liveness, Nonce, ProcessId};
pub use jitter::Jitter;
pub use lease::{Lease, Released, Status, Ticket};
pub use mode::Mode;
pub use name::Name;
pub use observation::Observation;
pub use policy::{Policy, Takeover};
pub use record::{
    BreakNote, Claim, Freshness, Grant, Holding, Judged, Record, Revision, Snapshot, Standing,
    State, Target, Unreadable,
};
pub use timing::{Timing, TimingBuilder};
/// Cancels waits and work: what [`Acquire::cancelled_by`] takes and [`Lease::cancellation`] gives.
pub use tokio_util::sync::CancellationToken;
