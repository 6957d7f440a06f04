//! The identity of one attempt to acquire.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};

/// The identity of one attempt to acquire: 128 random bits, fresh for each and never reused
/// (rule R7).
///
/// A store tells holders apart by this alone. Made by [`Jitter::nonce`](crate::Jitter::nonce).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Nonce([u8; 16]);

impl Nonce {
    /// A nonce by its bits, as a store kept them.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bits.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Its digits, into `place`: a record names several nonces, and is written with each step.
    fn spell<'p>(&self, place: &'p mut [u8; 32]) -> &'p str {
        // Two digits for each byte: there is room, and they are ASCII.
        let _ = hex::encode_to_slice(self.0, place);
        std::str::from_utf8(place).unwrap_or_default()
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spell(&mut [0; 32]))
    }
}

impl Serialize for Nonce {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.spell(&mut [0; 32]))
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not 32 lower-case hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a nonce is 32 lower-case hex digits")]
pub struct NotANonce;

impl FromStr for Nonce {
    type Err = NotANonce;

    fn from_str(text: &str) -> Result<Self, NotANonce> {
        let mut bytes = [0; 16];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| NotANonce)?;
        let nonce = Self(bytes);
        // One nonce has one spelling: it is part of file names.
        if nonce.spell(&mut [0; 32]) == text { Ok(nonce) } else { Err(NotANonce) }
    }
}

impl TryFrom<String> for Nonce {
    type Error = NotANonce;

    fn try_from(text: String) -> Result<Self, NotANonce> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_has_one_spelling() {
        let nonce = Nonce::from_bytes([0xab; 16]);
        assert_eq!(nonce.to_string().parse(), Ok(nonce));
        assert_eq!("AB".repeat(16).parse::<Nonce>(), Err(NotANonce));
        assert_eq!("ab".parse::<Nonce>(), Err(NotANonce));
    }
}
