//! The requests to a bucket, and their answers.

use std::time::{Duration, SystemTime};

use async_nats::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use lease_core::clock::within;
use lease_core::{Error, Result};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::error::{Doing, Failure, code, translate};
use crate::hearing::Asks;
use crate::link::Link;
use crate::probe;

mod answer;
mod list;
mod reading;

pub(crate) use answer::{Info, Kept, Settings};
pub(crate) use list::Listed;
use reading::{acknowledged, parse};

/// Marks a write that is no news to a waiter.
pub(crate) const QUIET: &str = "Lease-Quiet";

pub(crate) const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
const EXPECTED_OF: &str = "Nats-Expected-Last-Subject-Sequence-Subject";
const TTL: &str = "Nats-TTL";
pub(crate) const OPERATION: &str = "KV-Operation";
const ROLLUP: &str = "Nats-Rollup";

/// One bucket, as requests see it.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) link: Link,
    bucket: String,
}

/// When a write goes through.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When<'a> {
    /// Always.
    Always,
    /// While this is the last write of the key; zero while it has none.
    At(u64),
    /// While this is the last write of the other key.
    If(&'a str, u64),
}

/// What kind of message a write leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Leaves {
    /// A value.
    Value,
    /// A value that is no news to who waits, such as a renewal.
    Quiet,
    /// A value that is gone after this time.
    Passing(Duration),
    /// The mark of a key that has ended, which is gone after this time.
    End(Duration),
    /// The mark of a key whose writes are all removed at once; a moment later it is gone as well.
    Nothing,
}

impl Leaves {
    fn headers(self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        match self {
            Self::Value => {}
            Self::Quiet => headers.insert(QUIET, "1"),
            Self::Passing(time) => headers.insert(TTL, seconds(time)),
            Self::End(time) => {
                headers.insert(OPERATION, "DEL");
                headers.insert(TTL, seconds(time));
            }
            Self::Nothing => {
                headers.insert(OPERATION, "PURGE");
                headers.insert(ROLLUP, "sub");
                headers.insert(TTL, seconds(Duration::ZERO));
            }
        }
        headers
    }
}

/// What came of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// It is the write with this number.
    Done(u64),
    /// Its condition does not hold.
    Moved,
    /// A write that its condition depends on is not decided yet.
    Busy,
}

impl Wire {
    pub(crate) const fn new(link: Link, bucket: String) -> Self {
        Self { link, bucket }
    }

    /// The stream that the bucket is.
    pub(crate) fn stream(&self) -> String {
        format!("KV_{}", self.bucket)
    }

    /// The subject of a key.
    pub(crate) fn subject(&self, key: &str) -> String {
        format!("$KV.{}.{key}", self.bucket)
    }

