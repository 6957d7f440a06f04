//! Names of leases: parsed once, by rules that every store can keep.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Error;

/// The name of what is leased, such as `nightly-backup` or `stores/7/repo`.
///
/// Any text is a name that is not empty, has at most [`Name::MAX_BYTES`] bytes and no control
/// characters; every backend accepts exactly these. Names are compared byte by byte: `A` and `a`
/// are two names, and so are two Unicode spellings of one word. Cloning is cheap.
///
/// ```
/// use lease_core::Name;
///
/// let name = Name::parse("stores/7/repo").unwrap();
/// assert_eq!(name.as_str(), "stores/7/repo");
/// assert!(Name::parse("").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(Arc<str>);

impl Name {
    /// The longest name, in bytes of UTF-8.
    pub const MAX_BYTES: usize = 1024;

    /// Bytes of a [portable](Self::portable) form up to which it can be read back.
    const PORTABLE_MAX: usize = 180;

    /// Parses a name.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] with what to change, before anything is asked of a store.
    pub fn parse(text: impl AsRef<str>) -> Result<Self, Error> {
        let text = text.as_ref();
        if text.is_empty() {
            return Err(Error::misconfigured(
                "a lease name is empty",
                "give the lease a name of 1 to 1024 bytes",
            ));
        }
        if text.len() > Self::MAX_BYTES {
            return Err(Error::misconfigured(
                format!("a lease name is too long, bytes=`{}`", text.len()),
                "shorten it to at most 1024 bytes, for instance by its hash",
            ));
        }
        if let Some((at, c)) = text.char_indices().find(|(_, c)| is_unprintable(*c)) {
            return Err(Error::misconfigured(
                format!("a lease name has a control character, char=`{c:?}` at_byte=`{at}`"),
                "remove it: names are one line of printable text",
            ));
        }
        Ok(Self(text.into()))
    }

    /// The name as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name in letters that every store keeps apart: `a-z`, `0-9`, `-`, `_` and `.`.
    ///
    /// Injective, also on stores that fold case or normalise Unicode: every other byte is written
    /// as `_` and two hex digits. A long name keeps its start and ends in `.` and its SHA-256, so
    /// the result has at most 180 bytes; [`Name::from_portable`] then cannot read it back.
    ///
    /// ```
    /// # use lease_core::Name;
    /// assert_eq!(Name::parse("a/B").unwrap().portable(), "a_2f_42");
    /// ```
    #[must_use]
    pub fn portable(&self) -> String {
        let mut out = String::with_capacity(self.0.len());
        for byte in self.0.bytes() {
            match byte {
                b'a'..=b'z' | b'0'..=b'9' | b'-' => out.push(char::from(byte)),
                _ => {
                    out.push('_');
                    out.push_str(&hex::encode([byte]));
                }
            }
        }
        if out.len() > Self::PORTABLE_MAX {
            let hash = hex::encode(Sha256::digest(self.0.as_bytes()));
            out.truncate(Self::PORTABLE_MAX - hash.len() - 1);
            out.push('.');
            out.push_str(&hash);
        }
        out
    }

    /// Reads a [portable](Self::portable) form back, or nothing if it is not one or was cut.
    #[must_use]
    pub fn from_portable(text: &str) -> Option<Self> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            match byte {
                b'a'..=b'z' | b'0'..=b'9' | b'-' => bytes.push(byte),
                b'_' => {
                    let pair = [rest.next()?, rest.next()?];
                    bytes.extend(hex::decode(pair).ok()?);
                }
                _ => return None,
            }
        }
        let name = Self::parse(String::from_utf8(bytes).ok()?).ok()?;
        // Only the one spelling that `portable` writes counts, so that no two texts are one name.
        (name.portable() == text).then_some(name)
    }
}

/// Control characters, and the two separators that break a line though Unicode calls them spaces.
fn is_unprintable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl FromStr for Name {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Name {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        Self::parse(text)
    }
}

impl TryFrom<&str> for Name {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0.as_ref().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::empty("")]
    #[case::nul("a\0b")]
    #[case::newline("a\nb")]
    #[case::delete("a\u{7f}")]
    #[case::line_separator("a\u{2028}b")]
    #[case::one_too_long(&"k".repeat(1025))]
    #[case::ten_kilobytes(&"k".repeat(10_000))]
    fn what_no_store_could_keep_is_refused_with_a_remedy(#[case] text: &str) {
        let error = Name::parse(text).unwrap_err();
        assert!(matches!(error, Error::Misconfigured { .. }), "{error}");
    }

    #[rstest]
    fn every_other_name_survives_the_portable_form(
        #[values(
            "a/b", "a_b", "a.b", "a..b", ".", "..", "../x", "*", ">", "a b", "a:b", "$x", "A", "a",
            "\u{e9}", "e\u{301}", "имя", "名前", "🦀", "con", "_2f", " "
        )]
        text: &str,
    ) {
        let name = Name::parse(text).unwrap();
        let portable = name.portable();
        assert!(portable.bytes().all(|b| b"abcdefghijklmnopqrstuvwxyz0123456789-_".contains(&b)));
        assert_eq!(Name::from_portable(&portable), Some(name));
    }

    #[test]
    fn long_names_that_differ_at_the_end_stay_apart() {
        let one = Name::parse("k".repeat(1000)).unwrap().portable();
        let other = Name::parse(format!("{}j", "k".repeat(999))).unwrap().portable();
        assert_ne!(one, other);
        assert!(one.len() <= 180);
        assert_eq!(Name::from_portable(&one), None);
    }

    #[rstest]
    fn foreign_spellings_are_no_names(#[values("A", "_6", "_61", "_2F", "a.b", "")] text: &str) {
        assert_eq!(Name::from_portable(text), None);
    }
}
