//! What the driver and the server say, translated once.

use std::borrow::Cow;

use lease_core::{BoxError, Error};
use mongodb::bson::Document;
use mongodb::error::{Error as Driver, ErrorKind, WriteFailure};

use crate::Reason;

/// The name by which this backend goes in logs and errors.
pub(crate) const KIND: &str = "mongo";

/// One of ours for one of the driver's.
///
/// Only a request that found no server surely did nothing. Every other failure may come after the
/// write: a primary that steps down has applied it and cannot say so.
pub(crate) fn translate(error: Driver) -> Error {
    let error = Reason::from(error);
    match error.driver().kind.as_ref() {
        ErrorKind::ServerSelection { .. } | ErrorKind::Shutdown | ErrorKind::DnsResolve { .. } => {
            Error::unreached(KIND, error)
        }
        ErrorKind::Authentication { .. } => login_refused(error),
        ErrorKind::InvalidArgument { message, .. } => {
            // What the driver got may be a piece of a password, and so it may in the driver's error.
            let said = message.split(", got ").next().unwrap_or_default();
            Error::misconfigured(
                format!("the MongoDB URL or an option is not valid: {said}"),
                "correct it; the URL is mongodb://user:password@host,host/database, with %2F, %3F, \
                 %23 and %40 for / ? # and @ in a password",
            )
        }
        ErrorKind::InvalidTlsConfig { .. } => wrong(
            "the TLS settings are not valid",
            "check the paths of the certificates in the URL",
            error,
        ),
        ErrorKind::IncompatibleServer { .. } | ErrorKind::SessionsNotSupported => too_old(error),
        ErrorKind::Command(failure) => by_code(failure.code, error),
        ErrorKind::Write(WriteFailure::WriteError(failure)) => by_code(failure.code, error),
        ErrorKind::Write(WriteFailure::WriteConcernError(failure)) => by_code(failure.code, error),
        _ => Error::unclear(KIND, error),
    }
}

/// One of ours for a part of an answer that says `code` and `errmsg`.
pub(crate) fn translate_part(part: &Document) -> Error {
    let code = crate::record::number(part, "code").and_then(|code| i32::try_from(code).ok());
    let text = part.get_str("errmsg").unwrap_or("no reason was given");
    by_code(code.unwrap_or_default(), format!("the server says {}: {text}", code.unwrap_or(0)))
}

/// What to do about the server's own codes.
fn by_code(code: i32, error: impl Into<BoxError>) -> Error {
    match code {
        // Unauthorized, AtlasError: the user may not do this.
        13 | 8000 => denied(error),
        // AuthenticationFailed.
        18 => login_refused(error),
        // An unknown variable, command, stage, operator or option: not the server that was asked for.
        9 | 59 | 72 | 115 | 168 | 17276 | 31325 | 40324 | 40415 => too_old(error),
        // UnknownReplWriteConcern, UnsatisfiableWriteConcern.
        79 | 100 => wrong(
            "the replica set cannot acknowledge by a majority",
            "give it a majority of members that hold data",
            error,
        ),
        // DocumentValidationFailure.
        121 => wrong(
            "the lease collection has a validator that refuses lease documents",
            "remove the validator, or keep leases in a collection of their own",
            error,
        ),
        // CommandNotSupportedOnView, and writes to a time series.
        166 => not_a_collection(error),
        // BSONObjectTooLarge, and what an update says of it.
        10334 | 17419 | 17420 => wrong(
            "a lease document has outgrown the 16 MiB that MongoDB allows: it has too many writers",
            "split the name, or let writers share a lease",
            error,
        ),
        // NotAReplicaSet, said where a transaction or a change stream was asked for.
        20 | 123 | 40573 => wrong(
            "this needs a replica set, and the server is alone",
            "make the server a replica set of one: start it with --replSet and initiate it",
            error,
        ),
        _ => Error::unclear(KIND, error),
    }
}

/// The same error once more, for each lease of a batch that it hit.
pub(crate) fn again(error: &Error) -> Error {
    match error {
        Error::Misconfigured { problem, fix, source } => Error::Misconfigured {
            problem: problem.clone(),
            fix: fix.clone(),
            source: source.as_ref().map(|source| source.to_string().into()),
        },
        Error::Unavailable { effect, source, .. } => {
            Error::Unavailable { backend: KIND, effect: *effect, source: source.to_string().into() }
        }
        other => Error::unclear(KIND, other.to_string()),
    }
}

/// The server's own code in one of ours that came of it.
pub(crate) fn code(error: &Error) -> Option<i32> {
    let source = std::error::Error::source(error)?.downcast_ref::<Reason>()?;
    match source.driver().kind.as_ref() {
        ErrorKind::Command(failure) => Some(failure.code),
        _ => None,
    }
}

/// The answer says neither yes nor no.
pub(crate) fn nonsense(what: &'static str) -> Error {
    Error::unclear(KIND, what)
}

pub(crate) fn denied(error: impl Into<BoxError>) -> Error {
    wrong(
        "the MongoDB user may not do what leases need",
        "grant it readWrite on the leases' database; to look only, read is enough",
        error,
    )
}

fn login_refused(error: impl Into<BoxError>) -> Error {
    wrong(
        "MongoDB refuses the login",
        "check user, password and authSource in the URL; users are often kept in `admin`: \
         add ?authSource=admin",
        error,
    )
}

fn too_old(error: impl Into<BoxError>) -> Error {
    wrong(
        "the server does not know what leases need: it is older than MongoDB 5.0, or another product",
        "use MongoDB 5.0 or later",
        error,
    )
}

pub(crate) fn not_a_collection(error: impl Into<BoxError>) -> Error {
    wrong(
        "what has the lease collection's name is a view or a time series",
        "name another collection in the URL: ?collection=leases",
        error,
    )
}

fn wrong(
    problem: impl Into<Cow<'static, str>>,
    fix: &'static str,
    error: impl Into<BoxError>,
) -> Error {
    Error::Misconfigured { problem: problem.into(), fix: fix.into(), source: Some(error.into()) }
}
