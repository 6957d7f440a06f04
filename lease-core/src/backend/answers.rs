//! What a backend answers, step by step.

use crate::record::{Grant, Holding, Revision, Standing};
use crate::{Epoch, LossReason};

/// The answer to [`Backend::register`](super::Backend::register).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registered {
    /// The record is there.
    Here(Revision),
    /// It was there and has been removed: this nonce is spent.
    Void,
}

/// The answer to [`Backend::install`](super::Backend::install).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installed {
    /// The record is there.
    Here(Revision),
    /// The name changed since it was seen, or the other record is not stale after all.
    Refused,
}

/// The answer to [`Backend::commit`](super::Backend::commit).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// Granted.
    Granted {
        /// The new epoch.
        epoch: Epoch,
        /// The record's new revision.
        revision: Revision,
    },
    /// The record is not there any more, or somebody condemned it.
    Lost,
}

/// The answer to [`Backend::renew`](super::Backend::renew), for one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// It lives one ttl longer.
    Renewed {
        /// Its new revision.
        revision: Revision,
        /// For a writer: whether an exclusive waits for it to end.
        drain: bool,
    },
    /// It is not ours any more.
    Lost(LossReason),
}

/// The answer to [`Backend::confirm`](super::Backend::confirm).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// The record is there.
    Held {
        /// For a writer: whether an exclusive waits for it to end.
        drain: bool,
    },
    /// It is not ours any more.
    Lost(LossReason),
}

/// The answer to [`Backend::withdraw`](super::Backend::withdraw).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// It was there and is gone.
    Removed,
    /// It was not there: released, taken over or broken before.
    NotThere,
}

/// The answer to [`Backend::evict`](super::Backend::evict).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evicted {
    /// It is gone, or will be by the time that the store says.
    Condemned,
    /// It was not stale at this step or was renewed since. Of one that was gone already a store may
    /// say either.
    Kept,
}

/// The answer to [`Backend::break_record`](super::Backend::break_record).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It is gone.
    Broken {
        /// The name's epoch from now on.
        epoch: Epoch,
    },
    /// No such record is there: nothing changed.
    NotThere,
}

/// The answer to [`Backend::join`](super::Backend::join).
#[derive(Clone, Debug)]
pub enum Joined {
    /// Granted.
    Granted(Grant),
    /// An exclusive is there; nothing was left behind.
    Refused(Standing),
}

/// An exclusive that is installed and waits for writers to end.
#[derive(Clone, Debug)]
pub struct Draining {
    /// One's own record.
    pub holding: Holding,
    /// Whether it took over from a holder that had not released.
    pub took_over: bool,
    /// Whom it waits for.
    pub waiting_for: Standing,
}

impl Draining {
    /// What to go on with after a round that failed: that round's renewal may have got through, so
    /// the next one takes another beat (rule R8).
    #[must_use]
    pub fn after_a_failed_round(self) -> Self {
        Self { holding: self.holding.next_beat(), ..self }
    }
}

/// The answer to [`Backend::take`](super::Backend::take).
#[derive(Clone, Debug)]
pub enum Taken {
    /// Granted.
    Granted(Grant),
    /// Installed; writers are left. Call again.
    Draining(Draining),
    /// Another exclusive is there, or expired writers that the policy respects; nothing of ours
    /// was left behind.
    Refused(Standing),
    /// Our record was removed while it drained: an operator broke it, or it expired. In a first round:
    /// another exclusive came before it after all. Withdraw the nonce then, and start again with another.
    Displaced(Epoch),
}
