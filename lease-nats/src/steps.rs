//! The steps of the protocol, each in a file of its own.

mod adopt;
mod breaking;
mod commit;
mod confirm;
mod evict;
mod install;
mod join;
mod judge;
pub(crate) mod look;
mod names;
pub(crate) mod own;
mod register;
mod renew;
mod take;
mod withdraw;
