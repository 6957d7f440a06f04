#![doc = include_str!("../README.md")]

mod backend;
mod body;
mod bucket;
#[cfg(feature = "cloud")]
mod cloud;
mod connect;
mod elect;
mod error;
mod examine;
mod fenced;
mod folder;
mod gc;
mod judge;
mod key;
mod lifetime;
mod listing;
mod memo;
mod names;
mod objects;
mod one_go;
mod options;
mod probe;
mod publish;
mod revision;
mod staging;
mod steps;
mod store;
mod time;

pub use connect::connect;
pub use examine::examine;
pub use fenced::{Fenced, FencedWrite};
pub use options::{Options, Probe, WithoutCreate};
pub use probe::Findings;
pub use store::ObjStore;
