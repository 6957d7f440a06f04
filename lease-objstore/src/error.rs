//! What the driver says, translated once.

use std::error::Error as StdError;
use std::io::{self, ErrorKind};

use lease_core::{BoxError, Error};

/// The name by which this backend goes in logs and errors.
pub(crate) const KIND: &str = "objstore";

/// What was asked of the store when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Looking: whatever went wrong, nothing was changed.
    Reading,
    /// Writing or deleting: what went wrong may have happened all the same.
    Writing,
}

/// One of ours for one of the driver's.
///
/// A write that failed says [`Effect::Unknown`](lease_core::Effect::Unknown) even where the disk is
/// full: the last step of a durable write comes after the file has its name, and its failure looks
/// like any other. What failed for a reason that only a person can change is `Misconfigured`.
pub(crate) fn translate(error: object_store::Error, doing: Doing) -> Error {
    use object_store::Error as Driver;
    match &error {
        Driver::PermissionDenied { .. } | Driver::Unauthenticated { .. } => denied(error),
        // Whoever looks for a file takes "not found" for an answer; here the bucket is meant.
        Driver::NotFound { .. } if io_error(&error).is_none() => no_bucket(error),
        Driver::Generic { .. } if says(&error, &MISSING) => no_bucket(error),
        Driver::Generic { .. } if says(&error, &REFUSED) => denied(error),
        Driver::Generic { .. } if says(&error, &ELSEWHERE) => wrong(
            "the bucket is in another region, or at another endpoint",
            "give the region that it was made in",
            error,
        ),
        Driver::NotImplemented { .. }
        | Driver::NotSupported { .. }
        | Driver::UnknownConfigurationKey { .. } => wrong(
            "the store cannot do what leases need",
            "use a store with create-if-absent, listing and deleting",
            error,
        ),
        Driver::InvalidPath { .. } => wrong(
            "a file in the lease folder has a name that the store cannot show",
            "move files that are not the library's out of the lease folder",
            error,
        ),
        _ => match io_error(&error).map(|io| (io.kind(), io.raw_os_error())) {
            Some((kind, raw)) => by_io(kind, raw, doing, error),
            None => unavailable(doing, error),
        },
    }
}

/// What a driver says of a listing in a bucket that is not there: it tells the status in words only.
const MISSING: [&str; 1] = ["status code: 404"];

/// The same of a listing that is refused, and what stores say that refuse credentials with another
/// status.
const REFUSED: [&str; 5] = [
    "status code: 401",
    "status code: 403",
    "ExpiredToken",
    "TokenRefreshRequired",
    "AuthorizationHeaderMalformed",
];

/// What a driver says of a bucket that is not where it was looked for.
const ELSEWHERE: [&str; 2] = ["PermanentRedirect", "redirect without LOCATION"];

/// Whether one of these stands in the error or what it came of.
fn says(error: &(dyn StdError + 'static), parts: &[&str]) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if parts.iter().any(|part| text.contains(part)) {
            return true;
        }
        next = error.source();
    }
    false
}

/// One of ours for a failed step on the local disk that the driver has no part in.
pub(crate) fn local(error: io::Error, doing: Doing) -> Error {
    let (kind, raw) = (error.kind(), error.raw_os_error());
    by_io(kind, raw, doing, error)
}

fn by_io(kind: ErrorKind, raw: Option<i32>, doing: Doing, error: impl Into<BoxError>) -> Error {
    /// EPERM: a link or an immutable folder is refused, not the user.
    const NOT_PERMITTED: Option<i32> = Some(1);
    match kind {
        ErrorKind::PermissionDenied if raw == NOT_PERMITTED && doing == Doing::Writing => {
            no_links(error)
        }
        ErrorKind::Unsupported if doing == Doing::Writing => no_links(error),
        ErrorKind::PermissionDenied => denied(error),
        ErrorKind::ReadOnlyFilesystem => wrong(
            "the lease folder is on a read-only file system",
            "mount it writable, or open the store read-only for status",
            error,
        ),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => unavailable(doing, Full(error.into())),
        ErrorKind::NotADirectory | ErrorKind::IsADirectory => wrong(
            "a file and a folder are in each other's way in the lease folder",
            "move what is not the library's out of the lease folder",
            error,
        ),
        ErrorKind::InvalidFilename => wrong(
            "the file system refuses the length of a lease file's name",
            "use a file system that allows names of 180 bytes",
            error,
        ),
        _ => unavailable(doing, error),
    }
}

/// The store's answer makes no sense for a reason that is not a person's to mend.
pub(crate) fn unavailable(doing: Doing, error: impl Into<BoxError>) -> Error {
    match doing {
        Doing::Reading => Error::unreached(KIND, error),
        Doing::Writing => Error::unclear(KIND, error),
    }
}

/// A failure after a write of the same step: whatever failed, that write may have taken place.
pub(crate) fn after_a_write(error: Error) -> Error {
    match error {
        Error::Unavailable { .. } => Error::unclear(KIND, error),
        error => error,
    }
}

/// Whether the request that failed so may have taken place.
pub(crate) fn is_unclear(error: &Error) -> bool {
    matches!(error, Error::Unavailable { effect: lease_core::Effect::Unknown, .. })
}

