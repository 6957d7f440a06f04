//! What people are told of a holder, as BSON.

use lease_core::{HolderInfo, ProcessId};
use mongodb::bson::{Bson, DateTime, Document, doc};

/// Metadata is an array of pairs, since a field name must not be just anything.
pub(crate) fn to_bson(info: &HolderInfo) -> Document {
    let mut document = doc! {
        "label": &info.label,
        "host": &info.host,
        "since": DateTime::from_millis(signed(info.since_ms)),
    };
    if let Some(process) = &info.process {
        document.insert(
            "process",
            doc! {
                "boot": &process.boot,
                "namespace": signed(process.namespace),
                "pid": i64::from(process.pid),
                "started": signed(process.started),
            },
        );
    }
    if let Some(name) = &info.stable_name {
        document.insert("stable", name);
    }
    if !info.metadata.is_empty() {
        let pairs = info.metadata.iter().map(|(key, value)| Bson::from(vec![key, value]));
        document.insert("metadata", pairs.collect::<Vec<_>>());
    }
    document
}

/// What can be understood of it: none of it decides anything by being missing.
pub(super) fn from_bson(document: &Document) -> HolderInfo {
    let text = |field: &str| document.get_str(field).ok().map(str::to_owned);
    let mut info = HolderInfo::default();
    info.label = text("label").unwrap_or_default();
    info.host = text("host").unwrap_or_default();
    info.stable_name = text("stable");
    info.process = document.get_document("process").ok().and_then(process);
    info.since_ms =
        document.get_datetime("since").map_or(0, |since| unsigned(since.timestamp_millis()));
    if let Ok(pairs) = document.get_array("metadata") {
        info.metadata = pairs.iter().filter_map(pair).collect();
    }
    info
}

fn process(document: &Document) -> Option<ProcessId> {
    let number = |field: &str| document.get_i64(field).ok().map(unsigned);
    // The one way in that lease-core offers to others.
    serde_json::from_value(serde_json::json!({
        "boot": document.get_str("boot").ok()?,
        "namespace": number("namespace")?,
        "pid": number("pid")?,
        "started": number("started")?,
    }))
    .ok()
}

fn pair(entry: &Bson) -> Option<(String, String)> {
    match entry.as_array()?.as_slice() {
        [Bson::String(key), Bson::String(value)] => Some((key.clone(), value.clone())),
        _ => None,
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
