//! Whether leases can be kept in a bucket: what is wrong, and what is merely weak.

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

/// Refuses a bucket that loses records or lets two in; tells what is merely weak.
pub(crate) fn settings(info: &Info, options: &Options) -> Result<Vec<String>> {
    let bucket = &options.bucket;
    let found = &info.settings;
    if let Some((problem, fix)) = refusal(found, options) {
        return Err(Error::misconfigured(
            format!("{problem}, bucket=`{bucket}`"),
            format!("{fix} (nats stream edit KV_{bucket}), or use another bucket"),
        ));
    }
    Ok(weaknesses(info))
}

fn refusal(found: &Settings, options: &Options) -> Option<(String, &'static str)> {
    let is_set = |value: &serde_json::Value| {
        !(value.is_null() || value.as_array().is_some_and(Vec::is_empty))
    };
    let limited = |limit: i64, below: i64| (1..below).contains(&limit);
    let drops = found.discard != "new" && (found.max_msgs > 0 || found.max_bytes > 0);
    let subject = format!("$KV.{}.>", options.bucket);
    let few = options.replicas.filter(|wanted| found.num_replicas < *wanted);

    let verdicts: [(bool, String, &'static str); 13] = [
        (
            found.max_age > 0,
            format!("the bucket deletes what is older than {} s", found.max_age / 1_000_000_000),
            "set max_age to 0: epochs must outlive every lease",
        ),
        (
            found.storage == "memory" && !options.in_memory,
            "the bucket is kept in memory, and a restart forgets who holds".into(),
            "make it anew with file storage, or say storage=memory if that is what you want",
        ),
        (
            !found.allow_msg_ttl,
            "the bucket refuses a time to live for single messages".into(),
            "set allow_msg_ttl",
        ),
        (
            found.max_msgs_per_subject < 1,
            "the bucket keeps every renewal for ever".into(),
            "set max_msgs_per_subject (history) to 1",
        ),
        (
            found.discard_new_per_subject,
            "the bucket refuses a second write of a key".into(),
            "unset discard_new_per_subject",
        ),
        (drops, "the bucket drops old records when it is full".into(), "set discard to new"),
        (
            limited(found.max_msg_size, RECORD),
            format!("the bucket takes no more than {} bytes for a record", found.max_msg_size),
            "set max_msg_size (max value size) to 131072 or to no limit",
        ),
        (
            limited(found.max_bytes, BUCKET),
            format!("the bucket has room for {} bytes", found.max_bytes),
            "set max_bytes to 16 MiB or to no limit",
        ),
        (
            found.retention != "limits" || found.no_ack || found.sealed,
            "the bucket's stream is not one that keeps and acknowledges what is written".into(),
            "give it limits retention and acknowledgements, and do not seal it",
        ),
        (
            is_set(&found.mirror) || is_set(&found.sources) || is_set(&found.subject_transform),
            "the bucket is a copy of another one, or renames what is written".into(),
            "use a bucket of its own, without mirror, sources and subject transform",
        ),
        (
            found.persist_mode == "async",
            "the bucket acknowledges what is not on disk".into(),
            "set the persist mode to default",
        ),
        (
            !found.subjects.contains(&subject),
            "a stream of that name is no key-value bucket".into(),
            "name another bucket",
        ),
        (
            few.is_some(),
            format!(
                "the bucket has fewer replicas than asked for, replicas=`{}`",
                found.num_replicas
            ),
            "raise its number of replicas, or ask for fewer",
        ),
    ];
    let first = verdicts.into_iter().find(|(wrong, ..)| *wrong)?;
    Some((first.1, first.2))
}

fn weaknesses(info: &Info) -> Vec<String> {
    let found = &info.settings;
    let weak = [
        (
            found.storage == "memory",
            "the bucket is kept in memory: when its servers have restarted, somebody may be granted \
             beside a holder that does not know yet",
        ),
        (
            found.num_replicas < 3,
            "the bucket has fewer than three replicas: while its server is away nobody gets a \
             lease, and what its disk loses is lost",
        ),
        (
            found.max_msgs_per_subject > 1,
            "the bucket keeps a history of each record, which leases do not need",
        ),
        (
            found.subject_delete_marker_ttl > 0,
            "the bucket leaves delete markers, which wake whoever waits for nothing",
        ),
        (
            found.max_msgs > 0 || found.max_bytes > 0,
            "the bucket has a limit: when it is full nobody can renew",
        ),
        (
            !found.allow_direct,
            "the bucket allows no direct gets: a list of writers takes a request for each",
        ),
        (
            info.last_seq < NUMBERED,
            "the bucket was not created by this library and counts its writes from one: never \
             delete and make it again while somebody holds a lease",
        ),
    ];
    weak.into_iter().filter(|(is, _)| *is).map(|(_, what)| what.to_owned()).collect()
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
