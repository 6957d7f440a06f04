//! What a bucket's answers say.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::time;
use crate::error::Failure;

/// A message as the bucket keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Which write of the bucket it is.
    pub(crate) seq: u64,
    /// When it was stored, by the clock of the server that led the bucket then, in nanoseconds.
    pub(crate) at: u64,
    /// Whether it is the mark of a key that has ended, of whichever kind.
    pub(crate) ended: bool,
    /// Its token, if it is a fenced write.
    pub(crate) token: Option<u64>,
    pub(crate) body: Bytes,
}

impl Kept {
    /// From the header lines as they are stored.
    pub(super) fn stored(seq: u64, at: u64, headers: &[u8], body: Bytes) -> Self {
        let text = String::from_utf8_lossy(headers);
        let value = |name: &str| {
            let lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value.trim())
        };
        Self::new(seq, at, value, body)
    }

    pub(super) fn new<'h>(
        seq: u64,
        at: u64,
        header: impl Fn(&str) -> Option<&'h str>,
        body: Bytes,
    ) -> Self {
        // The server marks what it removed itself by a reason, and a person by the operation.
        let deleted = matches!(header("KV-Operation"), Some("DEL" | "PURGE"));
        let ended = deleted || header("Nats-Marker-Reason").is_some();
        // One that cannot be read fences everybody: that is the harmless error.
        let token = header(crate::fenced::TOKEN).map(|token| token.parse().unwrap_or(u64::MAX));
        Self { seq, at, ended, token, body }
    }
}

/// What a bucket's leader says of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Info {
    pub(crate) settings: Settings,
    /// When it was made, as the server writes it: another one of the same name has another.
    pub(crate) created: String,
    /// Its last write.
    pub(crate) last_seq: u64,
    /// The leader's clock as it answered, in nanoseconds.
    pub(crate) now: u64,
    /// Those of its replicas that are away or behind.
    pub(crate) away: Vec<String>,
    /// The keys that were asked for.
    pub(crate) keys: Vec<String>,
    /// How many there are, of which an answer may give a page.
    total: u64,
    page: usize,
}

/// The settings of a bucket that matter to leases, as the server tells them.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct Settings {
    pub(crate) subjects: Vec<String>,
    pub(crate) retention: String,
    pub(crate) storage: String,
    pub(crate) discard: String,
    pub(crate) num_replicas: u8,
    pub(crate) max_age: u64,
    pub(crate) max_msgs: i64,
    pub(crate) max_bytes: i64,
    pub(crate) max_msgs_per_subject: i64,
    pub(crate) max_msg_size: i64,
    pub(crate) discard_new_per_subject: bool,
    pub(crate) allow_direct: bool,
    pub(crate) allow_msg_ttl: bool,
    pub(crate) subject_delete_marker_ttl: u64,
    pub(crate) no_ack: bool,
    pub(crate) sealed: bool,
    pub(crate) persist_mode: String,
    pub(crate) mirror: Value,
    pub(crate) sources: Value,
    pub(crate) subject_transform: Value,
}

impl Info {
    pub(super) fn read(
        answer: Value,
        key: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Answer {
            #[serde(default)]
            config: Settings,
            #[serde(default)]
            created: String,
            #[serde(default)]
            state: State,
            #[serde(default)]
            ts: String,
            #[serde(default)]
            total: u64,
            #[serde(default)]
            cluster: Cluster,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Cluster {
            replicas: Vec<Replica>,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Replica {
            name: String,
            current: bool,
            offline: bool,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct State {
            last_seq: u64,
            subjects: serde_json::Map<String, Value>,
        }

        let answer: Answer =
            serde_json::from_value(answer).map_err(|error| Failure::Nonsense(error.to_string()))?;
        let now = time(&answer.ts).ok_or_else(|| Failure::Nonsense("no time".into()))?;
        let replicas = answer.cluster.replicas.into_iter();
        Ok(Self {
            away: replicas.filter(|one| one.offline || !one.current).map(|one| one.name).collect(),
            settings: answer.config,
            created: answer.created,
            last_seq: answer.state.last_seq,
            now,
            page: answer.state.subjects.len(),
            keys: answer.state.subjects.keys().filter_map(|subject| key(subject)).collect(),
            total: answer.total,
        })
    }

    /// Whether there are more keys than this page, which begins with key number `offset`, has.
    pub(super) fn more(&self, offset: usize) -> bool {
        self.page > 0 && ((offset + self.page) as u64) < self.total
    }
}
