//! Where the leases are and how the server is reached.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lease_core::clock::SystemClock;
use lease_core::{Clock, Error, Result};
use mongodb::options::{ClientOptions, ConnectionString};

use crate::connect::no_database;
use crate::error::translate;
use crate::url::{shown, split};

/// A last word on the driver's options.
type Adjust = Arc<dyn Fn(&mut ClientOptions) + Send + Sync>;

/// Where the leases are and how the server is reached. [`connect`](crate::connect) opens it.
///
/// ```
/// use lease_mongo::Options;
///
/// let options = Options::parse("mongodb://db1,db2,db3/jobs?replicaSet=rs0&collection=leases")?;
/// # Ok::<(), lease_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) url: String,
    pub(crate) collection: String,
    pub(crate) timeout: Duration,
    pub(crate) clock_skew: Duration,
    pub(crate) allow_mongos: bool,
    pub(crate) read_only: bool,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) adjust: Option<Adjust>,
}

impl Options {
    /// The collection where none is named.
    pub const COLLECTION: &'static str = "leases";

    /// How long one request may take, where nothing else is said.
    ///
    /// A replica set of which one member hangs acknowledges writes every two seconds: a shorter
    /// timeout turns a slow system into a failing one.
    pub const TIMEOUT: Duration = Duration::from_secs(4);

    /// Parses a URL: `mongodb://…/database?collection=…` or `mongodb+srv://…`.
    ///
    /// All that the driver knows may be in it, except that concerns and preferences are never
    /// inherited: leases are written by majority, journaled, on the primary. Our own parameters:
    ///
    /// | parameter | | default |
    /// |---|---|---|
    /// | `collection` | where the leases are kept, alone | `leases` |
    /// | `timeoutMS` | [`timeout`](Self::timeout) | 4000 |
    /// | `clockSkewMS` | [`clock_skew`](Self::clock_skew) | 0 |
    /// | `allowMongos` | [`allow_mongos`](Self::allow_mongos) | false |
    /// | `readOnly` | [`read_only`](Self::read_only) | false |
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] if the scheme or one of our parameters is not valid, with what to
    /// write. The driver looks at the rest in [`connect`](crate::connect).
    pub fn parse(url: &str) -> Result<Self> {
        let (url, ours) = split(url)?;
        let collection = ours.collection.unwrap_or_else(|| Self::COLLECTION.to_owned());
        if !is_collection(&collection) {
            return Err(Error::misconfigured(
                format!("this cannot be the name of a collection, collection=`{collection}`"),
                "use letters, digits, dots and underscores, as in ?collection=leases",
            ));
        }
        let options = Self {
            url,
            collection,
            timeout: Self::TIMEOUT,
            clock_skew: ours.clock_skew.unwrap_or_default(),
            allow_mongos: ours.allow_mongos,
            read_only: ours.read_only,
            clock: Arc::new(SystemClock),
            adjust: None,
        };
        options.timeout(ours.timeout.unwrap_or(Self::TIMEOUT))
    }

    /// Whether the driver understands the rest of the URL, and it names a database; nobody is asked.
    /// [`connect`](crate::connect) finds the same, after [`driver`](Self::driver) has had its word.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] with what to write instead.
    pub fn check(&self) -> Result<()> {
        let said = ConnectionString::parse(&self.url).map_err(translate)?;
        said.default_database.map(drop).ok_or_else(no_database)
    }

    /// Sets how long one request may take, the wait for a primary and for the majority included.
    /// [`TIMEOUT`](Self::TIMEOUT) by default.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] below 100 ms and above an hour: use seconds.
    pub fn timeout(mut self, timeout: Duration) -> Result<Self> {
        if !(Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&timeout) {
            return Err(Error::misconfigured(
                format!("the timeout of a request is out of range, timeout=`{timeout:?}`"),
                "use seconds: a fraction of the ttl, and 4 s where the ttl allows it",
            ));
        }
        self.timeout = timeout;
        Ok(self)
    }

    /// Sets by how much the clocks of the members may differ; nothing by default.
    ///
    /// Beliefs end that much earlier, so that a member whose clock is ahead by no more than this
    /// can become primary without ending a lease that its holder still believes in.
    #[must_use]
    pub const fn clock_skew(mut self, skew: Duration) -> Self {
        self.clock_skew = skew;
        self
    }

    /// Allows a router of a sharded cluster. Refused by default: what it calls "now" is its own
    /// clock, so that with several routers leases are judged by several clocks.
    #[must_use]
    pub const fn allow_mongos(mut self) -> Self {
        self.allow_mongos = true;
        self
    }

    /// Opens it to look only: nothing is written or made, and the role `read` is enough.
    #[must_use]
    pub const fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Counts the time on this clock instead of the machine's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Has a last word on the driver's options, as for certificates or event handlers.
    ///
    /// Concerns, preferences and retries are set by each request and stay as they are.
    #[must_use]
    pub fn driver(mut self, adjust: impl Fn(&mut ClientOptions) + Send + Sync + 'static) -> Self {
        self.adjust = Some(Arc::new(adjust));
        self
    }
}

/// The server's own rules, less the system collections.
fn is_collection(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 200
        && !name.contains(['$', '\0'])
        && !name.starts_with("system.")
        && !name.starts_with('.')
        && !name.ends_with('.')
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("url", &shown(&self.url))
            .field("collection", &self.collection)
            .field("timeout", &self.timeout)
            .field("clock_skew", &self.clock_skew)
            .field("allow_mongos", &self.allow_mongos)
            .field("read_only", &self.read_only)
            .finish_non_exhaustive()
    }
}
