//! The names of the files of one lease name.
//!
//! ```text
//! genesis              made once, first: its last-modified is where the name's epochs start
//! x-<16-digit n>       an exclusive's claim, made by create-if-absent, overwritten by its owner
//! x-<n>.granted        its fate, made by create-if-absent: granted or void, told apart by size
//! x-<n>.rel            released by its owner
//! x-<n>.fin            released by its owner, and it had been granted
//! x-<n>.kil            condemned by a waiter: over once that is a ttl later than the last heartbeat
//! x-<n>.brk            broken by an operator, or its process is proven dead: over at once
//! x-<n>.a<beat>        handed to another process, from the write with this beat
//! s-<nonce>            a writer's claim, overwritten and deleted by its owner
//! s-<nonce>.kil, .brk, .rel, .a<beat>
//! p-<nonce>            a look at the store's clock, deleted at once
//! broken               who broke the last record that was broken, and why
//! ```

use std::fmt;

use lease_core::{Epoch, Nonce};

/// One file of a lease name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Genesis,
    Broken,
    Exclusive(u64, Part),
    Writer(Nonce, Part),
    Probe(Nonce),
}

/// One file of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The claim itself.
    Record,
    /// Granted or void.
    Mark,
    Released,
    /// Released after it was granted: an exclusive's only.
    Finished,
    Killed,
    Broken,
    /// Adopted from the write with this beat.
    Adopted(u64),
}

impl Key {
    /// The file of this name, or nothing: a stray of somebody else's.
    pub(crate) fn parse(file: &str) -> Option<Self> {
        let key = match file {
            "genesis" => Self::Genesis,
            "broken" => Self::Broken,
            _ => match (file.get(..2)?, file.get(2..)?) {
                ("p-", nonce) => Self::Probe(nonce.parse().ok()?),
                ("x-", rest) => {
                    let (number, part) = split(rest)?;
                    Self::Exclusive(Epoch::new(number.parse().ok()?)?.get(), part)
                }
                ("s-", rest) => match split(rest)? {
                    (_, Part::Mark | Part::Finished) => return None,
                    (nonce, part) => Self::Writer(nonce.parse().ok()?, part),
                },
                _ => return None,
            },
        };
        // Only the one spelling that is written counts, so that no two files are one key.
        (key.to_string() == file).then_some(key)
    }
}

fn split(text: &str) -> Option<(&str, Part)> {
    let Some((id, part)) = text.split_once('.') else { return Some((text, Part::Record)) };
    let part = match part {
        "granted" => Part::Mark,
        "rel" => Part::Released,
        "fin" => Part::Finished,
        "kil" => Part::Killed,
        "brk" => Part::Broken,
        _ => Part::Adopted(part.strip_prefix('a')?.parse().ok()?),
    };
    Some((id, part))
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Genesis => f.write_str("genesis"),
            Self::Broken => f.write_str("broken"),
            Self::Exclusive(n, part) => write!(f, "x-{n:016}{part}"),
            Self::Writer(nonce, part) => write!(f, "s-{nonce}{part}"),
            Self::Probe(nonce) => write!(f, "p-{nonce}"),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record => Ok(()),
            Self::Mark => f.write_str(".granted"),
            Self::Released => f.write_str(".rel"),
            Self::Finished => f.write_str(".fin"),
            Self::Killed => f.write_str(".kil"),
            Self::Broken => f.write_str(".brk"),
            Self::Adopted(beat) => write!(f, ".a{beat}"),
        }
    }
}

/// One claim, exclusive or writer: the files that share its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClaimId {
    Exclusive(u64),
    Writer(Nonce),
}

impl ClaimId {
    pub(crate) const fn key(self, part: Part) -> Key {
        match self {
            Self::Exclusive(n) => Key::Exclusive(n, part),
            Self::Writer(nonce) => Key::Writer(nonce, part),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const NONCE: Nonce = Nonce::from_bytes([0xab; 16]);

    #[rstest]
    #[case(Key::Genesis, "genesis")]
    #[case(Key::Broken, "broken")]
    #[case(Key::Exclusive(7, Part::Record), "x-0000000000000007")]
    #[case(Key::Exclusive(1_800_000_000_000_000, Part::Mark), "x-1800000000000000.granted")]
    #[case(Key::Exclusive(7, Part::Released), "x-0000000000000007.rel")]
    #[case(Key::Exclusive(7, Part::Finished), "x-0000000000000007.fin")]
    #[case(Key::Exclusive(7, Part::Killed), "x-0000000000000007.kil")]
    #[case(Key::Exclusive(7, Part::Broken), "x-0000000000000007.brk")]
    #[case(Key::Exclusive(7, Part::Adopted(3)), "x-0000000000000007.a3")]
    #[case(Key::Writer(NONCE, Part::Record), "s-abababababababababababababababab")]
    #[case(Key::Writer(NONCE, Part::Killed), "s-abababababababababababababababab.kil")]
    #[case(Key::Probe(NONCE), "p-abababababababababababababababab")]
    fn a_key_is_written_and_read_alike(#[case] key: Key, #[case] file: &str) {
        assert_eq!(key.to_string(), file);
        assert_eq!(Key::parse(file), Some(key));
    }

    #[rstest]
    fn strays_are_no_keys(
        #[values(
            "",
            ".nfs0000000000a1b2c3",
            ".DS_Store",
            "x.sync-conflict",
            "x-1",
            "x-+000000000000007",
            "x-9999999999999999",
            "x-0000000000000007.",
            "x-0000000000000007.old",
            "x-0000000000000007.a03",
            "x-0000000000000007.rel.rel",
            "s-ABABABABABABABABABABABABABABABAB",
            "s-abababababababababababababababab.granted",
            "s-abababababababababababababababab.fin",
            "p-ab",
            "Genesis",
            "é"
        )]
        file: &str,
    ) {
        assert_eq!(Key::parse(file), None);
    }
}
