//! Layers around a backend, for tests and measurements: one counts, one fails on purpose.
//!
//! A layer is a [`Backend`](crate::Backend) that holds another one and forwards every method.
//!
//! The two composite steps, `join` and `take`, are the exception, and there is a choice: by default
//! a layer runs the [handshake](crate::handshake) over its *own* steps, so that a fault hits, and a
//! count shows, each single step. That bypasses the `join` and `take` of a store that does them at
//! once; a layer made [`whole`](Faulty::whole) passes them on instead, each as one call.

mod count;
mod fault;
mod faulty;
mod method;
mod script;

pub use count::{Count, Counts};
pub use fault::{Fault, Gate};
pub use faulty::Faulty;
pub use method::Method;
