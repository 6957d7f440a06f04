//! Members of a replica set, of which some see another time.

use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use lease_core::Clock;
use lease_core::clock::{SystemClock, within};
use mongodb::bson::{Document, doc};
use testbed::{Helper, Program, Shim};

use crate::support::shell;

/// One mongod, and its files.
pub(crate) struct Member {
    address: String,
    process: Helper,
    _folder: tempfile::TempDir,
}

impl Member {
    /// Starts one that sees the true time, or one that is so many seconds ahead.
    pub(crate) fn start(ahead: Option<(&Shim, i64)>) -> Self {
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
            .args(["--bind_ip", "127.0.0.1", "--nounixsocket", "--quiet", "--replSet", "rs0"])
            .args(["--wiredTigerCacheSizeGB", "0.25"]);
        if let Some((shim, seconds)) = ahead {
            shim.shift(&mut command, seconds);
        }
        let process = Helper::spawn(command).expect("mongod starts");
        Self { address, process, _folder: folder }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn kill(&self) {
        self.process.kill().expect("it dies");
    }
}

/// Makes a set of them in which the first is primary while it lives, and the last is next; the URL of
/// this database there.
pub(crate) async fn initiate(members: [&str; 3], database: &str) -> String {
    let priorities = [10, 0, 1];
    let listed = members.iter().zip(priorities).zip(0..);
    let listed = listed.map(|((member, priority), id)| {
        doc! { "_id": id, "host": *member, "priority": priority }
    });
    let config = doc! { "_id": "rs0", "members": listed.collect::<Vec<Document>>(),
    "settings": { "electionTimeoutMillis": 2000 } };
    let first = shell(&format!("mongodb://{}/?directConnection=true", members[0])).await;
    let admin = first.database("admin");
    let ready = async {
        for member in members {
            let url = format!("mongodb://{}/?directConnection=true", member);
            let admin = shell(&url).await.database("admin");
            while admin.run_command(doc! { "ping": 1 }).await.is_err() {
                pass(Duration::from_millis(100)).await;
            }
        }
        admin.run_command(doc! { "replSetInitiate": config }).await.expect("a replica set");
        while !is_settled(&admin).await {
            pass(Duration::from_millis(200)).await;
        }
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    within(&clock, Duration::from_secs(120), ready).await.expect("the members find each other");
    format!("mongodb://{}/{database}?replicaSet=rs0", members.join(","))
}

/// Whether the first is primary and all others follow it.
async fn is_settled(admin: &mongodb::Database) -> bool {
    let Ok(status) = admin.run_command(doc! { "replSetGetStatus": 1 }).await else { return false };
    let Ok(members) = status.get_array("members") else { return false };
    let states: Vec<i32> =
        members.iter().filter_map(|member| member.as_document()?.get_i32("state").ok()).collect();
    states == [1, 2, 2]
}

async fn pass(time: Duration) {
    SystemClock.sleep_until(SystemClock.now().plus(time)).await;
}
