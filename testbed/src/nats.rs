//! nats-server with JetStream: alone, or three that replicate.

mod wire;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::error::{OrRemedy, Result};
use crate::folder;
use crate::port::{self, Port};
use crate::program::Program;
use crate::server::{Recipe, Server};

/// A node alone is there at once; three elect their leaders within some seconds.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// The smallest number that goes on when one is lost.
const NODES: usize = 3;

/// Names the one that tests share.
const VARIABLE: &str = "LEASE_TEST_NATS_URL";

/// The one that `LEASE_TEST_NATS_URL` names, or a new one: for tests that leave it as it is.
///
/// # Errors
///
/// When it cannot be had or started.
pub fn shared() -> Result<Server> {
    Server::named_by(VARIABLE).map_or_else(single, Ok)
}

/// What makes [`shared`] use this one, in another process.
#[must_use]
pub fn variable(server: &Server) -> (&'static str, String) {
    (VARIABLE, server.url().to_owned())
}

/// One server with JetStream, on files of its own.
///
/// # Errors
///
/// When it cannot be had or started.
pub fn single() -> Result<Server> {
    let port = Port::free()?;
    let address = port.address();
    let folder = folder::temporary("nats")?;
    let mut arguments = vec!["-js".into(), "-sd".into(), folder.path().into()];
    arguments.extend(["-a", "127.0.0.1", "-p"].map(Into::into));
    arguments.push(port.number().to_string().into());
    Server::start(Recipe {
        program: Program::NATS,
        url: format!("nats://{address}"),
        arguments,
        folder,
        ports: vec![port],
        probe: Box::new(move || wire::places_a_stream(address, 1)),
        within: STARTS_WITHIN,
    })
}

/// Three servers that place streams of three replicas.
#[derive(Debug)]
pub struct Cluster {
    url: String,
    nodes: Vec<Server>,
}

impl Cluster {
    /// Starts them, and waits until each of them can have a stream of three replicas placed.
    ///
    /// # Errors
    ///
    /// When nats-server cannot be had or started.
    pub fn start() -> Result<Self> {
        Self::start_behind(|_, _, route| Ok(route))
    }

    /// Starts them, each of which reaches each other one by a way of its own: `front` is told the
    /// numbers of both, and where the second listens, and says where the first shall connect.
    ///
    /// # Errors
    ///
    /// When nats-server cannot be had or started, or `front` fails.
    pub fn start_behind(
        mut front: impl FnMut(usize, usize, SocketAddr) -> io::Result<SocketAddr>,
    ) -> Result<Self> {
        let clients: [Port; NODES] = port::free()?;
        let routes: [Port; NODES] = port::free()?;
        let listen: Vec<SocketAddr> = routes.iter().map(Port::address).collect();
        let addresses: Vec<String> =
            clients.iter().map(|port| port.address().to_string()).collect();
        let mut nodes = Vec::new();
        for (index, ports) in clients.into_iter().zip(routes).enumerate() {
            let mut ways = Vec::new();
            for (other, route) in listen.iter().enumerate().filter(|(other, _)| *other != index) {
                let way = front(index, other, *route);
                let way = way.or_remedy("a node's front", "see the reason above")?;
                ways.push(format!("nats://{way}"));
            }
            nodes.push(Server::start_unready(node(index, ports, &ways.join(", "))?)?);
        }
        nodes.iter().try_for_each(Server::wait_until_ready)?;
        let urls: Vec<String> = addresses.iter().map(|host| format!("nats://{host}")).collect();
        Ok(Self { url: urls.join(","), nodes })
    }

    /// Where a client connects: all nodes, separated by commas.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The nodes, named `node-0` to `node-2` among themselves.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &Server> {
        self.nodes.iter()
    }

    /// One node, to pause, kill or restart it.
    pub fn node(&mut self, index: usize) -> Option<&mut Server> {
        self.nodes.get_mut(index)
    }
}

fn node(index: usize, (client, route): (Port, Port), ways: &str) -> Result<Recipe> {
    let folder = folder::temporary("nats")?;
    let address: SocketAddr = client.address();
    // Clients go where they are told: what the nodes say of each other would lead around a proxy. And
    // so do nodes: what one tells another of its own route leads nowhere.
    let config = format!(
        "server_name: node-{index}\n\
         listen: \"{address}\"\n\
         jetstream {{ store_dir: \"store\" }}\n\
         cluster {{ name: testbed, listen: \"{}\", advertise: \"127.0.0.1:1\", \
         no_advertise: true, routes: [{ways}] }}\n",
        route.address()
    );
    let path = folder.path().join("nats.conf");
    fs::write(&path, config).or_remedy(path.display(), "see whether the disk is full")?;
    Ok(Recipe {
        program: Program::NATS,
        url: format!("nats://{address}"),
        arguments: vec!["-c".into(), path.into()],
        folder,
        ports: vec![client, route],
        probe: Box::new(move || wire::places_a_stream(address, NODES)),
        within: STARTS_WITHIN,
    })
}
