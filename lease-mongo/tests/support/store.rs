//! The fixture of the suite: a database of its own on a server that the tests share.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lease_conformance::Damage;
use lease_core::{Backend, Name, Nonce};
use lease_mongo::Options;
use mongodb::bson::{Bson, Document, doc};
use mongodb::{Client, Collection};
use testbed::FaultProxy;

/// A store of one test.
pub(crate) struct Store {
    /// The URL of who may write.
    pub(crate) url: String,
    /// The URL of who may only read, where the server tells them apart.
    pub(crate) reader: Option<String>,
    /// The database of this test.
    pub(crate) database: String,
    shell: Client,
}

impl Store {
    /// An empty database at this URL.
    pub(crate) async fn new(url: String, reader: Option<String>, database: String) -> Self {
        let shell = url.replace("&timeoutMS=10000", "");
        let shell = Client::with_uri_str(shell).await.expect("a client");
        Self { url, reader, database, shell }
    }

    /// The leases, as a person with a shell sees them.
    pub(crate) fn leases(&self) -> Collection<Document> {
        self.shell.database(&self.database).collection(Options::COLLECTION)
    }

    /// A client.
    pub(crate) async fn client(&self) -> Arc<dyn Backend> {
        let options = Options::parse(&self.url).expect("a URL");
        Arc::new(lease_mongo::connect(options).await.expect("the server is there"))
    }

    /// A client that was cut off after it had connected to `server`.
    pub(crate) async fn cut_off(&self, server: std::net::SocketAddr) -> Arc<dyn Backend> {
        let proxy = FaultProxy::start(server).await.expect("a proxy");
        let (start, rest) = self.url.split_once("://").expect("a URL");
        let (authority, rest) = rest.split_once('/').expect("a database");
        let login = authority.rsplit_once('@').map(|(login, _)| format!("{login}@"));
        let (database, query) = rest.split_once('?').unwrap_or((rest, ""));
        let kept = query.split('&').filter(|one| !one.starts_with("replicaSet="));
        let query = kept.map(|one| format!("&{one}")).collect::<String>();
        let url = format!(
            "{start}://{}{}/{database}?directConnection=true{query}",
            login.unwrap_or_default(),
            proxy.address(),
        );
        let options = Options::parse(&url).expect("a URL");
        let options = options.timeout(Duration::from_millis(500)).expect("long enough");
        let backend = lease_mongo::connect(options).await.expect("the server is there");
        proxy.black_hole();
        drop(proxy);
        Arc::new(backend)
    }

    async fn document(&self, name: &Name) -> Option<Document> {
        let filter = doc! { "_id": name.as_str() };
        self.leases().find_one(filter).await.expect("the server answers")
    }
}

/// What all fixtures here do alike.
#[async_trait]
pub(crate) trait AsFixture {
    async fn erase(&self, name: &Name);
    async fn damage(&self, name: &Name, nonce: Nonce, damage: Damage);
    async fn records(&self, name: &Name) -> usize;
}

#[async_trait]
impl AsFixture for Store {
    async fn erase(&self, name: &Name) {
        let filter = doc! { "_id": name.as_str() };
        self.leases().delete_one(filter).await.expect("the server answers");
    }

    async fn damage(&self, name: &Name, nonce: Nonce, damage: Damage) {
        let document = self.document(name).await.expect("it is there");
        let own = format!("w.{nonce}");
        let (path, record) = match document.get_document("x") {
            Ok(x) if x.get_str("nonce") == Ok(&nonce.to_string()) => ("x", x.clone()),
            _ => {
                let writers = document.get_document("w").expect("writers");
                (own.as_str(), writers.get_document(nonce.to_string()).expect("it").clone())
            }
        };
        let change = match damage {
            Damage::Empty => doc! { path: {} },
            Damage::Truncated => {
                let half = record.len() / 2;
                doc! { path: record.into_iter().take(half).collect::<Document>() }
            }
            Damage::NewerVersion => doc! { format!("{path}.v"): 99 },
            Damage::UnknownField => doc! { format!("{path}.colour"): "blue" },
        };
        let leases = self.leases();
        let changed = leases.update_one(doc! { "_id": name.as_str() }, doc! { "$set": change });
        assert_eq!(changed.await.expect("the server answers").modified_count, 1);
    }

    async fn records(&self, name: &Name) -> usize {
        let Some(document) = self.document(name).await else { return 0 };
        let exclusive = !matches!(document.get("x"), None | Some(Bson::Null));
        document.get_document("w").map_or(0, Document::len) + usize::from(exclusive)
    }
}

/// Makes the fixture of a suite from how its store is started, and where a client is cut off.
#[macro_export]
macro_rules! fixture {
    ($fixture:ident, $start:expr, $address:expr) => {
        struct $fixture(support::store::Store);

        #[async_trait::async_trait]
        impl lease_conformance::Fixture for $fixture {
            async fn start() -> Self {
                Self($start.await)
            }
            async fn connect(&self) -> std::sync::Arc<dyn lease_core::Backend> {
                self.0.client().await
            }
            async fn unreachable(&self) -> std::sync::Arc<dyn lease_core::Backend> {
                self.0.cut_off($address).await
            }
            async fn read_only(&self) -> Option<std::sync::Arc<dyn lease_core::Backend>> {
                let reader = self.0.reader.as_ref()?;
                let options = lease_mongo::Options::parse(reader).expect("a URL").read_only();
                Some(std::sync::Arc::new(lease_mongo::connect(options).await.expect("it may read")))
            }
            async fn erase(&self, name: &lease_core::Name) {
                support::store::AsFixture::erase(&self.0, name).await;
            }
            async fn damage(
                &self,
                name: &lease_core::Name,
                nonce: lease_core::Nonce,
                damage: lease_conformance::Damage,
            ) {
                support::store::AsFixture::damage(&self.0, name, nonce, damage).await;
            }
            async fn records(&self, name: &lease_core::Name) -> usize {
                support::store::AsFixture::records(&self.0, name).await
            }
        }
    };
}
