//! One listing of a lease name, parsed. Nothing here asks the store.

use std::collections::BTreeMap;

use lease_core::{Epoch, Nonce};

use crate::body::{OPEN, VOID};
use crate::key::{ClaimId, Key, Part};
use crate::revision::{At, Genesis};
use crate::time::StoreTime;

/// One file as the store showed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Which write of it.
    pub(crate) stamp: String,
    pub(crate) modified: StoreTime,
    pub(crate) size: u64,
    /// Whether the store itself told which write it was.
    pub(crate) tagged: bool,
}

/// The files of one claim.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    pub(crate) record: Option<Seen>,
    pub(crate) mark: Option<Mark>,
    pub(crate) killed: Option<Seen>,
    pub(crate) released: bool,
    pub(crate) broken: bool,
    /// The beats that it was adopted from.
    pub(crate) adopted: Vec<u64>,
    /// All that is there of it, for the clean-up.
    pub(crate) parts: Vec<Part>,
    /// The last-modified of the newest.
    pub(crate) newest: StoreTime,
}

/// The fate of an exclusive's claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Granted,
    Void,
}

impl Mark {
    /// By size, so that a listing tells. A mark that is neither, after a crash of the disk, counts
    /// as granted: an epoch too many is harmless, one that comes twice is not.
    pub(crate) const fn of_size(size: u64) -> Self {
        if size == VOID.len() as u64 { Self::Void } else { Self::Granted }
    }
}

/// All files of one lease name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub(crate) genesis: Option<Seen>,
    pub(crate) exclusives: BTreeMap<u64, Files>,
    pub(crate) writers: BTreeMap<Nonce, Files>,
    pub(crate) probes: Vec<(Nonce, StoreTime)>,
    /// Names of files that are nobody's.
    pub(crate) strays: Vec<String>,
}

impl Listing {
    pub(crate) fn of(files: Vec<(String, Seen)>) -> Self {
        let mut listing = Self::default();
        for (file, seen) in files {
            match Key::parse(&file) {
                Some(Key::Genesis) => listing.genesis = Some(seen),
                Some(Key::Broken) => {}
                Some(Key::Exclusive(n, part)) => {
                    listing.exclusives.entry(n).or_default().add(part, seen);
                }
                Some(Key::Writer(nonce, part)) => {
                    listing.writers.entry(nonce).or_default().add(part, seen);
                }
                Some(Key::Probe(nonce)) => listing.probes.push((nonce, seen.modified)),
                None => listing.strays.push(file),
            }
        }
        listing
    }

    /// The name's `genesis` as a holder remembers it.
    pub(crate) fn genesis(&self) -> Option<Genesis> {
        self.genesis.clone().map(Genesis::of)
    }

    pub(crate) fn files(&self, id: ClaimId) -> Option<&Files> {
        match id {
            ClaimId::Exclusive(n) => self.exclusives.get(&n),
            ClaimId::Writer(nonce) => self.writers.get(&nonce),
        }
    }

    /// Whether there is anything of a holder's here.
    pub(crate) fn has_claims(&self) -> bool {
        !self.exclusives.is_empty() || !self.writers.is_empty()
    }

    /// The number of the highest claim that was granted.
    pub(crate) fn granted(&self) -> Option<u64> {
        let mut down = self.exclusives.iter().rev();
        down.find(|(_, files)| files.mark == Some(Mark::Granted)).map(|(n, _)| *n)
    }

    /// Whether no writer holds, and none may be granted yet: the highest claim was granted.
    pub(crate) fn is_closed(&self) -> bool {
        let highest = self.exclusives.values().next_back();
        highest.is_some_and(|files| files.mark == Some(Mark::Granted))
    }

    /// Whether a claim with this number stands right above one that was granted. Only there may its
    /// creation have granted it (rule F12): the state may have been erased since it was asked for.
    pub(crate) fn follows_a_grant(&self, n: u64) -> bool {
        let before = n.checked_sub(1).and_then(|before| self.exclusives.get(&before));
        before.is_some_and(|files| files.mark == Some(Mark::Granted))
    }

    /// Whether an exclusive's claim is granted: by its mark, or, if its file says so and it has none,
    /// by being there. Below another it is not: that was made when this one was not there yet.
    pub(crate) fn is_granted(&self, n: u64, at_once: bool) -> bool {
        let by_itself = || at_once && self.follows_a_grant(n) && !self.is_passed(n);
        let mark = self.exclusives.get(&n).and_then(|files| files.mark);
        mark.map_or_else(by_itself, |mark| mark == Mark::Granted)
    }

    /// Whether there is anything of a higher claim: then this one never holds again.
    pub(crate) fn is_passed(&self, n: u64) -> bool {
        self.exclusives.keys().next_back().is_some_and(|highest| *highest > n)
    }

    /// The number above which the next claim goes: the highest of any file, and never below where
    /// the name's epochs start.
    pub(crate) fn highest(&self) -> u64 {
        let floor = self.genesis.as_ref().map_or(0, |seen| seen.modified.micros());
        self.exclusives.keys().next_back().copied().unwrap_or(0).max(floor)
    }

    /// The epoch that writers carry: the highest that was granted, or where the name started.
    pub(crate) fn epoch(&self) -> Epoch {
        let floor = self.genesis.as_ref().map_or(0, |seen| seen.modified.micros());
        Epoch::new(self.granted().unwrap_or(0).max(floor)).unwrap_or(Epoch::MAX)
    }

