//! Moments on the store's clock.

use std::time::{Duration, SystemTime};

use object_store::ObjectMeta;

/// A moment on the store's clock, as the last-modified of its files tells: the time since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StoreTime(Duration);

impl StoreTime {
    #[cfg(test)]
    pub(crate) const fn since_1970(time: Duration) -> Self {
        Self(time)
    }

    pub(crate) fn of(meta: &ObjectMeta) -> Self {
        Self::from_system(meta.last_modified.into())
    }

    /// A moment before 1970 counts as 1970: it is no moment of a clock that was ever set.
    pub(crate) fn from_system(time: SystemTime) -> Self {
        Self(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
    }

    pub(crate) const fn of_micros(micros: u64) -> Self {
        Self(Duration::from_micros(micros))
    }

    /// As the store would show it, if it is a moment that it could show.
    pub(crate) fn to_system(self) -> SystemTime {
        SystemTime::UNIX_EPOCH.checked_add(self.0).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// The time from `earlier` to this moment; zero if `earlier` is later.
    pub(crate) const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    pub(crate) const fn plus(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }

    pub(crate) const fn is_whole_second(self) -> bool {
        self.0.subsec_nanos() == 0
    }

    /// Microseconds since 1970: where the epochs of a fresh name start.
    pub(crate) fn micros(self) -> u64 {
        u64::try_from(self.0.as_micros()).unwrap_or(u64::MAX)
    }
}
