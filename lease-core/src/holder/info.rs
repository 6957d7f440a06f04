//! What people and tools are told of a holder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ProcessId;
use crate::Error;
use crate::clock::since_1970_ms;

/// What people and tools are told of a holder. It decides nothing, except that a process which is
/// proven dead need not be waited for ([`ProcessId::liveness`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HolderInfo {
    /// A label for people. Two holders may share it.
    #[serde(default)]
    pub label: String,
    /// The name of the machine, for people.
    #[serde(default)]
    pub host: String,
    /// The process, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessId>,
    /// The holder's own stable name, by which it may take its own lease back after a restart
    /// ([`Policy::readopt`](crate::Policy::readopt)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stable_name: Option<String>,
    /// When it was taken, by the holder's wall clock, in milliseconds since 1970. For display.
    #[serde(default)]
    pub since_ms: u64,
    /// Anything else, as the holder gave it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl HolderInfo {
    /// The most bytes that a holder's texts may have together: a record stays small.
    pub const MAX_BYTES: usize = 16 * 1024;

    /// The same, taken now by this machine's wall clock, and by this process: one that was forked
    /// since must not be judged by the life of its parent.
    pub(crate) fn since_now(&self) -> Self {
        let mut info = Self { since_ms: since_1970_ms(), ..self.clone() };
        info.process.take_if(|process| process.pid != std::process::id());
        info
    }

    /// Whether the holder is on this machine, by its name: machines that were restored from one
    /// image may share even the id of their boot.
    pub(crate) fn is_of_this_host(&self) -> bool {
        self.host == host()
    }

    /// Starts from what this process knows of itself: host, boot, pid and start time.
    #[must_use]
    pub fn of_this_process() -> HolderInfoBuilder {
        let host = host();
        let process = ProcessId::of_this_process();
        let label = format!("{host}:{}", std::process::id());
        HolderInfoBuilder(Self { label, host, process, ..Self::default() })
    }
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Builds a [`HolderInfo`].
#[derive(Clone, Debug)]
pub struct HolderInfoBuilder(HolderInfo);

impl HolderInfoBuilder {
    /// Sets the label that people see in `status` and in refusals.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.0.label = label.into();
        self
    }

    /// Sets the stable name by which this holder may take its own lease back after a restart.
    #[must_use]
    pub fn stable_name(mut self, name: impl Into<String>) -> Self {
        self.0.stable_name = Some(name.into());
        self
    }

    /// Leaves the process out: for a holder whose work may outlive its process, such as one that has
    /// started another. Nobody then takes over early because the process is proven dead.
    #[must_use]
    pub fn without_process(mut self) -> Self {
        self.0.process = None;
        self
    }

    /// Adds one piece of metadata; the last value of a key counts.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.metadata.insert(key.into(), value.into());
        self
    }

    /// The information, if it is small enough for a record.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] if the texts are longer than [`HolderInfo::MAX_BYTES`] together:
    /// shorten them.
    pub fn build(self) -> Result<HolderInfo, Error> {
        let info = self.0;
        let metadata: usize = info.metadata.iter().map(|(k, v)| k.len() + v.len()).sum();
        let bytes = info.label.len()
            + info.host.len()
            + info.stable_name.as_ref().map_or(0, String::len)
            + metadata;
        if bytes > HolderInfo::MAX_BYTES {
            return Err(Error::misconfigured(
                format!("the holder's label and metadata are too long, bytes=`{bytes}`"),
                "shorten them to 16384 bytes together",
            ));
        }
        Ok(info)
    }
}
