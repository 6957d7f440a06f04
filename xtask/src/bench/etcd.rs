//! One etcd on this machine, where it is installed.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// It answers within a second or two.
const STARTS_WITHIN: Duration = Duration::from_secs(30);

/// Ends with this value.
#[derive(Debug)]
pub(super) struct Etcd {
    child: Child,
    pub(super) endpoint: String,
    #[expect(dead_code, reason = "its files go with it")]
    folder: TempDir,
}

impl Etcd {
    /// Nothing if there is no `etcd` on `PATH`.
    pub(super) fn start() -> Option<Self> {
        let folder = tempfile::tempdir().ok()?;
        // Both at once, so that they differ.
        let free = [TcpListener::bind("127.0.0.1:0").ok()?, TcpListener::bind("127.0.0.1:0").ok()?];
        let [client, peer] = free.map(|port| port.local_addr().map(|at| at.to_string()));
        let (client, peer) = (client.ok()?, peer.ok()?);
        let (endpoint, peers) = (format!("http://{client}"), format!("http://{peer}"));
        let mut command = Command::new("etcd");
        command.arg("--data-dir").arg(folder.path());
        for (option, url) in [
            ("--listen-client-urls", &endpoint),
            ("--advertise-client-urls", &endpoint),
            ("--listen-peer-urls", &peers),
            ("--initial-advertise-peer-urls", &peers),
        ] {
            command.args([option, url]);
        }
        command.args(["--initial-cluster", &format!("default={peers}")]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let mut etcd = Self { child, endpoint, folder };
        let start = Instant::now();
        while TcpStream::connect(&client).is_err() {
            let has_ended = etcd.child.try_wait().ok().flatten().is_some();
            if has_ended || start.elapsed() > STARTS_WITHIN {
                return None;
            }
            thread::sleep(Duration::from_millis(50));
        }
        Some(etcd)
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
