//! What the server and the driver say, translated once.

use std::time::Duration;

use lease_core::{BoxError, Error};
use serde::Deserialize;

/// The name by which this backend goes in logs and errors.
pub(crate) const KIND: &str = "nats";

/// What was asked of the server when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Looking: whatever went wrong, nothing was changed.
    Reading,
    /// Writing: a request without an answer may have been stored, or may be yet.
    Writing,
}

/// Why a request has no useful answer.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// It was not sent.
    #[error("there is no connection to a server")]
    Disconnected,
    /// The connection was lost before an answer came.
    #[error("the connection was lost before an answer came")]
    Closed,
    /// The server says that nobody listens: an election, or JetStream is off.
    #[error("no server answers for the bucket: it has no leader now, or JetStream is off")]
    NoResponders,
    /// Nothing came back.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The server refused the right to ask.
    #[error("{0}")]
    Denied(String),
    /// It is larger than the server takes.
    #[error("the message has {bytes} bytes and the server takes {limit}")]
    TooLarge {
        /// What was to be sent.
        bytes: usize,
        /// What the server takes.
        limit: usize,
    },
    /// The answer is none.
    #[error("the answer makes no sense: {0}")]
    Nonsense(String),
    /// JetStream answered with an error.
    #[error(transparent)]
    JetStream(#[from] ApiError),
}

/// An error of JetStream, as it stands in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, thiserror::Error)]
#[error("{description} ({err_code})")]
pub(crate) struct ApiError {
    #[serde(default)]
    pub(crate) code: u16,
    #[serde(default)]
    pub(crate) err_code: u32,
    #[serde(default)]
    pub(crate) description: String,
}

/// JetStream's numbers for what matters here.
pub(crate) mod code {
    /// The key is not at the expected sequence.
    pub(crate) const WRONG_LAST_SEQUENCE: u32 = 10_071;
    /// Another write of the key is on its way through the replicas.
    pub(crate) const WRITE_IN_FLIGHT: u32 = 10_164;
    /// The key has no message.
    pub(crate) const NO_MESSAGE: u32 = 10_037;
    /// There is no such bucket.
    pub(crate) const NO_STREAM: u32 = 10_059;
    /// The bucket has no leader that the server could ask.
    pub(crate) const UNAVAILABLE: u32 = 10_008;
    /// A bucket of that name is there with other settings.
    pub(crate) const NAME_IN_USE: u32 = 10_058;
}

impl Failure {
    /// Whether the server says that there is nobody whom it could ask: an election, or it is cut off
    /// from its cluster and knows.
    pub(crate) const fn is_nobody_there(&self) -> bool {
        match self {
            Self::NoResponders => true,
            Self::JetStream(error) => error.err_code == code::UNAVAILABLE,
            _ => false,
        }
    }
}

impl ApiError {
    /// The condition of a write did not hold.
    pub(crate) const fn is_lost_race(&self) -> bool {
        self.err_code == code::WRONG_LAST_SEQUENCE
    }

    /// Another write of the same key has not been decided yet.
    pub(crate) const fn is_in_flight(&self) -> bool {
        self.err_code == code::WRITE_IN_FLIGHT
    }
}

/// One of ours for one of theirs.
pub(crate) fn translate(failure: Failure, doing: Doing) -> Error {
    match &failure {
        // An answer with an error, or none from a server that has nobody to ask, is one that says
        // that nothing was stored.
        Failure::JetStream(error) => by_code(error.err_code, failure),
        Failure::Disconnected | Failure::NoResponders => Error::unreached(KIND, failure),
        Failure::Denied(_) => wrong(
            "the server refuses this user the right to ask",
            "allow it to publish to the subjects that the README of lease-nats lists, and to \
             subscribe to its inbox; to look only, open the bucket read-only",
            failure,
        ),
        Failure::TooLarge { .. } => wrong(
            "a lease record is larger than the server takes",
            "give the holder less metadata, or raise max_payload in the server's configuration",
            failure,
        ),
        Failure::TimedOut(_) | Failure::Closed | Failure::Nonsense(_) => match doing {
            Doing::Reading => Error::unreached(KIND, failure),
            Doing::Writing => Error::unclear(KIND, failure),
        },
    }
}

