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
mod tests {
    use std::time::SystemTime;

    use rstest::rstest;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    const A: Nonce = Nonce::from_bytes([0xaa; 16]);
    const B: Nonce = Nonce::from_bytes([0xbb; 16]);
    const X7: &str = "x-0000000000000007";

    fn meta(file: &str, seconds: u64) -> ObjectMeta {
        ObjectMeta {
            location: Path::from(file),
            last_modified: (SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).into(),
            size: 1,
            e_tag: None,
            version: None,
        }
    }

    /// Of these files, as `(file, second)`.
    fn ballot(files: &[(String, u64)]) -> Ballot {
        let mut ballot = Ballot::default();
        for (file, second) in files {
            ballot.add(role(file).map(|(_, role)| role), meta(file, *second));
        }
        ballot
    }

    fn file(role: Role, second: u64) -> (String, u64) {
        (format!("{X7}{role}"), second)
    }

    fn candidate(nonce: Nonce, second: u64) -> (String, u64) {
        file(Role::Candidate(nonce), second)
    }

    fn agreed(nonce: Nonce) -> (String, u64) {
        file(Role::Agreed(0, nonce), 9)
    }

    fn chosen(nonce: Nonce) -> (String, u64) {
        file(Role::Elected(nonce), 9)
    }

    fn won(nonce: Nonce, second: u64) -> ObjectMeta {
        ObjectMeta { e_tag: Some(nonce.to_string()), ..meta(&candidate(nonce, 0).0, second) }
    }

    /// Case 24 on such a store: a request that comes a second time, late, moves nothing.
    #[test]
    fn a_candidate_that_is_written_again_stays_what_it_was() {
        let (path, nonce) = (Path::from("genesis"), timed(StoreTime::of_micros(5_000_001)));
        let at = |second| elected(&path, nonce, &meta("genesis", second));
        assert_eq!(at(5), at(900));
        assert_eq!(StoreTime::of(&at(5)).micros(), 5_000_001);
    }

    #[rstest]
    #[case::nobody(&[], Standing::Absent)]
    #[case::alone(&[candidate(B, 5)], Standing::Open(B))]
    #[case::earlier(&[candidate(A, 6), candidate(B, 5)], Standing::Open(B))]
    #[case::in_one_step(&[candidate(A, 5), candidate(B, 5)], Standing::Open(A))]
    #[case::wanted(&[candidate(A, 5), file(Role::Wanted(0, A), 6)], Standing::Open(A))]
    // Whether it was disputed is for those to see who voted.
    #[case::agreed(&[candidate(A, 5), candidate(B, 5), agreed(B)], Standing::Open(A))]
    #[case::chosen(&[candidate(A, 5), candidate(B, 5), chosen(B)], Standing::Decided(won(B, 5)))]
    #[case::written_over(
        &[candidate(A, 5), chosen(A), (X7.to_owned(), 8)], Standing::Decided(meta(X7, 8))
    )]
    #[case::left_over(&[chosen(A)], Standing::Absent)]
    #[case::late_for_what_is_removed(&[chosen(A), candidate(B, 5)], Standing::Absent)]
    fn the_files_tell_who_it_is(#[case] files: &[(String, u64)], #[case] expected: Standing) {
        assert_eq!(ballot(files).standing(&Path::from(X7), SECOND), expected);
    }

    /// A candidate for where a name's epochs start that comes long after its time, when the name was
    /// erased since: the epochs would start where they did before.
    #[test]
    fn a_start_that_comes_late_counts_for_nothing() {
        let path = Path::from("genesis");
        let nonce = timed(StoreTime::of_micros(5_000_000));
        let file = format!("genesis{}", Role::Candidate(nonce));
        let at = |second| {
            let mut ballot = Ballot::default();
            ballot.add(Some(Role::Candidate(nonce)), meta(&file, second));
            ballot.standing(&path, SECOND)
        };
        assert_eq!(at(6), Standing::Open(nonce));
        assert_eq!(at(7), Standing::Absent);
    }

    /// Also where somebody votes for another one.
    #[test]
    fn a_start_that_comes_late_is_not_one_of_several() {
        let path = Path::from("genesis");
        let [old, new] = [5, 900].map(|second| timed(StoreTime::of_micros(second * 1_000_000)));
        let mut ballot = Ballot::default();
        // It came before the new one, and long after its own time.
        for (role, second) in
            [(Role::Candidate(old), 899), (Role::Candidate(new), 900), (Role::Wanted(0, new), 901)]
        {
            ballot.add(Some(role), meta(&format!("genesis{role}"), second));
        }
        assert_eq!(ballot.standing(&path, SECOND), Standing::Open(new));
        // One that was voted for counts also when it is written once more.
        ballot.add(Some(Role::Candidate(new)), meta("genesis", 990));
        assert_eq!(ballot.standing(&path, SECOND), Standing::Open(new));
    }

    #[rstest]
    #[case::cast_a_moment_ago(20, false)]
    #[case::cast_long_ago(71, true)]
    #[case::by_a_clock_that_was_set_back(100, true)]
    fn votes_for_what_is_gone_are_left_over_in_time(#[case] age: u64, #[case] expected: bool) {
        let cast = if age == 100 { 1000 } else { 500 };
        let left = ballot(&[file(Role::Elected(A), cast)]);
        assert!(left.has_votes());
        let now = StoreTime::of_micros((500 + age) * 1_000_000);
        assert_eq!(left.is_left_over(now, SECOND * 60), expected);
    }

    /// However far a removal got, the file is what it was, or gone.
    #[test]
    fn a_removal_that_ends_early_changes_nothing() {
        let files = [candidate(A, 5), candidate(B, 4), agreed(A), chosen(A), (X7.to_owned(), 8)];
        let (whole, path) = (ballot(&files), Path::from(X7));
        let order = whole.in_order(&path);
        let order: Vec<String> = order.iter().flatten().map(ToString::to_string).collect();
        assert_eq!(order.len(), files.len());
        for removed in 0..=order.len() {
            let is_left = |(file, _): &&(String, u64)| !order[..removed].contains(file);
            let left: Vec<_> = files.iter().filter(is_left).cloned().collect();
            let standing = ballot(&left).standing(&path, SECOND);
            let same = standing == whole.standing(&path, SECOND) || standing == Standing::Absent;
            assert!(same, "{standing:?} after {removed}");
        }
    }

    #[rstest]
    #[case("genesis.caaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", Some(("genesis", Role::Candidate(A))))]
    #[case(
        "x-0000000000000007.granted.d0fbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
        Some(("x-0000000000000007.granted", Role::Agreed(15, B)))
    )]
    #[case("leasehold.json.w00aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", Some((MARKER, Role::Wanted(0, A))))]
    #[case("genesis.x00aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", Some(("genesis", Role::Disputed(0, A))))]
    #[case("genesis.eaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", Some(("genesis", Role::Elected(A))))]
    #[case("x-0000000000000007.kil.caaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", None)]
    #[case("x-0000000000000007.cAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", None)]
    #[case("x-0000000000000007.w+faaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", None)]
    #[case("x-0000000000000007.wé", None)]
    #[case("x-0000000000000007.c", None)]
    #[case("x-0000000000000007.granted", None)]
    #[case("readme.txt", None)]
    fn files_of_an_election_are_told_by_their_names(
        #[case] file: &str,
        #[case] expected: Option<(&str, Role)>,
    ) {
        assert_eq!(role(file), expected);
    }
}