fn no_bucket(error: impl Into<BoxError>) -> Error {
    wrong(
        "the bucket does not exist, or something is missing that was there",
        "create the bucket, and check its name and the endpoint",
        error,
    )
}

/// Whether the store refused access.
pub(crate) fn is_denied(error: &Error) -> bool {
    matches!(error, Error::Misconfigured { problem, .. } if problem == DENIED)
}

const DENIED: &str = "the store refuses access";

fn denied(error: impl Into<BoxError>) -> Error {
    wrong(
        DENIED,
        "give this user the right to list, read, create, overwrite and delete in the lease folder, and in all that is in it; of a \
         bucket check the credentials too, and that they have not expired; to look only, open the store read-only",
        error,
    )
}

/// The file system cannot do what create-if-absent is made of.
pub(crate) fn no_links(error: impl Into<BoxError>) -> Error {
    wrong(
        "the file system refuses hard links, or the folder is immutable",
        "put the lease folder on a file system with hard links (ext4, xfs, btrfs, NFS), not on FAT, \
         exFAT or SMB",
        error,
    )
}

fn wrong(problem: &'static str, fix: &'static str, error: impl Into<BoxError>) -> Error {
    Error::Misconfigured { problem: problem.into(), fix: fix.into(), source: Some(error.into()) }
}

#[derive(Debug, thiserror::Error)]
#[error("the disk or the quota is full")]
struct Full(#[source] BoxError);

pub(crate) fn io_error<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e io::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io);
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use lease_core::Effect;
    use object_store::Error as Driver;
    use rstest::rstest;

    use super::*;

    /// What a failure comes to.
    #[derive(Debug, PartialEq, Eq)]
    enum Told {
        Person,
        Effect(Effect),
    }

    fn told(error: &Error) -> Told {
        match error {
            Error::Misconfigured { source, .. } => {
                assert!(source.is_some(), "a person is shown what the driver said");
                Told::Person
            }
            Error::Unavailable { effect, .. } => Told::Effect(*effect),
            other => panic!("{other:?}"),
        }
    }

    fn generic(source: impl Into<BoxError>) -> Driver {
        Driver::Generic { store: "test", source: source.into() }
    }

    /// As deep in the driver's errors as the local file system puts it.
    fn io(error: impl Into<io::Error>) -> Driver {
        #[derive(Debug, thiserror::Error)]
        #[error("unable to do it")]
        struct Wrapped(#[source] io::Error);
        generic(Wrapped(error.into()))
    }

    fn path() -> String {
        "payroll/x-1".into()
    }

    const NOTHING: Told = Told::Effect(Effect::Nothing);
    const UNKNOWN: Told = Told::Effect(Effect::Unknown);

    #[rstest]
    #[case::no_answer(generic("timed out"), UNKNOWN, NOTHING)]
    #[case::reset(io(ErrorKind::ConnectionReset), UNKNOWN, NOTHING)]
    #[case::disk_error(io(io::Error::from_raw_os_error(5)), UNKNOWN, NOTHING)]
    #[case::disk_full(io(ErrorKind::StorageFull), UNKNOWN, NOTHING)]
    #[case::quota(io(ErrorKind::QuotaExceeded), UNKNOWN, NOTHING)]
    #[case::too_many_open_files(io(io::Error::from_raw_os_error(24)), UNKNOWN, NOTHING)]
    #[case::access(io(io::Error::from_raw_os_error(13)), Told::Person, Told::Person)]
    #[case::no_links(io(io::Error::from_raw_os_error(1)), Told::Person, Told::Person)]
    #[case::read_only(io(ErrorKind::ReadOnlyFilesystem), Told::Person, Told::Person)]
    #[case::in_the_way(io(ErrorKind::NotADirectory), Told::Person, Told::Person)]
    #[case::long(io(ErrorKind::InvalidFilename), Told::Person, Told::Person)]
    #[case::denied(
        Driver::PermissionDenied { path: path(), source: "403".into() }, Told::Person, Told::Person
    )]
    #[case::login(
        Driver::Unauthenticated { path: path(), source: "401".into() }, Told::Person, Told::Person
    )]
    #[case::cannot(
        Driver::NotImplemented { operation: "put".into(), implementer: "test".into() },
        Told::Person,
        Told::Person
    )]
    #[case::odd_name(
        Driver::InvalidPath { source: object_store::path::Error::EmptySegment { path: path() } },
        Told::Person,
        Told::Person
    )]
    fn each_failure_is_told_by_what_to_do(
        #[case] error: Driver,
        #[case] writing: Told,
        #[case] reading: Told,
    ) {
        // The driver's errors cannot be copied, so the second look is at the same one.
        let (kind, raw) =
            io_error(&error).map_or((None, None), |io| (Some(io.kind()), io.raw_os_error()));
        assert_eq!(told(&translate(error, Doing::Writing)), writing);
        if let Some(kind) = kind {
            let again = by_io(kind, raw, Doing::Reading, "again");
            assert_eq!(told(&again), reading);
        }
    }

    #[test]
    fn a_full_disk_is_named() {
        let error = translate(io(ErrorKind::StorageFull), Doing::Writing);
        assert_eq!(StdError::source(&error).unwrap().to_string(), "the disk or the quota is full");
    }
}
