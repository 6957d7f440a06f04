//! The command as its users run it: real processes, a real folder, real signals.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "other processes keep real time")]

mod scene;

mod bad_input;
mod breaking;
mod doctor;
mod exit_codes;
mod guarded;
mod holding;
mod json;
mod keepers;
mod killed;
mod losing;
mod manual;
mod nested;
#[cfg(any(feature = "mongo", feature = "nats", feature = "aws"))]
mod on_a_server;
#[cfg(feature = "mongo")]
mod on_mongo;
#[cfg(feature = "nats")]
mod on_nats;
#[cfg(feature = "aws")]
mod on_s3;
mod output;
mod signals;
mod surroundings;
mod terminal;
mod tickets;
mod two_shells;
mod watching;
mod writers;
