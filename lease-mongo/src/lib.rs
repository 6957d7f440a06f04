#![doc = include_str!("../README.md")]

mod backend;
mod connect;
mod error;
mod examine;
mod fenced;
mod gate;
mod handshake;
mod home;
mod options;
mod pipelines;
mod probe;
mod reason;
mod record;
mod renew;
mod store;
mod transaction;
mod url;
mod watch;

pub use connect::connect;
pub use examine::examine;
pub use fenced::{Fenced, Write};
pub use gate::DocumentGate;
pub use mongodb;
pub use options::Options;
pub use probe::Topology;
pub use reason::Reason;
pub use store::Mongo;
