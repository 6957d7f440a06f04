//! Where the bucket is, how to get there, and how it is made.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{ConnectOptions, ServerAddr};
use lease_core::clock::SystemClock;
use lease_core::{Clock, Error, Result};

mod url;

/// Where the bucket is, how to get there, and how it is made. [`connect`](crate::connect) opens it.
///
/// ```
/// use lease_nats::Options;
///
/// let options = Options::parse("nats://a:4222,b:4222/leases?replicas=3").unwrap();
/// let same = Options::new(["nats://a:4222", "nats://b:4222"], "leases").replicas(3);
/// assert_eq!(format!("{options:?}"), format!("{same:?}"));
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) servers: Vec<String>,
    pub(crate) bucket: String,
    pub(crate) replicas: Option<u8>,
    pub(crate) in_memory: bool,
    pub(crate) create: bool,
    pub(crate) read_only: bool,
    pub(crate) timeout: Duration,
    pub(crate) clock_skew: Duration,
    pub(crate) own_thread: bool,
    pub(crate) clock: Arc<dyn Clock>,
    login: Login,
    tls: Tls,
}

/// Who asks.
#[derive(Clone, PartialEq, Eq)]
enum Login {
    Nobody,
    Token(String),
    User(String, String),
    Credentials(PathBuf),
}

/// How the connection is encrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tls {
    required: bool,
    authorities: Option<PathBuf>,
    identity: Option<(PathBuf, PathBuf)>,
}

impl Options {
    /// The bucket where none is named.
    pub const DEFAULT_BUCKET: &'static str = "leases";

    /// How long a request waits for its answer where nothing else is said. A call to the store is
    /// also bounded by the lease's own timing.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

    /// The most replicas that a server takes.
    const MOST_REPLICAS: u8 = 5;

    /// A bucket on these servers, such as `nats://host:4222`.
    #[must_use]
    pub fn new<S: Into<String>>(
        servers: impl IntoIterator<Item = S>,
        bucket: impl Into<String>,
    ) -> Self {
        Self {
            servers: servers.into_iter().map(Into::into).collect(),
            bucket: bucket.into(),
            replicas: None,
            in_memory: false,
            create: true,
            read_only: false,
            timeout: Self::DEFAULT_TIMEOUT,
            clock_skew: Duration::ZERO,
            own_thread: true,
            clock: Arc::new(SystemClock),
            login: Login::Nobody,
            tls: Tls::default(),
        }
    }

    /// Reads `nats://[user:password@|token@]host[:port][,host[:port]…][/bucket][?…]`; `tls://` in
    /// its place asks for encryption.
    ///
    /// After the `?`: `replicas=3`, `storage=memory`, `create=false`, `read_only=true`, `timeout=2s`,
    /// `clock_skew=500ms`, `credentials=FILE`, `token=TOKEN`, `tls=true`, `ca=FILE`, `cert=FILE`
    /// and `key=FILE`.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] with what to change, before anything is asked of a server.
    pub fn parse(url: impl AsRef<str>) -> Result<Self> {
        url::parse(url.as_ref())
    }

    /// Sets on how many servers the bucket is kept: 1, 3 or 5. One where nothing is said.
    ///
    /// A bucket that is there with fewer is refused.
    #[must_use]
    pub const fn replicas(mut self, replicas: u8) -> Self {
        self.replicas = Some(replicas);
        self
    }

    /// Takes a bucket that is kept in memory, and makes a new one so: for tests, and for what a
    /// fence protects anyway.
    ///
    /// When all its servers restart they have forgotten who holds. Whoever comes next is then granted
    /// beside a holder that learns of it from its next renewal; epochs still rise.
    #[must_use]
    pub const fn in_memory(mut self) -> Self {
        self.in_memory = true;
        self
    }

    /// Sets whether a bucket that is not there is created. It is by default, when connecting and
    /// at no other time.
    #[must_use]
    pub const fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Opens it to look only: nothing is written, and read rights are enough.
    #[must_use]
    pub const fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Sets how long a request waits for its answer; [`DEFAULT_TIMEOUT`](Self::DEFAULT_TIMEOUT)
    /// where nothing is said. Zero is refused by [`connect`](crate::connect).
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets by how much the clocks of the servers may differ; not at all where nothing is said.
    ///
    /// A lease is judged by the clock of whichever server leads the bucket. Beliefs end this much
    /// earlier, so that a new leader whose clock is ahead by no more displaces nobody.
    #[must_use]
    pub const fn clock_skew(mut self, skew: Duration) -> Self {
        self.clock_skew = skew;
        self
    }

    /// Lets the connection live on the runtime that connects, and not on a thread of its own.
    ///
    /// An application that blocks that runtime then also keeps its own renewals from being sent.
    #[must_use]
    pub const fn on_this_runtime(mut self) -> Self {
        self.own_thread = false;
        self
    }

