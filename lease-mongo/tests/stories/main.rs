//! What only this store can do wrong, on real servers.

#![expect(clippy::expect_used, reason = "helpers of tests: a failure is the test's failure")]
#![expect(clippy::print_stdout, reason = "one of them tells what it measured")]

mod ailing;
mod batch;
mod blocked;
mod budget;
mod clock;
mod connecting;
mod documents;
mod errors;
mod examined;
mod fencing;
mod killed;
mod lost_answers;
mod lost_steps;
mod repairs;
mod rolled_back;
mod waking;

#[path = "../support/mod.rs"]
mod support;
