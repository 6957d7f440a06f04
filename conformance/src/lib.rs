#![doc = include_str!("../README.md")]
#![expect(clippy::expect_used, reason = "a case fails by panicking")]

mod fixture;
mod interrupt;
mod suite;
mod worker;

pub mod cases;

pub use fixture::{Damage, Fixture};
pub use suite::{CASES, Case, run};
pub use worker::Worker;
