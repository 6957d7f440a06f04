//! A server that asks who is there: one member alone, with users.

use std::net::TcpListener;
use std::process::Command;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use lease_core::Clock;
use lease_core::clock::SystemClock;
use mongodb::Client;
use mongodb::bson::{Document, doc};
use testbed::{Helper, Program};

/// A mongod with users, and its files.
pub(crate) struct Locked {
    address: String,
    /// A lock, for a helper is one thread's, and a static is everybody's.
    _process: Mutex<Helper>,
    _folder: tempfile::TempDir,
}

/// The one that the tests of this binary share.
pub(crate) static LOCKED: LazyLock<Locked> = LazyLock::new(Locked::start);

/// The password of every user.
const PASSWORD: &str = "pass%word";

impl Locked {
    /// The URL of this user for this database.
    pub(crate) fn url(&self, user: &str, database: &str) -> String {
        let address = &self.address;
        let password = PASSWORD.replace('%', "%25");
        format!("mongodb://{user}:{password}@{address}/{database}?authSource=admin&timeoutMS=10000")
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> std::net::SocketAddr {
        self.address.parse().expect("an address")
    }

    /// The URL of nobody.
    pub(crate) fn anonymous(&self, database: &str) -> String {
        format!("mongodb://{}/{database}", self.address)
    }

    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mongod = Program::ALL.iter().find(|program| program.name() == "mongod");
        let mongod = mongod.expect("the testbed knows it").locate().expect("mongod");
        let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let address = port.expect("a port").to_string();
        let mut command = Command::new(mongod);
        command
            .arg("--dbpath")
            .arg(folder.path())
            .args(["--port", address.rsplit(':').next().unwrap_or_default()])
            .args(["--bind_ip", "127.0.0.1", "--nounixsocket", "--auth", "--quiet"])
            .args(["--wiredTigerCacheSizeGB", "0.25"])
            .args(["--setParameter", "enableTestCommands=1"]);
        let process = Helper::spawn(command).expect("mongod starts");
        let locked = Self { address, _process: Mutex::new(process), _folder: folder };
        // A thread, for this may be called within a runtime, which must not be blocked in.
        let url = locked.anonymous("admin");
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(invite(&url));
        })
        .join()
        .expect("the users are made");
        locked
    }
}

/// Makes the users: the first one by the exception for a server without any.
async fn invite(url: &str) {
    let client = Client::with_uri_str(url).await.expect("a client");
    let admin = client.database("admin");
    while admin.run_command(doc! { "ping": 1 }).await.is_err() {
        SystemClock.sleep_until(SystemClock.now().plus(Duration::from_millis(100))).await;
    }
    let user = |name: &str, roles: Vec<Document>| {
        doc! { "createUser": name, "pwd": PASSWORD, "roles": roles }
    };
    let root = user("root", vec![doc! { "role": "root", "db": "admin" }]);
    admin.run_command(root).await.expect("the first user");
    let address = url.trim_start_matches("mongodb://");
    let url = format!("mongodb://root:{}@{address}", PASSWORD.replace('%', "%25"));
    let client = Client::with_uri_str(url).await.expect("a client");
    let admin = client.database("admin");
    for (name, role) in [("reader", "readAnyDatabase"), ("writer", "readWriteAnyDatabase")] {
        let made = user(name, vec![doc! { "role": role, "db": "admin" }]);
        admin.run_command(made).await.expect("a user");
    }
    admin.run_command(user("stranger", Vec::new())).await.expect("a user");
}
