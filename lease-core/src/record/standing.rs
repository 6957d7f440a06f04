//! Who is in the way, told in one line.

use std::fmt;
use std::time::Duration;

use super::{Freshness, Record, State, Unreadable};
use crate::Epoch;

/// Who is in the way: the exclusive if there is one, else a writer, and how many writers.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The last granted epoch of the name.
    pub epoch: Epoch,
    /// The exclusive, or one of the writers; nothing if it was gone by the time of the look.
    pub holder: Option<Record>,
    /// How many writers there are.
    pub writers: usize,
}

impl Standing {
    /// Whether whoever is in the way has let it expire.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.freshness == Freshness::Stale)
    }

    /// How long until the name falls free if nobody renews, where the store tells.
    #[must_use]
    pub fn free_in(&self) -> Option<Duration> {
        match self.holder.as_ref()?.freshness {
            Freshness::Fresh { left } => Some(left),
            Freshness::Stale => Some(Duration::ZERO),
            Freshness::Unknown => None,
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(holder) = &self.holder else {
            return write!(f, "holder=`gone since` epoch=`{}`", self.epoch);
        };
        let state = if holder.state == State::Draining { " state=`draining`" } else { "" };
        write!(
            f,
            "holder=`{}` host=`{}` mode=`{}`{state}",
            holder.info.label, holder.info.host, holder.mode
        )?;
        if let Some(process) = &holder.info.process {
            write!(f, " pid=`{}`", process.pid)?;
        }
        if self.writers > 0 {
            write!(f, " writers=`{}`", self.writers)?;
        }
        write!(f, " epoch=`{}`", self.epoch)?;
        match holder.freshness {
            Freshness::Fresh { left } => write!(f, " free_in=`{left:.1?}`")?,
            Freshness::Stale => write!(f, " expired=`true`")?,
            Freshness::Unknown => {}
        }
        match &holder.unreadable {
            Some(Unreadable::NewerVersion(version)) => {
                write!(f, " unreadable=`written by a newer version, format {version}`")
            }
            Some(Unreadable::Corrupt(problem)) => write!(f, " unreadable=`{problem}`"),
            None => Ok(()),
        }
    }
}
