//! Which store a schedule is run against.

use clap::ValueEnum;
use lease_core::sim::{InMemory, Store};

use crate::files::{Elected, Files};

/// Which store a schedule is run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// The reference backend.
    Memory,
    /// The file backend.
    Files,
    /// The file backend on a store that cannot create, where files are created by election.
    Elected,
}

impl Which {
    /// Where nothing else is said: every fifth schedule is one of files, and every tenth one of
    /// elected ones. They cost several times as much as one of memory, and what they add is the file
    /// backend alone.
    #[must_use]
    pub const fn of(seed: u64) -> Self {
        match seed % 10 {
            0 | 5 => Self::Files,
            7 => Self::Elected,
            _ => Self::Memory,
        }
    }

    /// The store itself.
    #[must_use]
    pub fn store(self) -> &'static dyn Store {
        match self {
            Self::Memory => &InMemory,
            Self::Files => &Files,
            Self::Elected => &Elected,
        }
    }

    /// As it is written on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Files => "files",
            Self::Elected => "elected",
        }
    }
}
