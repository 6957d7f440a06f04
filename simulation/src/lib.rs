//! Stores for simulated schedules, and the run of many of them.

pub mod files;
pub mod many;
pub mod which;
