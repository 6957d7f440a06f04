//! The steps of the protocol, each a few requests around a pure decision.

mod adopt;
pub(crate) mod again;
mod breaking;
pub(crate) mod evict;
pub(crate) mod exclusive;
mod observe;
mod open;
pub(crate) mod renew;
mod withdraw;
mod writer;
