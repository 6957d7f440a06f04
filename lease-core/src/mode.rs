//! The two ways to hold a name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a lease is held: beside others, or alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Shared: any number of writers hold a name at once, as long as no exclusive does.
    Writer,
    /// Alone: no writer and no other exclusive. It drains the writers before it is granted.
    Exclusive,
}

impl Mode {
    /// The lower-case word for this mode, as it stands in records, URLs and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Writer => "writer",
            Self::Exclusive => "exclusive",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
