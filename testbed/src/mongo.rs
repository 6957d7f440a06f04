//! mongod: alone, with users, or as a replica set that has a primary.

mod users;
mod wire;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::error::{Error, OrRemedy, Result};
use crate::folder;
use crate::http;
use crate::port::Port;
use crate::program::Program;
use crate::server::{Probe, Recipe, Server};
use crate::wait::{self, Look};
use wire::{Reply, Value};

pub use users::Users;

/// The name of every replica set that is started here.
const SET: &str = "rs0";
/// A mongod is there after one second, on a machine that is busy after ten.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// An election takes two seconds with the timeout below.
const ELECTS_WITHIN: Duration = Duration::from_secs(60);
/// So that a test of a failover waits two seconds and not the ten that are the default.
const ELECTION_TIMEOUT_MS: i32 = 2_000;
/// By which members that ask for logins know each other.
const KEY: &str = "leasehold";
const SMALL_JOURNAL: &str = "log=(file_max=4MB,prealloc=false)";

/// The members of the replica set that tests share.
const SHARED_MEMBERS: usize = 3;
/// Names it.
const VARIABLE: &str = "LEASE_TEST_MONGO_URL";

/// One mongod that is no member of anything.
///
/// # Errors
///
/// When it cannot be had or started.
pub fn standalone() -> Result<Server> {
    let port = Port::free()?;
    let address = port.address();
    let url = format!("mongodb://{address}/?directConnection=true");
    Server::start(recipe(port, url, &[], Box::new(move || answers(address)))?)
}

/// One that keeps all in memory, so that nothing outlives it.
///
/// # Errors
///
/// When it cannot be had or started.
pub fn forgetful() -> Result<Server> {
    let port = Port::free()?;
    let address = port.address();
    let url = format!("mongodb://{address}/?directConnection=true");
    let engine = ["--storageEngine", "ephemeralForTest"];
    Server::start(recipe(port, url, &engine, Box::new(move || answers(address)))?)
}

/// Some mongods that replicate. The testbed initiates them, so that no driver is needed.
#[derive(Debug)]
pub struct ReplicaSet {
    url: String,
    members: Vec<(SocketAddr, Server)>,
}

impl ReplicaSet {
    /// The one that `LEASE_TEST_MONGO_URL` names by all its members, or a new one of three: for
    /// tests that leave it as it is.
    ///
    /// # Errors
    ///
    /// When mongod cannot be had or started, or the variable does not have this form.
    pub fn shared() -> Result<Self> {
        match Server::named_by(VARIABLE) {
            Some(named) => Self::named(named.url()),
            None => Self::start(SHARED_MEMBERS),
        }
    }

    /// What makes [`shared`](Self::shared) use this one, in another process.
    #[must_use]
    pub fn variable(&self) -> (&'static str, String) {
        (VARIABLE, self.url.clone())
    }

    fn named(url: &str) -> Result<Self> {
        let hosts = http::authority(url).split(',');
        let member = |host: &str| {
            let at = format!("mongodb://{host}/?directConnection=true");
            Ok((http::resolve(host)?, Server::at(at)))
        };
        Ok(Self { url: url.to_owned(), members: hosts.map(member).collect::<Result<_>>()? })
    }

    /// Starts that many members, and waits for a primary with all others as secondaries.
    ///
    /// Every commit of the server is journaled as usual; only elections are made faster.
    ///
    /// # Errors
    ///
    /// When mongod cannot be had or started, or no primary is elected.
    pub fn start(members: usize) -> Result<Self> {
        Self::start_behind(members, Ok)
    }

    /// The same, where clients and the other members reach each one at what `front` makes of its
    /// address, such as a [`FaultProxy`](crate::FaultProxy). The testbed itself looks directly.
    ///
    /// # Errors
    ///
    /// As of [`start`](Self::start), or when `front` fails.
    pub fn start_behind(
        members: usize,
        mut front: impl FnMut(SocketAddr) -> io::Result<SocketAddr>,
    ) -> Result<Self> {
        let mut set = Self { url: String::new(), members: Vec::new() };
        let mut hosts = Vec::new();
        for _ in 0..members {
            let port = Port::free()?;
            let address = port.address();
            let url = format!("mongodb://{address}/?directConnection=true");
            let probe = Box::new(move || answers(address));
            let server = Server::start_unready(recipe(port, url, &["--replSet", SET], probe)?)?;
            set.members.push((address, server));
            let fronted = front(address).or_remedy("a member's front", "see the reason above")?;
            hosts.push(fronted.to_string());
        }
        set.url = format!("mongodb://{}/?replicaSet={SET}", hosts.join(","));
        set.members.iter().try_for_each(|(_, server)| server.wait_until_ready())?;
        set.initiate(&hosts)?;
        set.settled()?;
        Ok(set)
    }

    /// Where a client connects: all members.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The members, in no order that means anything.
    pub fn members(&self) -> impl ExactSizeIterator<Item = &Server> {
        self.members.iter().map(|(_, server)| server)
    }

