#![doc = include_str!("../README.md")]

mod backend;
mod body;
mod connect;
mod error;
mod folder;
mod gc;
mod judge;
mod key;
mod listing;
mod memo;
mod names;
mod objects;
mod options;
mod publish;
mod revision;
mod staging;
mod steps;
mod store;
mod time;

pub use connect::connect;
pub use options::Options;
pub use store::ObjStore;
