//! What may be done about records whose holders seem gone.

use std::time::Duration;

use crate::record::{Freshness, Judged, Record, Unreadable};
use crate::{Liveness, Mode};

/// What may be done about records whose holders seem gone.
///
/// The default suits jobs and elections: whoever comes next takes over what expired. The parts
/// belong together: with some of them refused, a record that a crash left behind blocks the name
/// until an operator breaks it, and with [`Policy::refuse`] that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// What to do about an expired exclusive.
    pub exclusive: Takeover,
    /// What an exclusive that drains does about expired writers.
    pub writers: Takeover,
    /// Whether a process that is proven dead counts as expired at once, on the same host, boot and
    /// pid namespace ([`ProcessId::liveness`](crate::ProcessId::liveness)).
    pub dead_processes: bool,
    /// The caller's own stable name: an exclusive of that name is taken back if it expired or its
    /// process is proven dead (rule R16), whatever the other parts say.
    pub readopt: Option<String>,
}

/// What to do about a record whose holder let it expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takeover {
    /// Leave it: an operator has to break it. A leaked record then blocks until somebody does.
    Refuse,
    /// Take over from it.
    Expired,
}

impl Policy {
    /// Whoever comes next takes over what expired.
    #[must_use]
    pub const fn expired() -> Self {
        Self {
            exclusive: Takeover::Expired,
            writers: Takeover::Expired,
            dead_processes: true,
            readopt: None,
        }
    }

    /// Nothing is taken over: a record that was not released blocks its name until an operator has
    /// looked and broken it.
    #[must_use]
    pub const fn refuse() -> Self {
        Self {
            exclusive: Takeover::Refuse,
            writers: Takeover::Refuse,
            dead_processes: false,
            readopt: None,
        }
    }

    /// With this stable name, whose own exclusive may be taken back after a restart.
    #[must_use]
    pub fn readopting(mut self, stable_name: impl Into<String>) -> Self {
        self.readopt = Some(stable_name.into());
        self
    }

    /// Whether `record` may be removed, and on what evidence; nothing if it must be respected.
    ///
    /// A record that a newer version wrote is respected for ever: it may mean what this version
    /// does not know. An operator can break it. One that is no record at all was written by no
    /// holder that lives, since records are published whole; it has no ttl, so it goes once it is
    /// as old as `asker_ttl`, the ttl of whoever asks. A living holder whose record was damaged by
    /// somebody else mends it with its next renewal, so it keeps its lease unless the asker's ttl is
    /// shorter than its own renewal interval: use one ttl for all who share a name.
    #[must_use]
    pub fn judge(&self, record: &Record, asker_ttl: Duration) -> Option<Judged> {
        if matches!(record.unreadable, Some(Unreadable::NewerVersion(_))) {
            return None;
        }
        let takeover = match record.mode {
            Mode::Exclusive => self.exclusive,
            Mode::Writer => self.writers,
        };
        let own_name = record.mode == Mode::Exclusive
            && self.readopt.is_some()
            && record.info.stable_name == self.readopt;
        if takeover == Takeover::Refuse && !own_name {
            return None;
        }
        if record.unreadable.is_some() {
            return record.age.is_some_and(|age| age >= asker_ttl).then_some(Judged::Observed);
        }
        if record.freshness == Freshness::Stale {
            return Some(Judged::ByStore);
        }
        let proven = self.dead_processes || own_name;
        let here = proven && record.info.is_of_this_host();
        let process = record.info.process.as_ref().filter(|_| here)?;
        (process.liveness() == Liveness::Dead).then_some(Judged::DeadProcess)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::expired()
    }
}