    /// Counts the time on this clock instead of the machine's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Logs in with a token.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.login = Login::Token(token.into());
        self
    }

    /// Logs in with a user and a password.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.login = Login::User(user.into(), password.into());
        self
    }

    /// Logs in with a credentials file, as `nsc` writes it.
    #[must_use]
    pub fn credentials(mut self, file: impl Into<PathBuf>) -> Self {
        self.login = Login::Credentials(file.into());
        self
    }

    /// Asks for an encrypted connection, also where the server does not.
    #[must_use]
    pub const fn tls(mut self) -> Self {
        self.tls.required = true;
        self
    }

    /// Trusts the certificate authorities in this PEM file, beside the system's.
    #[must_use]
    pub fn authorities(mut self, file: impl Into<PathBuf>) -> Self {
        self.tls.authorities = Some(file.into());
        self
    }

    /// Shows this certificate, with this key, to a server that asks for one. Both are PEM files.
    #[must_use]
    pub fn identity(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.tls.identity = Some((certificate.into(), key.into()));
        self
    }

    /// The bucket's name as it may be part of a subject, and replicas that a server takes.
    pub(crate) fn check(&self) -> Result<()> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.bucket.is_empty() || !self.bucket.chars().all(fits) {
            return Err(Error::misconfigured(
                // Not told again: what follows a `/` in a password would stand there.
                "the bucket's name is empty, or has other characters than such a name may have",
                "use letters, digits, `-` and `_`; in a password write / as %2F and ? as %3F",
            ));
        }
        if self.replicas.is_some_and(|n| n == 0 || n > Self::MOST_REPLICAS) {
            return Err(Error::misconfigured(
                format!("no server keeps so many replicas, replicas=`{:?}`", self.replicas),
                "use 1, 3 or 5",
            ));
        }
        if self.servers.is_empty() {
            return Err(Error::misconfigured("no server is named", "give nats://host:4222"));
        }
        if self.timeout.is_zero() {
            return Err(Error::misconfigured("the timeout is zero", "leave it out, or use 2s"));
        }
        Ok(())
    }

    /// The servers' addresses, as the driver wants them.
    pub(crate) fn addresses(&self) -> Result<Vec<ServerAddr>> {
        let parse = |server: &String| {
            server.parse::<ServerAddr>().map_err(|error| Error::Misconfigured {
                problem: format!("this is no address of a server, server=`{server}`").into(),
                fix: "give nats://host:4222".into(),
                source: Some(error.into()),
            })
        };
        self.servers.iter().map(parse).collect()
    }

    /// The driver's options that follow from these.
    pub(crate) async fn driver(&self) -> Result<ConnectOptions> {
        /// A connection that died in silence is noticed after two or three of these.
        const PING: Duration = Duration::from_secs(1);
        /// A server that hangs must not keep the client from trying the next one.
        const CONNECT: Duration = Duration::from_secs(2);
        /// Waits between two tries to connect again, so that an outage of seconds costs no ttl.
        const PAUSE: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];

        let mut driver = ConnectOptions::new()
            .name("leasehold")
            .ping_interval(PING)
            .connection_timeout(self.timeout.min(CONNECT))
            .request_timeout(None)
            .reconnect_delay_callback(|tries| {
                let doubled = 1 << tries.min(8);
                (PAUSE[0] * doubled).min(PAUSE[1])
            });
        driver = match &self.login {
            Login::Nobody => driver,
            Login::Token(token) => driver.token(token.clone()),
            Login::User(user, password) => driver.user_and_password(user.clone(), password.clone()),
            Login::Credentials(file) => {
                driver.credentials_file(file).await.map_err(|error| Error::Misconfigured {
                    problem: format!("the credentials cannot be read, file=`{}`", file.display())
                        .into(),
                    fix: "give the path of a file that `nsc` wrote, readable for this user".into(),
                    source: Some(error.into()),
                })?
            }
        };
        if self.tls.required {
            driver = driver.require_tls(true);
        }
        if let Some(file) = &self.tls.authorities {
            driver = driver.add_root_certificates(file.clone());
        }
        if let Some((certificate, key)) = &self.tls.identity {
            driver = driver.add_client_certificate(certificate.clone(), key.clone());
        }
        Ok(driver)
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let login = match &self.login {
            Login::Nobody => "nobody",
            Login::Token(_) => "a token",
            Login::User(user, _) => user,
            Login::Credentials(_) => "a credentials file",
        };
        f.debug_struct("Options")
            .field("servers", &self.servers)
            .field("bucket", &self.bucket)
            .field("replicas", &self.replicas)
            .field("in_memory", &self.in_memory)
            .field("create", &self.create)
            .field("read_only", &self.read_only)
            .field("timeout", &self.timeout)
            .field("clock_skew", &self.clock_skew)
            .field("own_thread", &self.own_thread)
            .field("login", &login)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}
