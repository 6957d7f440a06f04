//! Places on real servers: each test has a prefix of its own in one bucket of one server.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex};

use futures::{StreamExt, TryStreamExt, stream};
use lease_core::{Jitter, Name};
use lease_objstore::{ObjStore, Options, connect};
use object_store::client::HttpClient;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use testbed::azure::Azure;
use testbed::gcs::Gcs;
use testbed::s3::S3;

use crate::by_hand::Files;
use crate::gcs::Translated;

/// Where all tests have their prefixes.
pub(crate) const BUCKET: &str = "leases";

/// A kind of server.
pub(crate) trait Server: Send + Sync + 'static {
    /// What opens `prefix` in `bucket` there, through `address` if that is another one.
    fn options(bucket: &str, prefix: &str, through: Option<SocketAddr>) -> Options;

    /// Where it listens.
    fn address() -> SocketAddr;

    /// What every request needs on its way there.
    fn layer(client: HttpClient) -> HttpClient {
        client
    }
}

/// One server for all tests of this program: it takes seconds to start.
static SEAWEED: LazyLock<S3> = LazyLock::new(|| {
    let s3 = S3::shared().unwrap();
    s3.create_bucket(BUCKET).unwrap();
    s3
});

static AZURITE: LazyLock<Azure> = LazyLock::new(|| {
    let azure = Azure::shared().unwrap();
    azure.create_container(BUCKET).unwrap();
    azure
});

static FAKE_GCS: LazyLock<Gcs> = LazyLock::new(|| {
    let gcs = Gcs::shared().unwrap();
    gcs.create_bucket(BUCKET).unwrap();
    gcs
});

/// SeaweedFS, by the protocol of S3.
pub(crate) struct Seaweed;

/// Azurite.
pub(crate) struct Azurite;

/// fake-gcs-server, with a translation for what it lacks.
pub(crate) struct FakeGcs;

/// The server, or a proxy before it that the test spoils. Where nothing is spoilt a busy machine is
/// given the time that it needs.
fn endpoint(url: &str, through: Option<SocketAddr>, account: &str) -> String {
    match through {
        Some(address) => format!("endpoint=http://{address}{account}"),
        None => format!("endpoint={url}{account}&timeout_ms=5000"),
    }
}

/// The address in the URL of a server.
pub(crate) fn listening(url: &str) -> SocketAddr {
    url.strip_prefix("http://").unwrap().parse().unwrap()
}

impl Server for Seaweed {
    fn options(bucket: &str, prefix: &str, through: Option<SocketAddr>) -> Options {
        s3(&SEAWEED, bucket, prefix, through)
    }

    fn address() -> SocketAddr {
        listening(SEAWEED.url())
    }
}

/// What opens `prefix` in `bucket` of this server.
pub(crate) fn s3(s3: &S3, bucket: &str, prefix: &str, through: Option<SocketAddr>) -> Options {
    let endpoint = endpoint(s3.url(), through, "");
    let url = format!("s3://{bucket}/{prefix}?region={}&{endpoint}", s3.region());
    Options::parse(&url).unwrap().credentials(s3.key_id(), s3.secret()).unwrap()
}

impl Server for Azurite {
    fn options(bucket: &str, prefix: &str, through: Option<SocketAddr>) -> Options {
        let account = AZURITE.account();
        let endpoint = endpoint(AZURITE.url(), through, &format!("/{account}"));
        let url = format!("az://{bucket}/{prefix}?{endpoint}");
        Options::parse(&url).unwrap().credentials(account, AZURITE.key()).unwrap()
    }

    fn address() -> SocketAddr {
        listening(AZURITE.url())
    }
}

impl Server for FakeGcs {
    fn options(bucket: &str, prefix: &str, through: Option<SocketAddr>) -> Options {
        let endpoint = endpoint(FAKE_GCS.url(), through, "");
        let url = format!("gs://{bucket}/{prefix}?anonymous=true&{endpoint}");
        Options::parse(&url).unwrap().through(Self::layer)
    }

    fn layer(client: HttpClient) -> HttpClient {
        HttpClient::new(Translated { inner: client, host: Self::address() })
    }

    fn address() -> SocketAddr {
        listening(FAKE_GCS.url())
    }
}

/// A lease store of its own on a running server.
pub(crate) struct Place {
    pub(crate) options: Options,
    prefix: Path,
    /// A way there that no lease uses.
    store: Mutex<Option<Arc<dyn ObjectStore>>>,
}

impl Place {
    pub(crate) fn on<S: Server>() -> Self {
        let prefix = Jitter::system().nonce().to_string();
        let options = S::options(BUCKET, &prefix, None);
        Self { options, prefix: Path::from(prefix), store: Mutex::default() }
    }

    pub(crate) async fn connect(&self) -> ObjStore {
        connect(self.options.clone()).await.unwrap()
    }

    async fn store(&self) -> Arc<dyn ObjectStore> {
        let known = self.store.lock().unwrap().clone();
        if let Some(store) = known {
            return store;
        }
        let store = self.options.object_store().await.unwrap();
        Arc::clone(self.store.lock().unwrap().insert(store))
    }

    /// All that is there, by path.
    pub(crate) async fn all(&self) -> Vec<String> {
        let listed = self.store().await.list(Some(&self.prefix)).try_collect::<Vec<_>>().await;
        listed.unwrap().into_iter().map(|meta| meta.location.to_string()).collect()
    }

    fn folder(&self, name: &Name) -> Path {
        self.prefix.clone().join(name.portable())
    }

    pub(crate) async fn files(&self, name: &Name) -> Files {
        let (store, folder) = (self.store().await, self.folder(name));
        let metas: Vec<_> = store.list(Some(&folder)).try_collect().await.unwrap();
        let mut files = Files::new();
        for meta in metas {
            let file = meta.location.filename().unwrap().to_owned();
            if let Ok(got) = store.get(&meta.location).await {
                files.insert(file, got.bytes().await.unwrap().to_vec());
            }
        }
        files
    }

    pub(crate) async fn write(&self, name: &Name, file: &str, body: Vec<u8>) {
        let path = self.folder(name).join(file);
        self.store().await.put(&path, body.into()).await.unwrap();
    }

    /// Writes many files: their names and what is in them.
    pub(crate) async fn fill(
        &self,
        name: &Name,
        many: usize,
        file: impl Fn(usize) -> (String, String) + Send + Sync,
    ) {
        let store = self.store().await;
        let put = |i| {
            let (file, body) = file(i);
            let (store, path) = (Arc::clone(&store), self.folder(name).join(file));
            async move { store.put(&path, body.into()).await.map(drop) }
        };
        stream::iter((0..many).map(put)).buffered(16).try_collect::<()>().await.unwrap();
    }

    /// Where it is in its bucket.
    pub(crate) fn prefix(&self) -> String {
        self.prefix.to_string()
    }

    pub(crate) async fn erase(&self, name: &Name) {
        let (store, folder) = (self.store().await, self.folder(name));
        let metas: Vec<_> = store.list(Some(&folder)).try_collect().await.unwrap();
        for meta in metas {
            store.delete(&meta.location).await.unwrap();
        }
    }
}
