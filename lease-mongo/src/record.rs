//! Lease documents and what the protocol sees of them.

use std::time::Duration;

use lease_core::{
    BreakNote, Claim, Epoch, Error, Freshness, Mode, Name, Nonce, Record, Result, Revision,
    Snapshot, State, Unreadable,
};
use mongodb::bson::{Bson, DateTime, Document, doc};

#[cfg(test)]
mod any;
mod info;
mod kind;

pub(crate) use info::to_bson as info_to_bson;
use kind::{Kind, exclusive_nonce};

/// The format that this version writes, of documents and of records.
pub(crate) const VERSION: i32 = 1;

/// The revision of a record that nobody can have written so.
pub(crate) const ODD_REVISION: &str = "odd";

/// A duration as it is stored: in whole milliseconds, rounded up, so that nothing ends early.
pub(crate) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

/// A beat as it is stored.
pub(crate) fn beat(beat: u64) -> i64 {
    i64::try_from(beat).unwrap_or(i64::MAX)
}

/// A new record in a pipeline, less what depends on its mode.
pub(crate) fn new_record(claim: &Claim) -> Document {
    doc! {
        "v": VERSION,
        "ttl": millis(claim.ttl),
        "beat": 0_i64,
        "at": "$$NOW",
        "info": { "$literal": info_to_bson(&claim.info) },
    }
}

/// The revision of a record at this beat.
pub(crate) fn revision(beat: i64, granted: bool) -> Revision {
    Revision::new(format!("{beat}.{}", u8::from(granted)))
}

/// What a revision says: the beat, and whether the exclusive was granted.
pub(crate) fn parse_revision(revision: &Revision) -> Option<(i64, bool)> {
    let (beat, granted) = revision.as_str().split_once('.')?;
    Some((beat.parse().ok()?, granted == "1"))
}

/// The note of the last break, as a document keeps it.
pub(crate) fn break_note(document: &Document) -> Option<BreakNote> {
    let note = document.get_document("broken").ok()?;
    let text = |field: &str| note.get_str(field).ok();
    let mut told = BreakNote::new(text("by")?, text("why")?);
    told.at_ms = note.get_i64("at_ms").ok().and_then(|at| u64::try_from(at).ok()).unwrap_or(0);
    Some(told)
}

/// The document of one name, or the part of it that an answer showed, with the server's time.
pub(crate) struct Lease<'a> {
    name: &'a Name,
    document: &'a Document,
    now: DateTime,
}

impl<'a> Lease<'a> {
    /// Looks at an answer that says whether the document is sound.
    pub(crate) fn read(name: &'a Name, document: &'a Document) -> Result<Self> {
        is_sound(name, document)?;
        let now = document.get_datetime("now").map_err(|_| damaged(name))?;
        Ok(Self { name, document, now: *now })
    }

    pub(crate) fn epoch(&self) -> Result<Epoch> {
        epoch(self.name, self.document)
    }

    pub(crate) fn exclusive(&self) -> Option<Record> {
        match self.document.get("x") {
            None | Some(Bson::Null) => None,
            Some(record) => Some(self.record(exclusive_id(record), Mode::Exclusive, record)),
        }
    }

    /// The writers under `field`, which is the document of all of them or an array of some.
    pub(crate) fn writers(&self, field: &str) -> Result<Vec<Record>> {
        match self.document.get(field) {
            Some(Bson::Document(all)) => {
                all.iter().map(|(key, record)| self.writer(key, record)).collect()
            }
            Some(Bson::Array(some)) => some.iter().map(|entry| self.entry(entry)).collect(),
            _ => Ok(Vec::new()),
        }
    }

    /// A writer as `$objectToArray` gives it.
    pub(crate) fn entry(&self, entry: &Bson) -> Result<Record> {
        let entry = entry.as_document().ok_or_else(|| damaged(self.name))?;
        let key = entry.get_str("k").map_err(|_| damaged(self.name))?;
        self.writer(key, entry.get("v").unwrap_or(&Bson::Null))
    }

    fn writer(&self, key: &str, record: &Bson) -> Result<Record> {
        let nonce = key.parse().map_err(|_| damaged(self.name))?;
        Ok(self.record(nonce, Mode::Writer, record))
    }

