#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! | for | see |
//! |---|---|
//! | opening a store | [`connect`], [`StoreUrl`] |
//! | taking and keeping leases | [`Coordinator`], [`Acquire`], [`Lease`], [`HeldLeases`] |
//! | electing a leader | [`Election`], [`Term`], [`Leaders`] |
//! | looking on | [`Coordinator::status`], [`Observation`] |
//! | durations, takeover | [`Timing`], [`Policy`] |
//! | protecting a resource | [`Fence`], [`Gate`], [`DurableGate`] |
//! | what a store gives of what leases need | [`StoreUrl::examine`], [`checkup`] |
//! | what went wrong, and what to do | [`Error`], [`Advice`] |
//! | a store of your own | [`Backend`], [`memory`] |
//! | spans and numbers | [`telemetry`] |
//!
//! # Features
//!
//! | feature | brings |
//! |---|---|
//! | `objstore` (default) | `file:///path`: leases in a folder |
//! | `mongo` | `mongodb://…`: leases in MongoDB, on the server's clock |
//! | `nats` | `nats://…`: leases in a NATS JetStream bucket |
//! | `blocking` | the module `blocking`: the same for programs without a runtime |
//! | `metrics` | numbers through the `metrics` facade: see [`telemetry`] |
//! | `cli` (default) | the command `lease`; a library does not need it |
//!
//! The library prints nothing and starts no thread before the first lease is asked for.

#[cfg(feature = "blocking")]
pub mod blocking;
mod connect;
mod url;

pub use connect::connect;
pub use lease_core::*;
#[cfg(feature = "mongo")]
pub use lease_mongo as mongo;
#[cfg(feature = "nats")]
pub use lease_nats as nats;
#[cfg(feature = "objstore")]
pub use lease_objstore as objstore;
pub use url::StoreUrl;
