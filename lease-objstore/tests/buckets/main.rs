//! Leases in buckets of real servers: the suite on them, and what only they can do wrong.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../files/by_hand.rs"]
mod by_hand;

mod count;
mod gcs;
mod people;
mod place;
mod spoil;

mod budget;
mod careless;
mod conformance;
mod crowd;
mod examined;
mod failures;
mod fencing;
mod probe;
