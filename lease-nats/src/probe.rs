//! Whether leases can be kept in a bucket: what is wrong, and what is merely weak.

use std::borrow::Cow;

use lease_core::checkup::Guarantee;
use lease_core::{Error, Result};

use crate::Options;
use crate::error::{ApiError, Failure, code};
use crate::wire::{Info, Settings};

/// The first server with conditional joins and message ttls whose numbered buckets also survive a
/// restart.
const OLDEST: [u64; 3] = [2, 11, 2];

/// Room for the largest record, its headers and its encoding.
const RECORD: i64 = 128 * 1024;

/// Room for some hundreds of leases.
const BUCKET: i64 = 16 * 1024 * 1024;

/// Sequences of a bucket that was created here are microseconds: later than the year 2001.
const NUMBERED: u64 = 1_000_000_000_000_000;

/// Refuses a server that cannot keep leases.
pub(crate) fn version(version: &str) -> Result<()> {
    let mut numbers = version.trim_start_matches('v').split(['.', '-']).map(str::parse::<u64>);
    let mut next = || numbers.next().and_then(std::result::Result::ok).unwrap_or(0);
    if [next(), next(), next()] >= OLDEST {
        return Ok(());
    }
    Err(Error::misconfigured(
        format!("nats-server is too old for leases, version=`{version}`"),
        "use 2.11.2 or later: older ones do not know the condition on another key that a join and \
         a confirmation rest on, and forget a numbered bucket when they restart",
    ))
}

/// Whether this error says that there is no such bucket.
pub(crate) fn is_missing(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|s| s.downcast_ref::<Failure>());
    matches!(source, Some(Failure::JetStream(ApiError { err_code: code::NO_STREAM, .. })))
}

/// Something that is not as it should be with a bucket.
pub(crate) struct Flaw {
    /// What leases need that it takes away, or makes weaker.
    pub(crate) of: Guarantee,
    pub(crate) what: String,
    pub(crate) fix: Cow<'static, str>,
}

/// What leases need of a bucket's settings.
pub(crate) mod needs {
    use lease_core::checkup::Guarantee;

    pub(crate) const KEEPS: Guarantee =
        Guarantee::new("bucket-keeps", "the server removes no record that has not ended");
    pub(crate) const STORAGE: Guarantee = Guarantee::new(
        "storage",
        "what was acknowledged is on disk, and a restart forgets nothing",
    );
    pub(crate) const REPLICAS: Guarantee =
        Guarantee::new("replicas", "when one server is away, leases are still granted and renewed");
    pub(crate) const TTLS: Guarantee =
        Guarantee::new("message-ttl", "a record that nobody renews goes by itself");
    pub(crate) const HISTORY: Guarantee =
        Guarantee::new("history", "of each record the last write is kept, and no more");
    pub(crate) const WRITES: Guarantee = Guarantee::new(
        "writes",
        "a record can be written again, and there is room for all of them",
    );
    pub(crate) const ITS_OWN: Guarantee = Guarantee::new(
        "bucket",
        "it is a key-value bucket of its own, which nothing else writes to",
    );
    pub(crate) const MARKERS: Guarantee =
        Guarantee::new("markers", "waiters are woken by what concerns them only");
    pub(crate) const DIRECT: Guarantee =
        Guarantee::new("direct-get", "a list of writers takes one request");
    pub(crate) const NUMBERS: Guarantee = Guarantee::new(
        "numbers",
        "a bucket that is made again goes on above the old one's numbers",
    );

    /// All of them, the gravest first.
    pub(crate) const ALL: [Guarantee; 10] =
        [ITS_OWN, KEEPS, STORAGE, REPLICAS, TTLS, HISTORY, WRITES, NUMBERS, DIRECT, MARKERS];
}

/// Refuses a bucket that loses records or lets two in; tells what is merely weak.
pub(crate) fn settings(info: &Info, options: &Options) -> Result<Vec<String>> {
    match faults(&info.settings, options).into_iter().next() {
        Some(fault) => Err(Error::misconfigured(fault.what, fault.fix)),
        None => Ok(weaknesses(info).into_iter().map(|weak| weak.what).collect()),
    }
}

