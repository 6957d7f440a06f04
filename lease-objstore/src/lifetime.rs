//! How long an end mark has to be kept, as it tells itself.
//!
//! It turns late requests of its claim's owner away, and none of those is younger than a few of that
//! owner's ttls. A mark outlives its claim's file, so it says the ttl itself; one that does not is kept
//! for very long, in everybody's listings.

use std::time::Duration;

use bytes::Bytes;
use lease_core::BreakNote;
use serde::{Deserialize, Serialize};

use crate::body::{encode, whole_ms};

/// What a mark says that has nothing else to say.
pub(crate) fn of(ttl: Duration) -> lease_core::Result<Bytes> {
    encode(&Told { ttl_ms: whole_ms(ttl) })
}

/// What the mark of a claim says that was broken.
pub(crate) fn of_broken(ttl: Duration, note: &BreakNote) -> lease_core::Result<Bytes> {
    #[derive(Serialize)]
    struct Broken<'a> {
        #[serde(flatten)]
        note: &'a BreakNote,
        ttl_ms: u64,
    }
    encode(&Broken { note, ttl_ms: whole_ms(ttl) })
}

/// The ttl that a mark tells, if it tells one.
pub(crate) fn told(mark: &[u8]) -> Option<Duration> {
    let told: Told = serde_json::from_slice(mark).ok()?;
    Some(Duration::from_millis(told.ttl_ms)).filter(|ttl| !ttl.is_zero())
}

#[derive(Serialize, Deserialize)]
struct Told {
    ttl_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_tells_its_ttl_or_nothing() {
        let ttl = Duration::from_millis(1500);
        assert_eq!(told(&of(ttl).unwrap()), Some(ttl));
        let note = BreakNote::new("op", "it hangs");
        let mark = of_broken(ttl, &note).unwrap();
        assert_eq!(told(&mark), Some(ttl));
        assert_eq!(serde_json::from_slice::<BreakNote>(&mark).unwrap(), note);
        assert_eq!(told(br#"{"v":1,"why":"it expired","ttl_ms":700}"#), Some(ttl * 7 / 15));
        // Of one that could not be read nobody knows the ttl.
        for untold in [&b""[..], b"{}", br#"{"by":"op","why":""}"#, br#"{"ttl_ms":0}"#, b"\xff"] {
            assert_eq!(told(untold), None);
        }
    }
}
