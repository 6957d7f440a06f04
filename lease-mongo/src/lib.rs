//! Leases on a MongoDB replica set.

mod backend;
mod connect;
mod error;
mod handshake;
mod home;
mod options;
mod pipelines;
mod probe;
mod record;
mod renew;
mod store;
mod url;
mod watch;

pub use connect::connect;
pub use options::Options;
pub use probe::Topology;
pub use store::Mongo;