    /// All of it.
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        let freed = number(self.document, "freed").unwrap_or_default();
        Ok(Snapshot {
            epoch: self.epoch()?,
            anchor: Revision::new(freed.to_string()),
            exclusive: self.exclusive(),
            writers: self.writers("w")?,
        })
    }

    fn record(&self, nonce: Nonce, mode: Mode, record: &Bson) -> Record {
        let fields = record.as_document();
        let granted = fields.is_some_and(|fields| fields.contains_key("granted"));
        let state = match mode {
            Mode::Exclusive if !granted => State::Draining,
            _ => State::Granted,
        };
        let info = || fields.and_then(|fields| fields.get_document("info").ok());
        match Kind::of(record, mode, self.now) {
            Kind::Readable { ttl, beat, at } => {
                let (ttl, age) = (from_millis(ttl), self.since(at));
                let freshness = match ttl.checked_sub(age) {
                    Some(left) if !left.is_zero() => Freshness::Fresh { left },
                    _ => Freshness::Stale,
                };
                let (revision, age) = (revision(beat, granted), Some(age));
                let info = info().map(info::from_bson).unwrap_or_default();
                Record { nonce, mode, state, revision, ttl, age, freshness, info, unreadable: None }
            }
            kind => {
                let seen = self.document.get_datetime("odd").ok().copied();
                let (age, unreadable) = match kind {
                    Kind::Newer(version) => (None, Unreadable::NewerVersion(version)),
                    Kind::Odd(why) => {
                        (seen.map(|seen| self.since(seen)), Unreadable::Corrupt(why.to_owned()))
                    }
                    Kind::Readable { .. } => (None, Unreadable::Corrupt(String::new())),
                };
                Record {
                    nonce,
                    mode,
                    state,
                    revision: Revision::new(ODD_REVISION),
                    ttl: Duration::ZERO,
                    age,
                    freshness: Freshness::Unknown,
                    info: lease_core::HolderInfo::default(),
                    unreadable: Some(unreadable),
                }
            }
        }
    }

    /// A clock that was set back makes a record young, never old.
    fn since(&self, at: DateTime) -> Duration {
        from_millis(self.now.timestamp_millis().saturating_sub(at.timestamp_millis()))
    }
}

/// What a step says of a document that it must not touch.
pub(crate) fn is_sound(name: &Name, shown: &Document) -> Result<()> {
    if says(shown, "sound") {
        return Ok(());
    }
    match number(shown, "v") {
        Some(version) if version > i64::from(VERSION) => Err(Error::misconfigured(
            format!("a newer version keeps this lease, name=`{name}` format=`{version}`"),
            "use that version, or another collection",
        )),
        Some(_) => Err(damaged(name)),
        None => Err(Error::misconfigured(
            format!("a document of another kind has the lease's name, _id=`{name}`"),
            "keep leases in a collection of their own, or move that document away",
        )),
    }
}

/// The last granted epoch.
pub(crate) fn epoch(name: &Name, document: &Document) -> Result<Epoch> {
    let number = number(document, "epoch").and_then(|number| u64::try_from(number).ok());
    number.and_then(Epoch::new).ok_or_else(|| damaged(name))
}

/// The document is a lease's, and is not as this version writes it.
pub(crate) fn damaged(name: &Name) -> Error {
    Error::misconfigured(
        format!("the lease's document is damaged, _id=`{name}`"),
        "repair it, or delete it when nobody holds the lease: its epoch goes on by the clock",
    )
}

/// Whether a field is true.
pub(crate) fn says(document: &Document, field: &str) -> bool {
    matches!(document.get(field), Some(Bson::Boolean(true)))
}

/// A whole number, of whichever type a person or a tool may have written it.
pub(crate) fn number(document: &Document, field: &str) -> Option<i64> {
    match document.get(field)? {
        Bson::Int32(number) => Some(i64::from(*number)),
        Bson::Int64(number) => Some(*number),
        #[expect(clippy::cast_possible_truncation, reason = "a float saturates")]
        Bson::Double(number) => Some(*number as i64),
        _ => None,
    }
}

fn exclusive_id(record: &Bson) -> Nonce {
    let nonce = record.as_document().and_then(exclusive_nonce);
    nonce.unwrap_or_else(|| Nonce::from_bytes([0; 16]))
}

fn from_millis(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
