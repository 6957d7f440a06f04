//! Each step of the protocol as one update that the server judges by its own clock.
//!
//! The filter of each is the name alone, and the condition stands inside: so a race of many on a
//! fresh name has no duplicate keys, and whoever is refused learns in the same answer by whom.

mod expr;
mod join;
mod steps;
mod take;

pub(crate) use expr::sound;
pub(crate) use join::{is_sweeper, join, join_if_free, shown as shown_to_writer};
pub(crate) use steps::{
    Image, Leaving, Step, adopt, break_record, commit, evict, install, leave, register, withdraw,
};
pub(crate) use take::{shown as shown_to_exclusive, shown_if_free, take, take_if_free};