    /// One member, to pause, kill or restart it.
    pub fn member(&mut self, index: usize) -> Option<&mut Server> {
        self.members.get_mut(index).map(|(_, server)| server)
    }

    /// Which member is the primary now, waiting for an election that goes on.
    ///
    /// # Errors
    ///
    /// When none is elected in time, as without a majority.
    pub fn primary(&self) -> Result<usize> {
        wait::until(ELECTS_WITHIN, || {
            let primary = |(address, _): &(SocketAddr, Server)| is(*address, "isWritablePrimary");
            self.members.iter().position(primary).ok_or(Look::NotYet(()))
        })
        .map_err(|()| Error::new("no primary was elected", "keep a majority of the members alive"))
    }

    /// Waits for a primary with all others as secondaries.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub fn settled(&self) -> Result<()> {
        let primary = self.primary()?;
        let settled = wait::until(ELECTS_WITHIN, || {
            let mut others = self.members.iter().enumerate().filter(|(index, _)| *index != primary);
            let follow = others.all(|(_, (address, _))| is(*address, "secondary"));
            if follow { Ok(()) } else { Err(Look::NotYet(())) }
        });
        settled.map_err(|()| Error::new("a member did not catch up", "see the members' logs"))
    }

    /// Makes all members ask who is there from now on: who shall be let in is made before.
    ///
    /// # Errors
    ///
    /// When they are not ours, or do not get ready again.
    pub fn ask_for_logins(&mut self) -> Result<()> {
        for (_, server) in &mut self.members {
            let key = server.folder()?.join("key");
            let remedy = "see whether the disk is full";
            fs::write(&key, KEY).or_remedy(key.display(), remedy)?;
            // Members trust no secret that others may read.
            let rights = fs::Permissions::from_mode(0o600);
            fs::set_permissions(&key, rights).or_remedy(key.display(), remedy)?;
            server.restart_with(&["--keyFile", &key.to_string_lossy()])?;
        }
        self.settled()
    }

    fn initiate(&self, hosts: &[String]) -> Result<()> {
        let members = hosts.iter().zip(0..).map(|(host, id)| {
            Value::document([("_id", Value::Int(id)), ("host", Value::Text(host.clone()))])
        });
        let settings = [("electionTimeoutMillis", Value::Int(ELECTION_TIMEOUT_MS))];
        let config = Value::document([
            ("_id", Value::Text(SET.to_owned())),
            ("members", Value::array(members)),
            ("settings", Value::document(settings)),
        ]);
        let remedy = "see whether the members reach each other on the loopback interface";
        let (first, _) = self.members.first().ok_or_else(|| Error::new("no members", remedy))?;
        let reply = command(*first, [("replSetInitiate", config)]);
        reply.map(drop).map_err(|reason| Error::new(format!("replSetInitiate: {reason}"), remedy))
    }
}

fn recipe(port: Port, url: String, more: &[&str], probe: Box<Probe>) -> Result<Recipe> {
    let folder = folder::temporary("mongod")?;
    let mut arguments = vec!["--dbpath".into(), folder.path().into()];
    arguments.extend(["--port".into(), port.number().to_string().into()]);
    arguments.extend(["--bind_ip", "127.0.0.1", "--nounixsocket"].map(Into::into));
    // Several mongods share a test machine; half of its memory each is too much.
    arguments.extend(["--wiredTigerCacheSizeGB", "0.25"].map(Into::into));
    // Journals of a hundred megabytes for each of many short-lived servers fill a disk.
    arguments.extend(["--wiredTigerEngineConfigString", SMALL_JOURNAL].map(Into::into));
    arguments.extend(["--setParameter", "diagnosticDataCollectionEnabled=false"].map(Into::into));
    // Allows `failCommand`, by which a test loses an answer at a chosen moment.
    arguments.extend(["--setParameter", "enableTestCommands=1"].map(Into::into));
    arguments.extend(more.iter().map(Into::into));
    let ports = vec![port];
    let (program, within) = (Program::MONGOD, STARTS_WITHIN);
    Ok(Recipe { program, url, arguments, folder, ports, probe, within })
}

fn answers(address: SocketAddr) -> std::result::Result<(), String> {
    command(address, [("ping", Value::Int(1))]).map(drop)
}

/// Whether `hello` says so.
fn is(address: SocketAddr, role: &str) -> bool {
    command(address, [("hello", Value::Int(1))]).is_ok_and(|reply| reply.flag(role))
}

fn command<const N: usize>(
    to: SocketAddr,
    fields: [(&str, Value); N],
) -> std::result::Result<Reply, String> {
    let database = ("$db", Value::Text("admin".to_owned()));
    let reply = wire::call(to, &Value::document(fields.into_iter().chain([database])))
        .map_err(|failure| failure.to_string())?;
    if reply.number("ok") == Some(1.0) { Ok(reply) } else { Err(reply.text("errmsg")) }
}
