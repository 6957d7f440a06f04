//! Client processes hold leases on real servers while things go wrong; all that they do, believe
//! and write is recorded, and judged afterwards. Development only, never published.
//!
//! [`run`] starts [servers](ground), [clients](client) and a [nemesis], and hands the [history] to
//! the [judge], which is a pure function: what was recorded once can be judged again.

#![expect(
    clippy::disallowed_methods,
    reason = "what is tested here is real servers and processes: only real time passes for them"
)]

pub mod backends;
pub mod chance;
pub mod client;
pub mod disk;
pub mod event;
pub mod fleet;
pub mod ground;
pub mod history;
pub mod judge;
pub mod nemesis;
pub mod newcomer;
pub mod plan;
pub mod pulse;
pub mod remains;
pub mod resource;
pub mod run;