fn by_code(err_code: u32, failure: Failure) -> Error {
    match err_code {
        code::NO_STREAM => wrong(
            "the lease bucket is gone",
            "if it was deleted on purpose, connect again to create it; all its leases are lost",
            failure,
        ),
        // Not enabled for the account, not enabled at all.
        10_035 | 10_039 | 10_076 => wrong(
            "JetStream is not enabled for this account",
            "enable JetStream on the server and for the account",
            failure,
        ),
        // No cluster, or too few servers in it.
        10_005 | 10_074 => wrong(
            "there are not as many servers as replicas were asked for",
            "start more servers as one cluster, or ask for fewer replicas",
            failure,
        ),
        10_165 | 10_166 => wrong(
            "the bucket refuses a time to live for single messages",
            "set allow_msg_ttl on the bucket's stream: nats stream edit KV_<bucket> --allow-msg-ttl",
            failure,
        ),
        // Of the message, of its headers; of the bucket, of the account in memory and in files.
        10_054 | 10_097 | 10_002 | 10_028 | 10_047 | 10_077 => wrong(
            "the bucket or the account has reached a limit",
            "raise the limits on size and number of the bucket's stream and of the account",
            failure,
        ),
        _ => Error::unreached(KIND, failure),
    }
}

/// A write that was refused over and over because others are on their way.
pub(crate) fn busy() -> Error {
    Error::unreached(KIND, "other writes of this name are on their way; try again")
}

pub(crate) fn wrong(
    problem: &'static str,
    fix: &'static str,
    source: impl Into<BoxError>,
) -> Error {
    Error::Misconfigured { problem: problem.into(), fix: fix.into(), source: Some(source.into()) }
}

/// Whether the server refused the right to ask.
pub(crate) fn is_denied(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|s| s.downcast_ref::<Failure>());
    matches!(source, Some(Failure::Denied(_)))
}

/// Whether the request that failed so may have taken place.
pub(crate) fn is_unclear(error: &Error) -> bool {
    matches!(error, Error::Unavailable { effect: lease_core::Effect::Unknown, .. })
}

#[cfg(test)]
mod tests {
    use lease_core::Effect;
    use rstest::rstest;

    use super::*;

    fn api(err_code: u32) -> Failure {
        Failure::JetStream(ApiError { code: 400, err_code, description: String::new() })
    }

    #[rstest]
    #[case::nothing_sent(Failure::Disconnected, Doing::Writing, Effect::Nothing)]
    #[case::an_election(Failure::NoResponders, Doing::Writing, Effect::Nothing)]
    #[case::a_silent_write(Failure::TimedOut(Duration::MAX), Doing::Writing, Effect::Unknown)]
    #[case::a_silent_read(Failure::TimedOut(Duration::MAX), Doing::Reading, Effect::Nothing)]
    #[case::closed(Failure::Closed, Doing::Writing, Effect::Unknown)]
    #[case::garbage(Failure::Nonsense("?".into()), Doing::Writing, Effect::Unknown)]
    #[case::temporarily_away(api(10_008), Doing::Writing, Effect::Nothing)]
    #[case::in_flight(api(code::WRITE_IN_FLIGHT), Doing::Writing, Effect::Nothing)]
    #[case::lost_race(api(code::WRONG_LAST_SEQUENCE), Doing::Writing, Effect::Nothing)]
    #[case::unheard_of(api(1), Doing::Writing, Effect::Nothing)]
    fn what_may_heal_is_unavailable(
        #[case] failure: Failure,
        #[case] doing: Doing,
        #[case] expected: Effect,
    ) {
        let error = translate(failure, doing);
        assert!(
            matches!(&error, Error::Unavailable { effect, .. } if *effect == expected),
            "{error:?}"
        );
    }

    #[rstest]
    #[case::no_rights(Failure::Denied("Permissions Violation".into()))]
    #[case::too_large(Failure::TooLarge { bytes: 2, limit: 1 })]
    #[case::no_bucket(api(code::NO_STREAM))]
    #[case::jetstream_off(api(10_076))]
    #[case::not_for_this_account(api(10_039))]
    #[case::no_message_ttl(api(10_166))]
    #[case::message_too_large(api(10_054))]
    #[case::bucket_full(api(10_077))]
    fn what_a_person_must_change_is_misconfigured(#[case] failure: Failure) {
        let error = translate(failure, Doing::Writing);
        assert!(matches!(error, Error::Misconfigured { .. }), "{error:?}");
    }

    #[test]
    fn a_lost_race_and_a_race_that_is_not_over_are_told_apart() {
        let Failure::JetStream(lost) = api(10_071) else { unreachable!() };
        let Failure::JetStream(open) = api(10_164) else { unreachable!() };
        assert!(lost.is_lost_race() && !lost.is_in_flight());
        assert!(open.is_in_flight() && !open.is_lost_race());
    }
}
