//! How requests get to a bucket: timeouts within the shortest ttl, and one TLS stack.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use object_store::client::{ClientOptions, HttpClient, HttpConnector};
use reqwest::Client;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt;

use super::thread::Thread;
use crate::bucket::Bucket;

/// What may look at requests, and change them, on their way to a store.
pub(crate) type Watch = Arc<dyn Fn(HttpClient) -> HttpClient + Send + Sync>;

/// Makes the connections of one bucket's driver.
pub(crate) struct Connector {
    connect_timeout: Duration,
    timeout: Duration,
    watch: Option<Watch>,
}

impl Connector {
    /// How long a connection is kept that nobody uses. Some servers close theirs after five seconds,
    /// and a request that meets that is an outage, since none is sent twice.
    const IDLE: Duration = Duration::from_secs(3);

    pub(crate) fn new(bucket: &Bucket, watch: Option<Watch>) -> Self {
        Self { connect_timeout: bucket.connect_timeout(), timeout: bucket.timeout, watch }
    }

    /// The driver's own options stand for its defaults of minutes: they are left aside.
    fn client(&self) -> Result<Client, Box<dyn std::error::Error + Send + Sync>> {
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_platform_verifier()?
            .with_no_client_auth();
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .http1_only()
            .connect_timeout(self.connect_timeout)
            .timeout(self.timeout)
            .pool_idle_timeout(Self::IDLE);
        Ok(client.build()?)
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let generic = |source| object_store::Error::Generic { store: "connector", source };
        let client = HttpClient::new(self.client().map_err(generic)?);
        let thread = Thread::start(client).map_err(|error| generic(error.into()))?;
        let client = HttpClient::new(thread);
        Ok(match &self.watch {
            Some(watch) => watch(client),
            None => client,
        })
    }
}