    /// The key of a subject, if it is the bucket's.
    pub(crate) fn key<'s>(&self, subject: &'s str) -> Option<&'s str> {
        subject.strip_prefix("$KV.")?.strip_prefix(&self.bucket)?.strip_prefix('.')
    }

    /// Writes a key, if the condition holds where the write is decided.
    pub(crate) async fn put(
        &self,
        key: &str,
        body: Bytes,
        when: When<'_>,
        leaves: Leaves,
    ) -> Result<Put> {
        let headers = match when {
            When::If(other, seq) => {
                // It may be connected to another server by now. One that is too old takes the
                // condition for one on this key, and would be asked in vain for ever.
                probe::version(&self.link.server().version)?;
                let other = self.subject(other);
                in_order(|| {
                    let mut headers = leaves.headers();
                    headers.insert(EXPECTED, seq.to_string());
                    headers.insert(EXPECTED_OF, other.as_str());
                    headers
                })
            }
            When::At(seq) => {
                let mut headers = leaves.headers();
                headers.insert(EXPECTED, seq.to_string());
                headers
            }
            When::Always => leaves.headers(),
        };
        self.publish(Asks::Leader, self.subject(key), headers, body).await
    }

    /// Publishes to any subject that a stream keeps.
    pub(crate) async fn publish(
        &self,
        asks: Asks,
        subject: String,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Put> {
        match self.ask(asks, subject, Some(headers), body, acknowledged).await {
            Ok(seq) => Ok(Put::Done(seq)),
            Err(Failure::JetStream(error)) if error.is_lost_race() => Ok(Put::Moved),
            Err(Failure::JetStream(error)) if error.is_in_flight() => Ok(Put::Busy),
            Err(failure) => Err(self.explain(failure, Doing::Writing).await),
        }
    }

    /// The last message of a key, as the bucket's leader has it.
    ///
    /// A leader that was cut off and does not know it yet may answer as of before that.
    pub(crate) async fn last(&self, key: &str) -> Result<Option<Kept>> {
        self.last_of(Asks::Anybody, &self.stream(), &self.subject(key)).await
    }

    /// The same for any subject of any stream.
    pub(crate) async fn last_of(
        &self,
        asks: Asks,
        stream: &str,
        subject: &str,
    ) -> Result<Option<Kept>> {
        #[derive(Deserialize)]
        struct Answer {
            message: Stored,
        }
        #[derive(Deserialize)]
        struct Stored {
            seq: u64,
            time: String,
            #[serde(default)]
            hdrs: String,
            #[serde(default)]
            data: String,
        }

        let request = json!({ "last_by_subj": subject });
        let what = format!("STREAM.MSG.GET.{stream}");
        let stored = match self.api(asks, &what, &request).await {
            Ok(Answer { message }) => message,
            Err(Failure::JetStream(error)) if error.err_code == code::NO_MESSAGE => {
                return Ok(None);
            }
            Err(failure) => return Err(translate(failure, Doing::Reading)),
        };
        let decode = |text| STANDARD.decode(text).map_err(|_| nonsense("not base64"));
        let (headers, body) = (decode(stored.hdrs)?, decode(stored.data)?);
        let at = time(&stored.time).ok_or_else(|| nonsense("no time"))?;
        Ok(Some(Kept::stored(stored.seq, at, &headers, body.into())))
    }

    /// What the bucket's leader says of the bucket, with the keys that match.
    pub(crate) async fn info(&self, filter: Option<&str>) -> Result<Info> {
        self.info_by(Asks::Anybody, filter).await
    }

    async fn info_by(&self, asks: Asks, filter: Option<&str>) -> Result<Info> {
        let mut whole: Option<Info> = None;
        loop {
            let offset = whole.as_ref().map_or(0, |info| info.keys.len());
            let request = match filter {
                Some(filter) => {
                    json!({ "subjects_filter": self.subject(filter), "offset": offset })
                }
                None => Value::Null,
            };
            let what = format!("STREAM.INFO.{}", self.stream());
            let answer = self.api(asks, &what, &request).await;
            let page = answer
                .and_then(|page| Info::read(page, |subject| self.key(subject).map(str::to_owned)))
                .map_err(|failure| translate(failure, Doing::Reading))?;
            let more = page.more(offset);
            match &mut whole {
                None => whole = Some(page),
                Some(whole) => whole.keys.extend(page.keys),
            }
            if let (false, Some(whole)) = (more, &mut whole) {
                return Ok(std::mem::take(whole));
            }
        }
    }

    /// Creates the bucket's stream; false if one of that name is there with other settings.
    pub(crate) async fn create(&self, config: &Value) -> Result<bool> {
        let what = format!("STREAM.CREATE.{}", self.stream());
        match self.api(Asks::Anybody, &what, config).await {
            Ok(IgnoredAny) => Ok(true),
            Err(Failure::JetStream(error)) if error.err_code == code::NAME_IN_USE => Ok(false),
            Err(failure) => Err(translate(failure, Doing::Reading)),
        }
    }

    /// Deletes the bucket with all that is in it.
    pub(crate) async fn delete(&self) -> Result<()> {
        let what = format!("STREAM.DELETE.{}", self.stream());
        match self.api(Asks::Anybody, &what, &Value::Null).await {
            Ok(IgnoredAny) => Ok(()),
            Err(Failure::JetStream(error)) if error.err_code == code::NO_STREAM => Ok(()),
            Err(failure) => Err(translate(failure, Doing::Writing)),
        }
    }

    /// A request to JetStream's interface that changes no lease.
    pub(crate) async fn api<T: for<'de> Deserialize<'de>>(
        &self,
        asks: Asks,
        what: &str,
        request: &Value,
    ) -> std::result::Result<T, Failure> {
        let body = if request.is_null() { Bytes::new() } else { request.to_string().into() };
        self.ask(asks, format!("$JS.API.{what}"), None, body, parse).await
    }

    /// A request, and what its answer says by `read`.
    async fn ask<T>(
        &self,
        asks: Asks,
        subject: String,
        headers: Option<HeaderMap>,
        body: Bytes,
        read: fn(&[u8]) -> std::result::Result<T, Failure>,
    ) -> std::result::Result<T, Failure> {
        let answer = async { read(&self.link.ask(subject, headers, body).await?.payload) };
        self.link.hear(asks, answer).await
    }

    /// Where nobody answered for the bucket: whether there is one at all.
    async fn explain(&self, failure: Failure, doing: Doing) -> Error {
        /// A server that has nobody to ask may not answer that either.
        const BRIEFLY: Duration = Duration::from_millis(500);

        if matches!(failure, Failure::NoResponders) {
            let asked = self.info_by(Asks::Elsewhere, None);
            let told = within(self.link.clock(), BRIEFLY, asked).await;
            if let Some(Err(error @ Error::Misconfigured { .. })) = told {
                return error;
            }
        }
        translate(failure, doing)
    }
}

/// Builds headers until the expected sequence comes before the key that it is expected of.
///
/// Servers before 2.11.7 find a header by the first line that begins with its name, and take the
/// longer name for the shorter one: the condition then does not count at all. The driver keeps
/// headers in an order that differs each time by chance.
fn in_order(build: impl Fn() -> HeaderMap) -> HeaderMap {
    loop {
        let headers = build();
        let first =
            headers.iter().map(|(name, _)| name.to_string()).find(|n| n.starts_with(EXPECTED));
        if first.as_deref() == Some(EXPECTED) {
            return headers;
        }
    }
}

fn nonsense(what: &str) -> Error {
    translate(Failure::Nonsense(what.to_owned()), Doing::Reading)
}

/// A time as the server writes it, in nanoseconds since 1970.
fn time(text: &str) -> Option<u64> {
    let time = humantime::parse_rfc3339(text).ok()?;
    u64::try_from(time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos()).ok()
}

/// Whole seconds, rounded up: the server would cut off a fraction and end it early.
fn seconds(time: Duration) -> String {
    let whole = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    whole.max(1).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_to_the_nanosecond() {
        assert_eq!(time("1970-01-01T00:00:01.000000002Z"), Some(1_000_000_002));
        assert_eq!(time("1970-01-01T00:00:01Z"), Some(1_000_000_000));
        assert_eq!(time("yesterday"), None);
    }

    #[test]
    fn a_time_to_live_is_never_cut_short() {
        assert_eq!(seconds(Duration::from_millis(1500)), "2");
        assert_eq!(seconds(Duration::ZERO), "1");
        assert_eq!(seconds(Duration::from_secs(60)), "60");
    }
}
