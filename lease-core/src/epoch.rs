//! Numbers that only rise: the epoch of a name, and the fencing token of a grant.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Mode};

/// How often a name has been granted exclusively, as a number that only rises.
///
/// It rises with every *granted* exclusive, never falls and never repeats: not after release,
/// expiry, break, garbage collection, restart, or the loss of the store's state. Writers carry
/// the epoch that they joined under, so all writers between two exclusives share it (rule R20).
///
/// The gaps between epochs mean nothing: a fresh name starts at the store's clock in
/// microseconds, so that a store that lost its state does not start at one again.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "u64", into = "u64")]
pub struct Epoch(u64);

impl Epoch {
    /// The largest epoch: a token must still fit beside it, and JSON readers keep 53 bits.
    pub const MAX: Self = Self((1 << 52) - 1);

    /// An epoch by its number, or nothing if it is above [`Epoch::MAX`].
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        if number <= Self::MAX.0 { Some(Self(number)) } else { None }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The next epoch, or nothing when they have run out.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        Self::new(self.0 + 1)
    }
}

impl From<Epoch> for u64 {
    fn from(epoch: Epoch) -> Self {
        epoch.0
    }
}

impl TryFrom<u64> for Epoch {
    type Error = Error;

    fn try_from(number: u64) -> Result<Self, Error> {
        Self::new(number).ok_or_else(|| {
            Error::misconfigured(
                format!("an epoch is too large, epoch=`{number}`"),
                "look at what wrote it: epochs have 52 bits",
            )
        })
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Orders grants at the resource that a lease protects: a lower one is late.
///
/// `exclusive(e) < writer(e) < exclusive(e + 1)` (rule R21): the writers that join after an
/// exclusive carry its epoch, and its late writes must not pass after theirs. Two writers of one
/// epoch have the same token, since both may write.
///
/// ```
/// use lease_core::{Epoch, Mode, Token};
///
/// let (seven, eight) = (Epoch::new(7).unwrap(), Epoch::new(8).unwrap());
/// assert!(Token::new(Mode::Exclusive, seven) < Token::new(Mode::Writer, seven));
/// assert!(Token::new(Mode::Writer, seven) < Token::new(Mode::Exclusive, eight));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(u64);

impl Token {
    /// The token of a grant in this mode and epoch.
    #[must_use]
    pub const fn new(mode: Mode, epoch: Epoch) -> Self {
        match mode {
            Mode::Exclusive => Self(2 * epoch.0),
            Mode::Writer => Self(2 * epoch.0 + 1),
        }
    }

    /// The token as a number, to send along with a write. Fits 53 bits.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// A token by its number, as a resource read it from a request or from its own storage.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_ends_before_its_token_would_overflow() {
        assert_eq!(Epoch::MAX.next(), None);
        assert_eq!(Epoch::new(u64::MAX), None);
        assert!(Token::new(Mode::Writer, Epoch::MAX).get() < 1 << 53);
    }
}
