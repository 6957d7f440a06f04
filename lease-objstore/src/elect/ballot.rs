//! What the files of an election say. Nothing here asks the store.
//!
//! ```text
//! <file>                    written over by whoever won; beside it nothing else counts
//! <file>.c<nonce>           a candidate: what the file is if this one wins
//! <file>.w<round><nonce>    somebody wants this candidate to win in this round
//! <file>.d<round><nonce>    somebody saw that all want it
//! <file>.x<round><nonce>    somebody, by this nonce, saw that several are wanted
//! <file>.e<nonce>           this candidate is elected
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use lease_core::{Jitter, Nonce};
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::connect::MARKER;
use crate::key::{Key, Part};
use crate::time::StoreTime;

/// The part that a file has in the election of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Candidate(Nonce),
    Wanted(u8, Nonce),
    Agreed(u8, Nonce),
    Disputed(u8, Nonce),
    Elected(Nonce),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Candidate(nonce) => write!(f, ".c{nonce}"),
            Self::Wanted(round, nonce) => write!(f, ".w{round:02x}{nonce}"),
            Self::Agreed(round, nonce) => write!(f, ".d{round:02x}{nonce}"),
            Self::Disputed(round, nonce) => write!(f, ".x{round:02x}{nonce}"),
            Self::Elected(nonce) => write!(f, ".e{nonce}"),
        }
    }
}

/// Whether several may want to create this file. All others have a nonce in their names, or are
/// written over by anybody.
pub(super) fn is_contested(file: &str) -> bool {
    let contested = |key| {
        matches!(
            key,
            Key::Genesis
                | Key::Exclusive(_, Part::Record | Part::Mark | Part::Adopted(_))
                | Key::Writer(_, Part::Adopted(_))
        )
    };
    file == MARKER || Key::parse(file).is_some_and(contested)
}

/// The file that this one is of the election of, and its part in it.
pub(super) fn role(file: &str) -> Option<(&str, Role)> {
    let (elected, part) = file.rsplit_once('.')?;
    let in_round = |text: &str| {
        let (round, nonce) = text.split_at_checked(2)?;
        Some((u8::from_str_radix(round, 16).ok()?, nonce.parse().ok()?))
    };
    let role = match part.split_at_checked(1)? {
        ("c", nonce) => Role::Candidate(nonce.parse().ok()?),
        ("e", nonce) => Role::Elected(nonce.parse().ok()?),
        ("w", text) => in_round(text).map(|(round, nonce)| Role::Wanted(round, nonce))?,
        ("d", text) => in_round(text).map(|(round, nonce)| Role::Agreed(round, nonce))?,
        ("x", text) => in_round(text).map(|(round, nonce)| Role::Disputed(round, nonce))?,
        _ => return None,
    };
    // Only the one spelling that is written counts.
    let is_spelt = file.strip_prefix(elected) == Some(role.to_string().as_str());
    (is_spelt && is_contested(elected)).then_some((elected, role))
}

/// Where a file of the election of `path` is.
pub(super) fn place(path: &Path, role: Role) -> Path {
    folder_of(path).join(format!("{}{role}", file_of(path)))
}

pub(super) fn file_of(path: &Path) -> &str {
    path.filename().unwrap_or_default()
}

pub(super) fn folder_of(path: &Path) -> Path {
    let parts: Vec<_> = path.parts().collect();
    parts.iter().take(parts.len().saturating_sub(1)).cloned().collect()
}

/// The nonce of a candidate whose time of writing decides something: that time, and chance.
pub(super) fn timed(shown: StoreTime) -> Nonce {
    let mut bytes = *Jitter::system().nonce().as_bytes();
    bytes[..8].copy_from_slice(&shown.micros().to_be_bytes());
    Nonce::from_bytes(bytes)
}

/// A candidate as the file that it was elected to be.
///
/// Nothing of it that decides anything changes when the request that wrote it comes a second time,
/// late: its tag is its nonce, and where the time of its first writing counts that is in the nonce
/// too. A record looks as fresh as if it had been renewed, as it would by a late renewal.
pub(super) fn elected(path: &Path, nonce: Nonce, meta: &ObjectMeta) -> ObjectMeta {
    let mut meta = meta.clone();
    meta.e_tag = Some(nonce.to_string());
    meta.version = None;
    if is_timed(file_of(path)) {
        let mut micros = [0; 8];
        micros.copy_from_slice(&nonce.as_bytes()[..8]);
        meta.last_modified = StoreTime::of_micros(u64::from_be_bytes(micros)).to_system().into();
    }
    meta
}

/// Whether the time of its first writing decides something: the epochs of a name start there.
pub(super) fn is_timed(file: &str) -> bool {
    Key::parse(file) == Some(Key::Genesis)
}

/// Whether a candidate was there within this time of the one in its nonce. One that was on its way for
/// longer may come after an erasure, and would let the epochs start where they did before.
fn is_in_time(path: &Path, nonce: Nonce, meta: &ObjectMeta, within: Duration) -> bool {
    let told = StoreTime::of(&elected(path, nonce, meta));
    !is_timed(file_of(path)) || StoreTime::of(meta).since(told) <= within
}