    /// The exclusive claims that may be in the way, the highest first: all that are not ended for
    /// sure. Those below the highest granted one are over whatever their files say: it was made
    /// when all before it had ended, and no holder of a lower one passes its next check.
    pub(crate) fn in_the_way(&self) -> impl Iterator<Item = (u64, &Files, &Seen)> {
        let from = self.granted().unwrap_or(0);
        let counted = self.exclusives.range(from..).rev();
        counted.filter_map(|(n, files)| Some((*n, files, files.unended()?)))
    }

    /// The writers' claims that may be in the way.
    pub(crate) fn live_writers(&self) -> impl Iterator<Item = (Nonce, &Files, &Seen)> {
        self.writers.iter().filter_map(|(nonce, files)| Some((*nonce, files, files.unended()?)))
    }

    /// How this listing is told in a revision.
    pub(crate) fn at(&self, n: Option<u64>, stamp: &str) -> At {
        At { genesis: self.genesis(), n, stamp: stamp.to_owned(), at_once: false }
    }
}

impl Files {
    fn add(&mut self, part: Part, seen: Seen) {
        self.newest = self.newest.max(seen.modified);
        self.parts.push(part);
        match part {
            Part::Record => {
                // What carries a mark that says granted is another one, cut off to this size.
                let opens = seen.size == OPEN.len() as u64;
                if opens && *self.mark.get_or_insert(Mark::Void) == Mark::Void {
                    self.released = true;
                }
                self.record = Some(seen);
            }
            Part::Mark => self.mark = Some(Mark::of_size(seen.size)),
            Part::Killed => self.killed = Some(seen),
            Part::Released => self.released = true,
            Part::Finished => {
                self.released = true;
                // The only mark of a claim that was granted by being there.
                self.mark.get_or_insert(Mark::Granted);
            }
            Part::Broken => self.broken = true,
            Part::Adopted(beat) => self.adopted.push(beat),
        }
    }

    /// The claim's own file, unless the listing alone shows that it has ended. A killed one has
    /// not: only its ttl tells.
    pub(crate) fn unended(&self) -> Option<&Seen> {
        self.record.as_ref().filter(|_| !self.released && !self.broken)
    }

    /// Whether anybody but its owner has put an end to it, or has begun to.
    pub(crate) const fn is_condemned(&self) -> bool {
        self.killed.is_some() || self.broken
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;

    use super::*;
    use crate::body::GRANTED;

    /// A listing of these files; marks by their fate, all else of one byte.
    fn listing(files: &[&str]) -> Listing {
        Listing::of(
            files
                .iter()
                .map(|file| {
                    let (file, size) = match file.split_once('=') {
                        Some((file, "granted")) => (file, GRANTED.len()),
                        Some((file, "void")) => (file, VOID.len()),
                        Some((file, "open")) => (file, OPEN.len()),
                        Some((file, _)) => (file, 0),
                        None => (*file, 1),
                    };
                    let modified = StoreTime::since_1970(Duration::from_micros(5));
                    let (stamp, size) = ("1".to_owned(), size as u64);
                    (file.to_owned(), Seen { stamp, modified, size, tagged: true })
                })
                .collect(),
        )
    }

    const X6: &str = "x-0000000000000006";
    const X7: &str = "x-0000000000000007";
    const X8: &str = "x-0000000000000008";

    #[rstest]
    #[case::nothing(&[], &[], 0, 0)]
    #[case::a_fresh_name(&["genesis"], &[], 5, 5)]
    #[case::draining(&["genesis", X7], &[7], 7, 5)]
    #[case::granted(&["genesis", X7, "x-0000000000000007.granted=granted"], &[7], 7, 7)]
    #[case::void(&["genesis", X7, "x-0000000000000007.granted=void"], &[7], 7, 5)]
    // A mark that a crash of the disk emptied: better an epoch too many.
    #[case::emptied(&["genesis", X7, "x-0000000000000007.granted=empty"], &[7], 7, 7)]
    #[case::released(&["genesis", X7, "x-0000000000000007.rel"], &[], 7, 5)]
    #[case::broken(&["genesis", X7, "x-0000000000000007.brk"], &[], 7, 5)]
    // Over or not: its ttl tells.
    #[case::killed(&["genesis", X7, "x-0000000000000007.kil"], &[7], 7, 5)]
    #[case::released_as_granted(&["genesis", X7, "x-0000000000000007.fin"], &[], 7, 7)]
    #[case::its_mark_says_more(
        &["genesis", X7, "x-0000000000000007.fin", "x-0000000000000007.granted=void"],
        &[], 7, 5
    )]
    #[case::and_is_listed_first(
        &["genesis", X7, "x-0000000000000007.granted=void", "x-0000000000000007.fin"],
        &[], 7, 5
    )]
    #[case::open_to_writers(&["genesis", "x-0000000000000007=open"], &[], 7, 5)]
    #[case::the_highest_first(&["genesis", X6, X8, X7, "x-0000000000000007.rel"], &[8, 6], 8, 5)]
    #[case::below_the_highest_granted(
        &["genesis", X6, X7, "x-0000000000000007.granted=granted", "x-0000000000000007.rel"],
        &[], 7, 7
    )]
    #[case::only_end_marks_are_left(&["genesis", "x-0000000000000008.rel"], &[], 8, 5)]
    #[case::strays(&["genesis", "x-8", ".nfs01"], &[], 5, 5)]
    fn what_counts_is_read_from_the_names(
        #[case] files: &[&str],
        #[case] in_the_way: &[u64],
        #[case] highest: u64,
        #[case] epoch: u64,
    ) {
        let listing = listing(files);
        assert_eq!(listing.in_the_way().map(|(n, ..)| n).collect::<Vec<_>>(), in_the_way);
        assert_eq!(listing.highest(), highest);
        assert_eq!(listing.epoch().get(), epoch);
    }
}
