//! Holders, for people and for machines.

use std::time::{Duration, SystemTime};

use comfy_table::{ContentArrangement, Table, presets};
use leasehold::clock::wall_clock_for_display;
use leasehold::{
    BreakNote, Freshness, HolderInfo, Mode, Record, Snapshot, Standing, State, Token, Unreadable,
};
use serde::Serialize;

/// A record, as `--json` shows it. Fields are added in later versions, never renamed.
#[derive(Debug, Serialize)]
pub(crate) struct RecordView {
    id: String,
    mode: &'static str,
    state: &'static str,
    label: String,
    host: String,
    pid: Option<u32>,
    since_ms: u64,
    ttl_ms: u128,
    age_ms: Option<u128>,
    free_in_ms: Option<u128>,
    expired: bool,
    unreadable: Option<String>,
    metadata: std::collections::BTreeMap<String, String>,
}

/// A name, as `--json` shows it.
#[derive(Debug, Serialize)]
pub(crate) struct NameView {
    name: String,
    state: &'static str,
    epoch: u64,
    token: Option<u64>,
    holders: Vec<RecordView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_break: Option<BreakNote>,
}

impl NameView {
    pub(crate) fn new(name: &str, seen: &Snapshot) -> Self {
        let granted =
            seen.exclusive.iter().chain(&seen.writers).find(|r| r.state == State::Granted);
        Self {
            name: name.to_owned(),
            state: state(seen),
            epoch: seen.epoch.get(),
            token: granted.map(|record| Token::new(record.mode, seen.epoch).get()),
            holders: seen.exclusive.iter().chain(&seen.writers).map(RecordView::new).collect(),
            last_break: None,
        }
    }

    /// With the note of the last break, where there is one.
    pub(crate) fn broken(self, last_break: Option<BreakNote>) -> Self {
        Self { last_break, ..self }
    }
}

impl RecordView {
    pub(crate) fn new(record: &Record) -> Self {
        Self {
            id: record.nonce.to_string(),
            mode: record.mode.as_str(),
            state: record_state(record),
            label: record.info.label.clone(),
            host: record.info.host.clone(),
            pid: pid(&record.info),
            since_ms: record.info.since_ms,
            ttl_ms: record.ttl.as_millis(),
            age_ms: record.age.map(|age| age.as_millis()),
            free_in_ms: free_in(record).map(|left| left.as_millis()),
            expired: record.freshness == Freshness::Stale,
            unreadable: record.unreadable.as_ref().map(unreadable),
            metadata: record.info.metadata.clone(),
        }
    }
}

/// What is with a name, in a word.
pub(crate) fn state(seen: &Snapshot) -> &'static str {
    match &seen.exclusive {
        Some(record) if record.state == State::Draining => "draining",
        Some(_) => "exclusive",
        None if seen.writers.is_empty() => "free",
        None => "writers",
    }
}

fn record_state(record: &Record) -> &'static str {
    match (&record.freshness, record.state) {
        (Freshness::Stale, _) => "expired",
        (_, State::Draining) => "draining",
        (_, State::Granted) => "held",
    }
}

/// The key of a pid that is told for people only.
pub(crate) const PID: &str = "pid";

/// The key of the process that a lease is kept for in the background.
pub(crate) const KEEPER_FOR: &str = "keeper-for";

/// The keys of metadata that the command itself tells.
pub(crate) const OWN_KEYS: [&str; 2] = [PID, KEEPER_FOR];

fn pid(info: &HolderInfo) -> Option<u32> {
    let process = info.process.as_ref().map(|process| process.pid);
    process.or_else(|| info.metadata.get(PID)?.parse().ok())
}

fn free_in(record: &Record) -> Option<Duration> {
    match record.freshness {
        Freshness::Fresh { left } => Some(left),
        Freshness::Stale => Some(Duration::ZERO),
        Freshness::Unknown => None,
    }
}

fn unreadable(why: &Unreadable) -> String {
    match why {
        Unreadable::NewerVersion(version) => {
            format!("written by a newer version (format {version})")
        }
        Unreadable::Corrupt(problem) => format!("damaged: {problem}"),
        _ => "unreadable".to_owned(),
    }
}

