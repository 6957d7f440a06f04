//! What stands in a claim's file.

use std::time::Duration;

use bytes::Bytes;
use lease_core::{Claim, Error, HolderInfo, Mode, Name, Nonce, Result, Unreadable};
use serde::{Deserialize, Serialize};

use crate::error::KIND;
use crate::revision::At;

/// The format that this version writes. It reads this one and leaves newer ones alone.
pub(crate) const VERSION: u64 = 1;

/// The size of a mark that says granted: a listing tells it from [`VOID`] without reading it.
pub(crate) const GRANTED: &[u8] = b"granted\n";

/// What a mark says whose claim was never granted and never will be.
pub(crate) const VOID: &[u8] = b"void\n";

/// What stands in the file of a claim that ended when it was made: it makes the highest claim one that
/// was not granted. A listing tells it by its size.
pub(crate) const OPEN: &[u8] = b"open to writers\n";

/// What stands in a claim's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Body {
    v: u64,
    pub(crate) name: Name,
    pub(crate) nonce: Nonce,
    pub(crate) mode: Mode,
    ttl_ms: u64,
    #[serde(default)]
    pub(crate) beat: u64,
    /// Whether an exclusive's claim is granted by being there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) at_once: bool,
    #[serde(default)]
    pub(crate) info: HolderInfo,
}

impl Body {
    pub(crate) fn of(claim: &Claim) -> Self {
        Self {
            v: VERSION,
            name: claim.name.clone(),
            nonce: claim.nonce,
            mode: claim.mode,
            ttl_ms: whole_ms(claim.ttl),
            beat: 0,
            at_once: false,
            info: claim.info.as_ref().clone(),
        }
    }

    /// The same holder's next write.
    pub(crate) fn renewed(mine: &lease_core::Holding, info: HolderInfo) -> Self {
        Self {
            v: VERSION,
            name: mine.name.clone(),
            nonce: mine.nonce,
            mode: mine.mode,
            ttl_ms: whole_ms(mine.ttl),
            beat: mine.beat,
            at_once: At::of(&mine.revision).is_some_and(|at| at.at_once),
            info,
        }
    }

    pub(crate) const fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl_ms)
    }

    pub(crate) fn encode(&self) -> Result<Bytes> {
        encode(self)
    }
}

/// Reads a claim's file.
pub(crate) fn decode(bytes: &[u8]) -> Result<Body, Unreadable> {
    #[derive(Deserialize)]
    struct Version {
        v: u64,
    }
    if bytes.is_empty() {
        return Err(Unreadable::Corrupt("the file is empty".into()));
    }
    let corrupt = |error: serde_json::Error| Unreadable::Corrupt(error.to_string());
    match serde_json::from_slice::<Version>(bytes).map_err(corrupt)?.v {
        VERSION => serde_json::from_slice(bytes).map_err(corrupt),
        0 => Err(Unreadable::Corrupt("its format is 0".into())),
        newer => Err(Unreadable::NewerVersion(newer)),
    }
}

pub(crate) fn encode(what: &impl Serialize) -> Result<Bytes> {
    serde_json::to_vec(what).map(Bytes::from).map_err(|error| Error::unreached(KIND, error))
}

/// Rounded up: whoever judges the record must not do so earlier than its holder stops to believe.
pub(crate) fn whole_ms(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// What the first version wrote, byte by byte: every later one must read it.
    const GOLDEN: &str = r#"{"v":1,"name":"stores/7/repo","nonce":"abababababababababababababababab","mode":"exclusive","ttl_ms":15000,"beat":3,"info":{"label":"ann","host":"h1","since_ms":1790000000000}}"#;

    #[test]
    fn a_body_is_written_and_read_alike() {
        let body = decode(GOLDEN.as_bytes()).unwrap();
        assert_eq!(body.name.as_str(), "stores/7/repo");
        assert_eq!((body.ttl(), body.beat), (Duration::from_secs(15), 3));
        assert_eq!(body.encode().unwrap(), GOLDEN);
    }

    #[test]
    fn unknown_fields_and_missing_optional_ones_do_no_harm() {
        let more = GOLDEN.replace("\"beat\":3", "\"beat\":3,\"colour\":{\"a\":[1]}");
        assert_eq!(decode(more.as_bytes()), decode(GOLDEN.as_bytes()));
        let least = r#"{"v":1,"name":"a","nonce":"abababababababababababababababab","mode":"writer","ttl_ms":1}"#;
        assert_eq!(decode(least.as_bytes()).unwrap().info, HolderInfo::default());
    }

    #[rstest]
    #[case::empty("")]
    #[case::cut_off(&GOLDEN[..90])]
    #[case::zeroes("\0\0\0\0")]
    #[case::no_version("{}")]
    #[case::version_zero(r#"{"v":0}"#)]
    #[case::no_nonce(r#"{"v":1,"name":"a","mode":"writer","ttl_ms":1}"#)]
    fn what_is_no_record_is_corrupt(#[case] text: &str) {
        assert!(matches!(decode(text.as_bytes()), Err(Unreadable::Corrupt(_))));
    }

    #[test]
    fn a_newer_format_is_known_by_its_number_alone() {
        let newer = r#"{"v":99,"holders":"elsewhere"}"#;
        assert_eq!(decode(newer.as_bytes()), Err(Unreadable::NewerVersion(99)));
    }

    #[test]
    fn a_ttl_is_never_rounded_down() {
        assert_eq!(whole_ms(Duration::from_micros(1500)), 2);
        assert_eq!(whole_ms(Duration::from_millis(300)), 300);
    }
}
