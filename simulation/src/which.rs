//! Which store a schedule is run against.

use clap::ValueEnum;
use lease_core::sim::{InMemory, Store};

use crate::files::Files;

/// Which store a schedule is run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// The reference backend.
    Memory,
    /// The file backend.
    Files,
}

impl Which {
    /// Where nothing else is said: every fifth schedule is one of files. It costs four times as
    /// much as one of memory, and what it adds is the file backend alone.
    #[must_use]
    pub const fn of(seed: u64) -> Self {
        if seed.is_multiple_of(5) { Self::Files } else { Self::Memory }
    }

    /// The store itself.
    #[must_use]
    pub fn store(self) -> &'static dyn Store {
        match self {
            Self::Memory => &InMemory,
            Self::Files => &Files,
        }
    }

    /// As it is written on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Files => "files",
        }
    }
}