/// The files of one election.
#[derive(Clone, Debug, Default)]
pub(super) struct Ballot {
    /// The file itself.
    plain: Option<ObjectMeta>,
    candidates: BTreeMap<Nonce, ObjectMeta>,
    rounds: BTreeMap<u8, Round>,
    /// More than one only where somebody erased a part of it by hand.
    elected: BTreeSet<Nonce>,
    /// All files but the candidates and the file itself.
    votes: Vec<Path>,
    last_written: StoreTime,
}

/// What was said in one round.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    pub(super) wanted: BTreeSet<Nonce>,
    /// One at the most: see [`Elected`](super::Elected).
    pub(super) agreed: BTreeSet<Nonce>,
    pub(super) disputed: bool,
}

/// How an election stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// There is no such file.
    Absent,
    /// It is this one, for ever.
    Decided(ObjectMeta),
    /// If nobody comes before it who was there already, it is this one's.
    Open(Nonce),
}

impl Ballot {
    pub(super) fn add(&mut self, role: Option<Role>, meta: ObjectMeta) {
        let Some(role) = role else {
            self.plain = Some(meta);
            return;
        };
        self.last_written = self.last_written.max(StoreTime::of(&meta));
        match role {
            Role::Candidate(nonce) => {
                self.candidates.insert(nonce, meta);
                return;
            }
            Role::Wanted(round, nonce) => {
                self.rounds.entry(round).or_default().wanted.insert(nonce);
            }
            Role::Agreed(round, nonce) => {
                self.rounds.entry(round).or_default().agreed.insert(nonce);
            }
            Role::Disputed(round, _) => self.rounds.entry(round).or_default().disputed = true,
            Role::Elected(nonce) => drop(self.elected.insert(nonce)),
        }
        self.votes.push(meta.location);
    }

    /// How the election of `path` stands, where candidates come within this time or count for nothing.
    ///
    /// That one was agreed on and nobody disputed it is for those to see who voted: a listing need
    /// not show all files as they were at one moment.
    pub(super) fn standing(&self, path: &Path, within: Duration) -> Standing {
        if let Some(plain) = &self.plain {
            return Standing::Decided(plain.clone());
        }
        if !self.elected.is_empty() {
            // Votes for a candidate that is gone are what a removal has left. Others that come late
            // have lost to it all the same.
            let won = self.elected.iter().find_map(|won| self.candidate(path, *won));
            return won.map_or(Standing::Absent, Standing::Decided);
        }
        self.first(path, within).map_or(Standing::Absent, Standing::Open)
    }

    /// Whether these are votes for what is gone, which nobody who cast them waits for any more by the
    /// time `now` of the store. Votes of a time to come were cast before its clock was set back.
    pub(super) fn is_left_over(&self, now: StoreTime, after: Duration) -> bool {
        now.since(self.last_written) >= after || self.last_written.since(now) >= after
    }

    pub(super) const fn has_votes(&self) -> bool {
        !self.votes.is_empty()
    }

    /// What was said in a round.
    pub(super) fn round(&self, round: u8) -> Round {
        self.rounds.get(&round).cloned().unwrap_or_default()
    }

    /// A candidate as the file that it would be if it won.
    pub(super) fn candidate(&self, path: &Path, nonce: Nonce) -> Option<ObjectMeta> {
        Some(elected(path, nonce, self.candidates.get(&nonce)?))
    }

    /// Whose file the store wrote first; of two in one step of its clock the one with the lower
    /// nonce.
    fn first(&self, path: &Path, within: Duration) -> Option<Nonce> {
        // One that somebody voted for counts: it may have been written again since.
        let is_named = |nonce: &Nonce| {
            let named =
                |round: &Round| round.wanted.contains(nonce) || round.agreed.contains(nonce);
            self.rounds.values().any(named)
        };
        let counts = |(nonce, meta): &(&Nonce, &ObjectMeta)| {
            is_in_time(path, **nonce, meta, within) || is_named(nonce)
        };
        let wrote = |(nonce, meta): (&Nonce, &ObjectMeta)| (StoreTime::of(meta), *nonce);
        self.candidates.iter().filter(counts).map(wrote).min().map(|(_, nonce)| nonce)
    }

    /// All its files in the order in which they may be removed: at no moment does what is left say
    /// something else than before, but that the file is gone.
    pub(super) fn in_order(&self, path: &Path) -> [Vec<Path>; 4] {
        let (mut losers, mut winner) = (Vec::new(), Vec::new());
        for (nonce, meta) in &self.candidates {
            match self.elected.contains(nonce) {
                true => winner.push(meta.location.clone()),
                false => losers.push(meta.location.clone()),
            }
        }
        let plain = self.plain.iter().map(|_| path.clone()).collect();
        [losers, winner, plain, self.votes.clone()]
    }
}

#[cfg(test)]
mod tests;