/// The holders of a name as a table.
pub(crate) fn table(seen: &Snapshot) -> Table {
    let mut table = Table::new();
    // Where it is too wide the terminal folds it; an id stays in one piece, to be copied.
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header([
        "MODE", "STATE", "HOLDER", "HOST", "PID", "HELD FOR", "RENEWED", "FREE IN", "ID",
    ]);
    let unknown = || "?".to_owned();
    for record in seen.exclusive.iter().chain(&seen.writers) {
        let view = RecordView::new(record);
        let (holder, host) = (holder(record), plain(&view.host));
        table.add_row([
            view.mode.to_owned(),
            view.state.to_owned(),
            holder,
            host,
            view.pid.map_or_else(String::new, |pid| pid.to_string()),
            held_for(&record.info).map_or_else(unknown, span),
            record.age.map_or_else(unknown, |age| format!("{} ago", span(age))),
            free_in(record).map_or_else(unknown, span),
            view.id,
        ]);
    }
    table
}

/// Who holds, as a person knows them.
pub(crate) fn holder(record: &Record) -> String {
    match &record.unreadable {
        Some(why) => plain(&format!("({})", unreadable(why))),
        None => plain(&record.info.label),
    }
}

/// Who is in the way, in a line for people: what matters most first.
pub(crate) fn standing(by: &Standing) -> String {
    let Some(holder) = &by.holder else {
        return "its holder has just gone".to_owned();
    };
    let who = match &holder.unreadable {
        Some(why) => format!("somebody whose record is {}", unreadable(why)),
        None => holder.info.label.clone(),
    };
    let verb = match (holder.mode, holder.state, by.writers) {
        // Who was refused by it has not looked for writers.
        (Mode::Exclusive, State::Draining, 0) => {
            "waits to hold it alone, after its writers".to_owned()
        }
        (Mode::Exclusive, State::Draining, writers) => {
            format!("waits to hold it alone, after {writers} writer(s)")
        }
        (Mode::Exclusive, State::Granted, _) => "holds it alone".to_owned(),
        (Mode::Writer, _, 0 | 1) => "holds it as a writer".to_owned(),
        (Mode::Writer, _, writers) => format!("and {} more hold it as writers", writers - 1),
    };
    let since =
        held_for(&holder.info).map_or_else(String::new, |time| format!(" for {}", span(time)));
    let until = match free_in(holder) {
        Some(Duration::ZERO) => "; it has expired".to_owned(),
        Some(left) => format!("; free in {} unless renewed", span(left)),
        None => String::new(),
    };
    plain(&format!("{who} {verb}{since}{until}{}", place(&holder.info)))
}

/// What others have written of themselves, without what would move a terminal's cursor or colour it.
pub(crate) fn plain(text: &str) -> String {
    let escaped = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// Who broke a lease, when and why, in a line for people.
pub(crate) fn broken(note: &BreakNote) -> String {
    let why = if note.why.is_empty() { String::new() } else { format!(": {}", note.why) };
    let ago = since(note.at_ms).map_or_else(String::new, |time| format!(" {} ago", span(time)));
    plain(&format!("broken{ago} by {}{why}", note.by))
}

/// Where a holder is, unless its label says so.
fn place(info: &HolderInfo) -> String {
    match pid(info) {
        _ if info.host.is_empty() => String::new(),
        Some(pid) if info.label == format!("{}:{pid}", info.host) => String::new(),
        Some(pid) => format!(" (host {}, pid {pid})", info.host),
        None => format!(" (host {})", info.host),
    }
}

/// For how long it has held, if its clock and ours agree that it has.
fn held_for(info: &HolderInfo) -> Option<Duration> {
    since(info.since_ms)
}

/// How long ago a time is that a wall clock told, if that clock and ours agree that it has been.
fn since(ms: u64) -> Option<Duration> {
    if ms == 0 {
        return None;
    }
    let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ms))?;
    wall_clock_for_display().duration_since(at).ok()
}

/// A time for people: to a tenth of a second as long as that matters.
pub(crate) fn span(time: Duration) -> String {
    if time < Duration::from_secs(10) {
        return format!("{:.1}s", time.as_secs_f64());
    }
    humantime::format_duration(Duration::from_secs(time.as_secs())).to_string()
}
