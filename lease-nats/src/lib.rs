#![doc = include_str!("../README.md")]

mod backend;
mod connect;
mod error;
mod examine;
mod fenced;
mod hearing;
mod key;
mod leave;
mod link;
mod memo;
mod options;
mod probe;
mod record;
mod replies;
mod steps;
mod store;
mod watch;
mod wire;

pub use connect::connect;
pub use examine::examine;
pub use fenced::{EPOCH, Fenced, TOKEN, Write};
pub use options::Options;
pub use store::Nats;
