//! Leases as lock files: the suite on them, and what only they can do wrong.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod again;
mod by_hand;

mod people;
mod store;
mod turns;

mod answers;
mod at_once;
mod budget;
mod conformance;
mod crowd;
mod erasure;
mod examined;
mod fenced;
mod full_disk;
mod half_written;
mod marks;
mod orders;
mod permissions;
mod pool;
mod power_loss;
mod races;
mod rolled_back;
mod staging;
mod stale;
mod strays;
mod torture;
