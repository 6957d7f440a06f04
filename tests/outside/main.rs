//! What comes from outside is read without a panic, means one thing, and leads nowhere else: names,
//! durations, tickets, URLs, and the files of a folder.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod durations;
mod files;
mod names;
mod tickets;
mod urls;

use leasehold::Error;
use proptest::test_runner::Config;

/// So many cases each, and no file of past failures: a failure prints its case, which then becomes
/// a test of its own.
fn cases(number: u32) -> Config {
    Config { cases: number, failure_persistence: None, ..Config::default() }
}

/// A refusal of what a person wrote tells that person what to write.
fn tells_what_to_do(error: &Error) -> bool {
    matches!(error, Error::Misconfigured { fix, .. } if !fix.is_empty())
}
