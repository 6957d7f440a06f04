//! The revisions of this store, as text.

use lease_core::Revision;
use serde::{Deserialize, Serialize};

use crate::listing::Seen;

/// The state of a lease name that a holder stands on: which `genesis` it was.
///
/// An erased name gets another one, so a holder whose heartbeat brought its file back after an
/// erasure finds that it holds nothing.
#[derive(Clone, Debug, Eq, Serialize, Deserialize)]
pub(crate) struct Genesis {
    /// Which write of the file. That alone tells one from another, since a nonce is in it: some stores
    /// show the time of a file in milliseconds in one answer and in seconds in another.
    pub(crate) stamp: String,
    /// Its last-modified on the store's clock, in microseconds since 1970.
    pub(crate) micros: u64,
}

impl PartialEq for Genesis {
    fn eq(&self, other: &Self) -> bool {
        self.stamp == other.stamp
    }
}

impl Genesis {
    pub(crate) fn of(seen: Seen) -> Self {
        Self { micros: seen.modified.micros(), stamp: seen.stamp }
    }
}

/// One write of one record, and what it stands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct At {
    /// The name's `genesis`.
    pub(crate) genesis: Option<Genesis>,
    /// The number of an exclusive's claim; of an anchor, the highest that was seen.
    pub(crate) n: Option<u64>,
    /// Which write of the record's file.
    pub(crate) stamp: String,
    /// Whether an exclusive's claim is granted by being there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) at_once: bool,
}

impl At {
    pub(crate) fn revision(&self) -> Revision {
        // A struct of texts and numbers always has a JSON form.
        Revision::new(serde_json::to_string(self).unwrap_or_default())
    }

    /// A later write of the same record.
    pub(crate) fn rewritten(&self, stamp: &str) -> Self {
        Self { stamp: stamp.to_owned(), ..self.clone() }
    }

    /// Nothing for the placeholder of a write that was never answered.
    pub(crate) fn of(revision: &Revision) -> Option<Self> {
        serde_json::from_str(revision.as_str()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_written_and_read_alike() {
        let genesis = Some(Genesis { stamp: "1f-5-3".into(), micros: 17 });
        let at = At { genesis, n: Some(18), stamp: "\"|,\"".into(), at_once: false };
        assert!(!at.revision().as_str().contains("at_once"), "as it was written ever since");
        for at in [At { at_once: true, ..at.clone() }, at] {
            assert_eq!(At::of(&at.revision()), Some(at));
        }
        assert_eq!(At::of(&Revision::new("")), None);
    }
}
