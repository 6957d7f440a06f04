//! Everything that can go wrong, one variant for each thing that a caller can do about it.

use std::borrow::Cow;
use std::time::Duration;

use crate::{Epoch, Name, Standing};

/// An error of a driver, as the source of one of ours.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// A result with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, one variant for each thing that a caller can do about it.
///
/// Two failures share a variant when the answer to both is the same; [`Error::advice`] says what
/// that answer is. Messages are for people and may change in any release.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Somebody else holds it, or is about to. Nothing is wrong: wait, or do other work.
    #[error("lease is held by another, name=`{name}` {by}")]
    Held {
        /// The name that was asked for.
        name: Name,
        /// Who is in the way, as of the last look.
        by: Box<Standing>,
    },

    /// The lease was ours and no longer is, or can no longer be proven to be. Stop the protected
    /// work now; do not finish "just this one write".
    #[error("lease was lost, name=`{name}` epoch=`{epoch}` reason=`{reason}`")]
    Lost {
        /// The name of the lease.
        name: Name,
        /// The epoch that it was held under.
        epoch: Epoch,
        /// How it was lost.
        reason: LossReason,
    },

    /// The store did not answer, or answered that it cannot serve now. Retry with backoff, and look
    /// first whether it took place where its `effect` is [unknown](Effect::Unknown).
    #[error("store is unavailable, backend=`{backend}` effect=`{effect}`")]
    Unavailable {
        /// Which backend, such as `objstore`.
        backend: &'static str,
        /// Whether the operation may have taken place.
        effect: Effect,
        /// What the driver said.
        source: BoxError,
    },

    /// This lease took over from a holder that did not release it, and waits out the grace in which
    /// that one's last writes may still arrive. Try again after this time.
    #[error("lease is in its failover grace, name=`{name}` after=`{after:?}`")]
    NotYet {
        /// The name of the lease.
        name: Name,
        /// How long the grace still runs.
        after: Duration,
    },

    /// The caller would wait for itself: it asks for a name exclusively that it holds as a writer.
    /// Release that lease first; there is no upgrade in place.
    #[error("would wait for a lease of one's own, name=`{name}`")]
    WouldDeadlock {
        /// The name that was asked for.
        name: Name,
    },

    /// The caller's own cancellation token ended the wait. Nothing is held.
    #[error("acquiring was cancelled by the caller, name=`{name}`")]
    Cancelled {
        /// The name that was asked for.
        name: Name,
    },

    /// This backend can never do what was asked. Ask for less, or choose another backend.
    #[error("backend cannot do this, backend=`{backend}` feature=`{feature}`")]
    Unsupported {
        /// Which backend.
        backend: &'static str,
        /// What it cannot do.
        feature: &'static str,
    },

    /// A person has to change something: a URL, a credential, a permission, a duration, or a
    /// record that this version cannot read. Retrying does not help.
    #[error("{problem}; {fix}")]
    Misconfigured {
        /// What is wrong.
        problem: Cow<'static, str>,
        /// What to change.
        fix: Cow<'static, str>,
        /// What the driver said, where it did.
        source: Option<BoxError>,
    },
}

/// Whether an operation that failed may have taken place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It did not: the request never left, or the store refused it whole.
    Nothing,
    /// It may have, or may yet: the request left and no answer came back.
    Unknown,
}

impl std::fmt::Display for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::Unknown => "unknown",
        })
    }
}

/// How a lease was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossReason {
    /// Another holder took over, or an operator broke it: the record is not ours any more.
    Displaced,
    /// No renewal was acknowledged in time, so the belief ran out by the holder's own clock: the
    /// store was away or slow, this process stood still, or the store refused the renewals, as
    /// after a right was taken away or a credential expired.
    ///
    /// Which of them is told with each renewal that fails, by the event `a renewal failed` at `debug`,
    /// whose `error` says what to change. While the lease is [doubtful](crate::Status::Doubtful),
    /// [`Lease::confirm`](crate::Lease::confirm) answers [`Error::Misconfigured`] where that is refused
    /// as well.
    Expired,
    /// The store no longer has the state that the lease stood on: it was erased or re-created.
    StateGone,
    /// It was released.
    Released,
    /// It was handed to another process by a ticket.
    HandedOver,
}

impl std::fmt::Display for LossReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Displaced => "displaced",
            Self::Expired => "expired",
            Self::StateGone => "state gone",
            Self::Released => "released",
            Self::HandedOver => "handed over",
        })
    }
}

/// What a caller should do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// Try again, after this long where it is known.
    TryLater(Option<Duration>),
    /// Stop the protected work.
    StopWork,
    /// Release a lease of one's own first.
    ReleaseYours,
    /// Nothing: it is what the caller asked for.
    Nothing,
    /// Ask for less, or use another backend.
    AskForLess,
    /// Wake a person.
    CallAPerson,
}

impl Error {
    /// What to do about this error.
    ///
    /// ```
    /// use lease_core::{Advice, Name};
    ///
    /// let error = Name::parse("").unwrap_err();
    /// assert_eq!(error.advice(), Advice::CallAPerson);
    /// ```
    #[must_use]
    pub fn advice(&self) -> Advice {
        match self {
            Self::Held { by, .. } => Advice::TryLater(by.free_in()),
            Self::Unavailable { .. } => Advice::TryLater(None),
            Self::NotYet { after, .. } => Advice::TryLater(Some(*after)),
            Self::Lost { .. } => Advice::StopWork,
            Self::WouldDeadlock { .. } => Advice::ReleaseYours,
            Self::Cancelled { .. } => Advice::Nothing,
            Self::Unsupported { .. } => Advice::AskForLess,
            Self::Misconfigured { .. } => Advice::CallAPerson,
        }
    }

    /// A [`Misconfigured`](Self::Misconfigured): what is wrong, and what to change.
    #[must_use]
    pub fn misconfigured(
        problem: impl Into<Cow<'static, str>>,
        fix: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Misconfigured { problem: problem.into(), fix: fix.into(), source: None }
    }

    /// An [`Unavailable`](Self::Unavailable) whose request may have taken place.
    #[must_use]
    pub fn unclear(backend: &'static str, source: impl Into<BoxError>) -> Self {
        Self::Unavailable { backend, effect: Effect::Unknown, source: source.into() }
    }

    /// An [`Unavailable`](Self::Unavailable) whose request surely did nothing.
    #[must_use]
    pub fn unreached(backend: &'static str, source: impl Into<BoxError>) -> Self {
        Self::Unavailable { backend, effect: Effect::Nothing, source: source.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_with_its_data_and_does_not_repeat_its_source() {
        let error = Error::unclear("memory", "the network is down");
        assert_eq!(error.to_string(), "store is unavailable, backend=`memory` effect=`unknown`");
        let source = std::error::Error::source(&error).unwrap();
        assert_eq!(source.to_string(), "the network is down");
    }
}
