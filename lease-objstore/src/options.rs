//! Where the leases are and how they are kept.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lease_core::clock::SystemClock;
use lease_core::{Clock, Error, Result};
use object_store::ObjectStore;
use object_store::path::Path;

use crate::bucket::Bucket;

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
    pub(crate) probe: Probe,
    pub(crate) without_create: WithoutCreate,
    pub(crate) prefix: Path,
    #[cfg(feature = "cloud")]
    pub(crate) watch: Option<crate::cloud::Watch>,
}

/// Where the leases are.
#[derive(Clone)]
pub(crate) enum Place {
    Local(PathBuf),
    Store(Arc<dyn ObjectStore>),
    Bucket(Box<Bucket>),
}

/// How much is tried out when a store is opened to hold leases there.
///
/// The numbers are requests; those of one line are sent together where they can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Probe {
    /// Writes, reads, lists and deletes a file (6 requests), and where nobody held leases before,
    /// races creates against each other (up to 30 more). What came of the races is kept at the
    /// store, for all.
    #[default]
    Once,
    /// Races every time, also where it was done before: for stores whose settings change under
    /// way, such as a bucket that became a versioned one.
    EveryTime,
    /// Nothing is tried out: what is wrong shows when the first lease is asked for. Only the marker
    /// is read, and written where there is none (5 requests at the most). The store must honour
    /// create-if-absent then.
    Skip,
}

/// What is done about a store of which the probe finds that several may create one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WithoutCreate {
    /// Files are created by election: candidates under names of their own, of which the one that the
    /// store wrote first wins. All who open it do so from then on. An exclusive takes two steps of
    /// the store's clock longer, the first one on a name five more, and the shortest ttl is fifteen.
    #[default]
    Elect,
    /// It is not opened.
    Refuse,
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
            probe: Probe::default(),
            without_create: WithoutCreate::default(),
            prefix: Path::default(),
            #[cfg(feature = "cloud")]
            watch: None,
        }
    }

    /// A bucket of a cloud, as its URL says it:
    ///
    /// | URL | store | options | feature |
    /// |---|---|---|---|
    /// | `s3://bucket/prefix`, `s3a:` | Amazon S3 and what speaks its protocol | `region`, `virtual_hosted`, `anonymous` | `aws` |
    /// | `gs://bucket/prefix` | Google Cloud Storage | `anonymous` | `gcp` |
    /// | `az://container/prefix`, `azure:`, `abfs:`, `abfss:` | Azure Blob Storage | `account` | `azure` |
    ///
    /// All of them take `endpoint`, the address of a server of one's own, and `timeout_ms`, how long
    /// one request may take: 1500 unless it is said. `without_create=refuse` is
    /// [`WithoutCreate::Refuse`]. Several lease stores share a bucket by their
    /// prefixes. Credentials are never in the URL: they are read from the environment, or come from
    /// the machine's role, as `object_store` does it.
    ///
    /// ```
    /// # use lease_objstore::Options;
    /// let options = Options::parse("s3://backups/leases?region=eu-central-1")?;
    /// # Ok::<_, lease_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] with what to write instead.
    pub fn parse(url: &str) -> Result<Self> {
        let bucket = Box::new(Bucket::parse(url)?);
        let second = Duration::from_secs(1);
        let (prefix, without_create) = (bucket.prefix.clone(), bucket.without_create);
        let place = Place::Bucket(bucket);
        Ok(Self { place, prefix, without_create, ..Self::local("") }.resolution(second, second * 5))
    }

    /// An identity and its secret for a bucket, in place of the environment's: an access key for S3,
    /// an account and its key for Azure. They are shown nowhere.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] where the place is no bucket, or one of Google's, whose credentials
    /// are files: leave them out.
    pub fn credentials(
        mut self,
        identity: impl Into<String>,
        secret: impl Into<String>,
    ) -> Result<Self> {
        match &mut self.place {
            Place::Bucket(bucket) if bucket.cloud != crate::bucket::Cloud::Gcp => {
                bucket.credentials = Some((identity.into(), secret.into()));
                Ok(self)
            }
            _ => Err(Error::misconfigured(
                "this store takes no identity with a secret",
                "leave the credentials out",
            )),
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
    /// It must send no write twice by itself, show in a listing what was written before it was asked for,
    /// and give the time of a file's last write in steps of at most
    /// [`resolution`](Self::resolution), which is one second here unless it is set.
    #[must_use]
    pub fn store(store: Arc<dyn ObjectStore>) -> Self {
        let second = Duration::from_secs(1);
        let place = Place::Store(store);
        Self { place, ..Self::local("") }.resolution(second, second * 5)
    }

    /// Keeps the leases under this prefix of the store, so that several lease stores, and other
    /// things, can share it. At its root where nothing is said.
    #[must_use]
    pub fn prefix(mut self, prefix: impl AsRef<str>) -> Self {
        self.prefix = Path::from(prefix.as_ref());
        self
    }

    /// Sets how much is tried out when the store is opened. [`Probe::Once`] unless it is said.
    #[must_use]
    pub const fn probe(mut self, probe: Probe) -> Self {
        self.probe = probe;
        self
    }

    /// Sets what is done about a store without an exact create-if-absent. [`WithoutCreate::Elect`]
    /// unless it is said.
    #[must_use]
    pub const fn without_create(mut self, then: WithoutCreate) -> Self {
        self.without_create = then;
        self
    }

    /// Lets all requests to a bucket pass through a layer: to count or to trace them.
    #[cfg(feature = "cloud")]
    #[must_use]
    pub fn through(
        mut self,
        layer: impl Fn(object_store::client::HttpClient) -> object_store::client::HttpClient
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.watch = Some(Arc::new(layer));
        self
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

    /// Sets the step of the store's clock, and the shortest ttl that it may judge. By default 10 ms
    /// and 200 ms for a folder, and 1 s and 5 s for a bucket. A step that is said to be finer than
    /// it is makes living holders look expired.
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
            Place::Bucket(bucket) => bucket,
        };
        f.debug_struct("Options")
            .field("place", place)
            .field("prefix", &self.prefix.as_ref())
            .field("probe", &self.probe)
            .field("without_create", &self.without_create)
            .field("read_only", &self.read_only)
            .field("durable", &self.durable)
            .field("resolution", &self.resolution)
            .field("min_ttl", &self.min_ttl)
            .finish_non_exhaustive()
    }
}
