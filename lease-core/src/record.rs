//! What a store keeps, as the protocol sees it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::since_1970_ms;
use crate::{Epoch, HolderInfo, Mode, Name, Nonce};

mod standing;

pub use standing::Standing;

/// What somebody asks a store for: one attempt to hold one name.
#[derive(Clone, Debug)]
pub struct Claim {
    /// What is asked for.
    pub name: Name,
    /// The identity of this attempt.
    pub nonce: Nonce,
    /// Beside others, or alone.
    pub mode: Mode,
    /// How long the record lives after its last renewal. Everybody judges it by this one.
    pub ttl: Duration,
    /// Who asks, for people and tools.
    pub info: Arc<HolderInfo>,
}

/// Which write of a record this is: it changes with every write and never repeats. Only the
/// backend that made it can read it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(Arc<str>);

impl Revision {
    /// A revision as the backend writes it.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text that the backend wrote.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One's own record, with all that is needed to renew, confirm and remove it.
///
/// A holder numbers its writes: the one that made the record is beat 0, and each renewal that is
/// *sent* takes the next, answered or not. So a renewal that finds a beat between the last
/// acknowledged one and its own knows its own unanswered writes again (rule R8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// The name.
    pub name: Name,
    /// The mode.
    pub mode: Mode,
    /// The identity of the attempt.
    pub nonce: Nonce,
    /// How long the record lives after its last renewal.
    pub ttl: Duration,
    /// The epoch, once granted.
    pub epoch: Option<Epoch>,
    /// The revision of the last acknowledged write.
    pub revision: Revision,
    /// The beat of the last acknowledged write.
    pub acknowledged: u64,
    /// The beat of the last write that was sent.
    pub beat: u64,
}

impl Holding {
    /// One's own record as it is after its creation was acknowledged.
    #[must_use]
    pub fn created(claim: &Claim, revision: Revision) -> Self {
        Self {
            name: claim.name.clone(),
            mode: claim.mode,
            nonce: claim.nonce,
            ttl: claim.ttl,
            epoch: None,
            revision,
            acknowledged: 0,
            beat: 0,
        }
    }

    /// The same, about to be renewed: its next beat.
    #[must_use]
    pub fn next_beat(&self) -> Self {
        Self { beat: self.beat.saturating_add(1), ..self.clone() }
    }

    /// The same, after the store acknowledged the write with beat `self.beat` as `revision`.
    #[must_use]
    pub fn acknowledged(&self, revision: Revision) -> Self {
        Self { acknowledged: self.beat, revision, ..self.clone() }
    }
}

/// A grant: one's own record, granted.
#[derive(Clone, Debug)]
pub struct Grant {
    /// One's own record; its epoch is set.
    pub holding: Holding,
    /// The epoch that it was granted under.
    pub epoch: Epoch,
    /// Whether it took over from a holder that had not released: the failover grace applies.
    pub took_over: bool,
}

/// Somebody's record, as a store showed it.
#[derive(Clone, Debug)]
pub struct Record {
    /// The identity of the attempt. For a record that cannot be read, a stand-in that the backend
    /// finds it by.
    pub nonce: Nonce,
    /// The mode.
    pub mode: Mode,
    /// Whether an exclusive still drains or is granted. A writer's record counts as granted.
    pub state: State,
    /// Which write of it was seen.
    pub revision: Revision,
    /// How long it lives after its last renewal; zero where it cannot be read.
    pub ttl: Duration,
    /// How long ago it was last renewed at the least, on the store's clock, where that is known.
    pub age: Option<Duration>,
    /// Whether it lives, as far as the store can judge.
    pub freshness: Freshness,
    /// Who holds, for people and tools.
    pub info: HolderInfo,
    /// Why it cannot be read, if so: it is respected all the same.
    pub unreadable: Option<Unreadable>,
}

impl Record {
    /// Exactly this record at exactly this write, to be removed.
    #[must_use]
    pub fn target(&self) -> Target {
        Target { mode: self.mode, nonce: self.nonce, revision: self.revision.clone() }
    }
}

/// Whether an exclusive has been granted yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It waits for the writers to end and keeps new ones out. It has no epoch yet (rule R20).
    Draining,
    /// It holds.
    Granted,
}

/// Whether a record lives, as far as the store can judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// It was renewed within its ttl.
    Fresh {
        /// How long it lives on if it is not renewed again.
        left: Duration,
    },
    /// It was not.
    Stale,
    /// The store gives no evidence; watch whether the revision stands still for a ttl.
    Unknown,
}

/// Why a record cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// A newer version wrote it, in this format: held until its holder ends it or an operator
    /// breaks it.
    NewerVersion(u64),
    /// It is empty, cut off or no record at all, as this says: held until it stood still for the
    /// ttl of whoever looks.
    Corrupt(String),
}

/// On what evidence a record is to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Judged {
    /// The store judged it stale, and must judge so again at the step that removes it.
    ByStore,
    /// Its revision stood still for its ttl on the observer's clock: removed only at exactly that
    /// revision.
    Observed,
    /// Its process is proven dead: nobody believes in it any more.
    DeadProcess,
}

/// One record at one write of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its mode.
    pub mode: Mode,
    /// Whose it is.
    pub nonce: Nonce,
    /// Which write of it.
    pub revision: Revision,
}

/// What a store holds of one name, at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The last granted epoch; zero for a name that was never used.
    pub epoch: Epoch,
    /// Which state of the anchor this is, for the compare-and-swap of an install.
    pub anchor: Revision,
    /// The exclusive record, draining or granted.
    pub exclusive: Option<Record>,
    /// The writers' records.
    pub writers: Vec<Record>,
}

impl Snapshot {
    /// Who is in the way of somebody else.
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing {
            epoch: self.epoch,
            holder: self.exclusive.as_ref().or(self.writers.first()).cloned(),
            writers: self.writers.len(),
        }
    }

    /// The record of this nonce in either mode, if it is there.
    #[must_use]
    pub fn record(&self, nonce: Nonce) -> Option<&Record> {
        self.exclusive.iter().chain(&self.writers).find(|record| record.nonce == nonce)
    }

    /// Whether nobody holds, waits or left anything behind.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.exclusive.is_none() && self.writers.is_empty()
    }
}

/// Who broke a lease and why, kept for whoever wonders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BreakNote {
    /// Who broke it.
    pub by: String,
    /// Why.
    pub why: String,
    /// When, by the wall clock of whoever broke it, in milliseconds since 1970; zero where it is not
    /// told. For display.
    #[serde(default)]
    pub at_ms: u64,
}

impl BreakNote {
    /// A note that does not tell when.
    #[must_use]
    pub fn new(by: impl Into<String>, why: impl Into<String>) -> Self {
        Self { by: by.into(), why: why.into(), at_ms: 0 }
    }

    /// The same, written now by this machine's wall clock.
    #[must_use]
    pub fn dated(self) -> Self {
        Self { at_ms: since_1970_ms(), ..self }
    }
}
