//! How a record stands, as far as its own fields tell.

use lease_core::{Mode, Nonce, Timing};
use mongodb::bson::{Bson, DateTime, Document};

use super::{VERSION, millis, number};

/// How a record stands; the twin of what the pipelines ask the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It can be read.
    Readable { ttl: i64, beat: i64, at: DateTime },
    /// A later version wrote it.
    Newer(u64),
    /// Nobody can have written it so.
    Odd(&'static str),
}

impl Kind {
    pub(super) fn of(record: &Bson, mode: Mode, now: DateTime) -> Self {
        let Bson::Document(record) = record else { return Self::Odd("it is no record") };
        let longest = millis(Timing::MAX_TTL);
        match number(record, "v") {
            Some(version) if version > i64::from(VERSION) => {
                return Self::Newer(u64::try_from(version).unwrap_or(0));
            }
            Some(version) if version == i64::from(VERSION) => {}
            _ => return Self::Odd("it has no version"),
        }
        let (Ok(ttl), Ok(beat), Ok(at)) =
            (record.get_i64("ttl"), record.get_i64("beat"), record.get_datetime("at"))
        else {
            return Self::Odd("a part of it is missing");
        };
        let ahead = at.timestamp_millis().saturating_sub(now.timestamp_millis());
        if ttl <= 0 || ttl > longest || ahead > longest {
            return Self::Odd("its times are impossible");
        }
        if mode == Mode::Exclusive && exclusive_nonce(record).is_none() {
            return Self::Odd("it has no nonce");
        }
        Self::Readable { ttl, beat, at: *at }
    }
}

/// The exclusive's nonce, if it has one.
pub(super) fn exclusive_nonce(record: &Document) -> Option<Nonce> {
    record.get_str("nonce").ok()?.parse().ok()
}