/// What makes leases wrong in such a bucket.
pub(crate) fn faults(found: &Settings, options: &Options) -> Vec<Flaw> {
    use needs::{HISTORY, ITS_OWN, KEEPS, REPLICAS, STORAGE, TTLS, WRITES};

    let is_set = |value: &serde_json::Value| {
        !(value.is_null() || value.as_array().is_some_and(Vec::is_empty))
    };
    let limited = |limit: i64, below: i64| (1..below).contains(&limit);
    let drops = found.discard != "new" && (found.max_msgs > 0 || found.max_bytes > 0);
    let bucket = &options.bucket;
    let subject = format!("$KV.{bucket}.>");
    let few = options.replicas.filter(|wanted| found.num_replicas < *wanted);

    let verdicts: [(bool, Guarantee, String, &'static str); 13] = [
        (
            found.max_age > 0,
            KEEPS,
            format!("the bucket deletes what is older than {} s", found.max_age / 1_000_000_000),
            "set max_age to 0: epochs must outlive every lease",
        ),
        (
            found.storage == "memory" && !options.in_memory,
            STORAGE,
            "the bucket is kept in memory, and a restart forgets who holds".into(),
            "make it anew with file storage, or say storage=memory if that is what you want",
        ),
        (
            !found.allow_msg_ttl,
            TTLS,
            "the bucket refuses a time to live for single messages".into(),
            "set allow_msg_ttl",
        ),
        (
            found.max_msgs_per_subject < 1,
            HISTORY,
            "the bucket keeps every renewal for ever".into(),
            "set max_msgs_per_subject (history) to 1",
        ),
        (
            found.discard_new_per_subject,
            WRITES,
            "the bucket refuses a second write of a key".into(),
            "unset discard_new_per_subject",
        ),
        (drops, KEEPS, "the bucket drops old records when it is full".into(), "set discard to new"),
        (
            limited(found.max_msg_size, RECORD),
            WRITES,
            format!("the bucket takes no more than {} bytes for a record", found.max_msg_size),
            "set max_msg_size (max value size) to 131072 or to no limit",
        ),
        (
            limited(found.max_bytes, BUCKET),
            WRITES,
            format!("the bucket has room for {} bytes", found.max_bytes),
            "set max_bytes to 16 MiB or to no limit",
        ),
        (
            found.retention != "limits" || found.no_ack || found.sealed,
            KEEPS,
            "the bucket's stream is not one that keeps and acknowledges what is written".into(),
            "give it limits retention and acknowledgements, and do not seal it",
        ),
        (
            is_set(&found.mirror) || is_set(&found.sources) || is_set(&found.subject_transform),
            ITS_OWN,
            "the bucket is a copy of another one, or renames what is written".into(),
            "use a bucket of its own, without mirror, sources and subject transform",
        ),
        (
            found.persist_mode == "async",
            STORAGE,
            "the bucket acknowledges what is not on disk".into(),
            "set the persist mode to default",
        ),
        (
            !found.subjects.contains(&subject),
            ITS_OWN,
            "a stream of that name is no key-value bucket".into(),
            "name another bucket",
        ),
        (
            few.is_some(),
            REPLICAS,
            format!(
                "the bucket has fewer replicas than asked for, replicas=`{}`",
                found.num_replicas
            ),
            "raise its number of replicas, or ask for fewer",
        ),
    ];
    let wrong = verdicts.into_iter().filter(|(is, ..)| *is);
    let flaw = |(_, of, problem, fix): (bool, Guarantee, String, &'static str)| Flaw {
        of,
        what: format!("{problem}, bucket=`{bucket}`"),
        fix: format!("{fix} (nats stream edit KV_{bucket}), or use another bucket").into(),
    };
    wrong.map(flaw).collect()
}

/// What makes them weaker.
pub(crate) fn weaknesses(info: &Info) -> Vec<Flaw> {
    use needs::{DIRECT, HISTORY, MARKERS, NUMBERS, REPLICAS, STORAGE, WRITES};

    let found = &info.settings;
    let weak: [(bool, Guarantee, &'static str, &'static str); 7] = [
        (
            found.storage == "memory",
            STORAGE,
            "the bucket is kept in memory: when its servers have restarted, somebody may be granted \
             beside a holder that does not know yet",
            "make it anew with file storage",
        ),
        (
            found.num_replicas < 3,
            REPLICAS,
            "the bucket has fewer than three replicas: while its server is away nobody gets a \
             lease, and what its disk loses is lost",
            "run three servers as one cluster, and set the bucket's replicas to 3",
        ),
        (
            found.max_msgs_per_subject > 1,
            HISTORY,
            "the bucket keeps a history of each record, which leases do not need",
            "set max_msgs_per_subject (history) to 1",
        ),
        (
            found.subject_delete_marker_ttl > 0,
            MARKERS,
            "the bucket leaves delete markers, which wake whoever waits for nothing",
            "set subject_delete_marker_ttl to 0",
        ),
        (
            found.max_msgs > 0 || found.max_bytes > 0,
            WRITES,
            "the bucket has a limit: when it is full nobody can renew",
            "set max_msgs and max_bytes to no limit, or watch how full it is",
        ),
        (
            !found.allow_direct,
            DIRECT,
            "the bucket allows no direct gets: a list of writers takes a request for each",
            "set allow_direct",
        ),
        (
            info.last_seq < NUMBERED,
            NUMBERS,
            "the bucket was not created by this library and counts its writes from one: never \
             delete and make it again while somebody holds a lease",
            "when nobody holds a lease, delete it: whoever first holds one makes it anew",
        ),
    ];
    let weak = weak.into_iter().filter(|(is, ..)| *is);
    weak.map(|(_, of, what, fix)| Flaw { of, what: what.to_owned(), fix: fix.into() }).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    fn a_server_that_can_is_taken(
        #[values("2.11.2", "2.11.11", "2.12.0-RC.3", "2.15.1", "3.0.0", "v2.12.8")] text: &str,
    ) {
        version(text).unwrap();
    }

    #[rstest]
    fn a_server_that_cannot_is_refused(
        #[values("2.9.10", "2.10.26", "2.11.0", "2.11.1", "", "unknown")] text: &str,
    ) {
        assert!(matches!(version(text), Err(Error::Misconfigured { .. })));
    }
}
