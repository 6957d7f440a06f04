//! Where the leases are and how they are kept.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lease_core::Clock;
use lease_core::clock::SystemClock;
use object_store::ObjectStore;

/// Where the leases are and how they are kept. [`connect`](crate::connect) opens it.
///
/// ```
/// use lease_objstore::Options;
///
/// let options = Options::local("/mnt/shared/leases").durable(false);
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) place: Place,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) read_only: bool,
    pub(crate) durable: bool,
    pub(crate) resolution: Duration,
    pub(crate) min_ttl: Duration,
}

/// Where the leases are.
#[derive(Clone)]
pub(crate) enum Place {
    Local(PathBuf),
    Store(Arc<dyn ObjectStore>),
}

impl Options {
    /// The step of a file's last-modified on a local disk: one tick of the slowest kernels.
    const LOCAL_RESOLUTION: Duration = Duration::from_millis(10);

    /// Twenty ticks: below that a busy machine's scheduler decides who holds.
    const LOCAL_MIN_TTL: Duration = Duration::from_millis(200);

    /// A folder on a local disk, or one that all users of the leases have mounted.
    ///
    /// The folder is created if only its last part is missing.
    #[must_use]
    pub fn local(folder: impl Into<PathBuf>) -> Self {
        Self {
            place: Place::Local(folder.into()),
            clock: Arc::new(SystemClock),
            read_only: false,
            durable: true,
            resolution: Self::LOCAL_RESOLUTION,
            min_ttl: Self::LOCAL_MIN_TTL,
        }
    }

    /// A new object store in this process's memory, gone with the client and its clones.
    #[must_use]
    pub fn memory() -> Self {
        let store = Arc::new(object_store::memory::InMemory::new());
        Self::store(store).resolution(Duration::from_millis(1), Duration::from_millis(10))
    }

    /// An object store that was opened elsewhere, such as a wrapper that a test counts requests
    /// with.
    ///
    /// It must honour create-if-absent, show in a listing what was written before it was asked for,
    /// and give the time of a file's last write in steps of at most
    /// [`resolution`](Self::resolution), which is one second here unless it is set.
    #[must_use]
    pub fn store(store: Arc<dyn ObjectStore>) -> Self {
        let second = Duration::from_secs(1);
        let place = Place::Store(store);
        Self { place, ..Self::local("") }.resolution(second, second * 5)
    }

    /// Counts the time on this clock instead of the machine's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Opens it to look only: nothing is written, and read rights are enough.
    #[must_use]
    pub const fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Sets whether a granted epoch survives a power loss of the store. On by default.
    ///
    /// Without it, a machine that loses power right after a grant may give the same epoch out
    /// again, and a resource that is fenced by epochs then takes the old holder's writes for the
    /// new one's. It concerns local folders; an object store keeps what it acknowledged.
    #[must_use]
    pub const fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// Sets the step of the store's clock, and the shortest ttl that it may judge.
    #[must_use]
    pub const fn resolution(mut self, step: Duration, min_ttl: Duration) -> Self {
        self.resolution = step;
        self.min_ttl = min_ttl;
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place: &dyn fmt::Debug = match &self.place {
            Place::Local(path) => path,
            Place::Store(store) => store,
        };
        f.debug_struct("Options")
            .field("place", place)
            .field("read_only", &self.read_only)
            .field("durable", &self.durable)
            .field("resolution", &self.resolution)
            .field("min_ttl", &self.min_ttl)
            .finish_non_exhaustive()
    }
}
