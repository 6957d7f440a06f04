//! Where the leases are: the servers, and the ways there through the network.

use std::net::SocketAddr;

use tempfile::TempDir;
use testbed::azure::Azure;
use testbed::mongo::ReplicaSet;
use testbed::nats::Cluster;
use testbed::s3::S3;
use testbed::{FaultProxy, Server};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::block_in_place;

use crate::backends::Kind;
use crate::disk::Disk;

/// How many members a cluster has.
const MEMBERS: usize = 3;
/// The bucket, container or database.
const PLACE: &str = "leases";

type Anything = Box<dyn std::error::Error>;

/// Where the leases are.
#[derive(Debug)]
pub struct Ground {
    /// Whichever servers there are, one of which is hit at a time.
    servers: Mutex<Servers>,
    /// The ways there. Each is used by one client, or leads to one member.
    pub links: Vec<FaultProxy>,
    /// The ways between members, where they are others: from which one, to which one.
    between: Vec<(usize, usize, FaultProxy)>,
    /// The URL for each client.
    pub urls: Vec<String>,
    /// The URL for whoever looks at the end.
    pub direct: String,
    /// What clients must find in their environment.
    pub environment: Vec<(String, String)>,
}

#[derive(Debug)]
enum Servers {
    /// Nobody serves a folder. It goes with this value.
    Folder(#[expect(dead_code, reason = "it is removed when this drops")] TempDir),
    Mongo(ReplicaSet),
    Nats(Cluster),
    S3(S3),
    Azure(Azure),
}

impl Ground {
    /// Starts the servers of a kind, for so many clients.
    ///
    /// # Errors
    ///
    /// When one cannot be had or started.
    pub async fn start(kind: Kind, clients: usize) -> Result<Self, Anything> {
        match kind {
            Kind::File => folder(clients),
            Kind::Mongo => mongo(clients),
            Kind::Nats => nats(clients).await,
            Kind::S3 => s3(clients).await,
            Kind::Azure => azure(clients).await,
        }
    }

    /// How many servers there are to be hit.
    pub async fn servers(&self) -> usize {
        match &*self.servers.lock().await {
            Servers::Folder(_) => 0,
            Servers::Mongo(_) | Servers::Nats(_) => MEMBERS,
            Servers::S3(_) | Servers::Azure(_) => 1,
        }
    }

    /// Ends one as harshly as it can bear, and starts it again after `away` has passed.
    ///
    /// # Errors
    ///
    /// When it does not get ready again.
    pub async fn restart(
        &self,
        which: usize,
        away: impl Future<Output = ()> + Send,
    ) -> testbed::Result<()> {
        let mut servers = self.servers.lock().await;
        // It keeps what it was told in memory for seconds: what it acknowledged and then forgot
        // would be its fault, and no lease's.
        let gently = matches!(*servers, Servers::Azure(_));
        let Some(server) = servers.server(which) else { return Ok(()) };
        if gently {
            // It waits for requests that have begun, and the rest of one may be held up on its way.
            self.links.iter().for_each(FaultProxy::reset);
        }
        block_in_place(|| if gently { server.stop() } else { server.kill() })?;
        away.await;
        block_in_place(|| server.restart())
    }

    /// Stops one where it stands, for as long as `meanwhile` takes.
    ///
    /// # Errors
    ///
    /// When it has ended.
    pub async fn pause(
        &self,
        which: usize,
        meanwhile: impl Future<Output = ()> + Send,
    ) -> testbed::Result<()> {
        let mut servers = self.servers.lock().await;
        let Some(server) = servers.server(which) else { return Ok(()) };
        block_in_place(|| server.pause())?;
        meanwhile.await;
        server.resume()
    }

    /// Whether one can be cut off from the others while clients reach it.
    pub async fn has_members(&self) -> bool {
        matches!(&*self.servers.lock().await, Servers::Mongo(_) | Servers::Nats(_))
    }

    /// Cuts one off from the others alone, for as long as `meanwhile` takes: nothing gets through
    /// that it asks them or that they ask it.
    ///
    /// # Errors
    ///
    /// When it has ended.
    pub async fn isolate(
        &self,
        which: usize,
        meanwhile: impl Future<Output = ()> + Send,
    ) -> testbed::Result<()> {
        if let Servers::Mongo(set) = &*self.servers.lock().await {
            // All use one address of a member, so that the ways tell by who comes.
            let all = set.members().map(Server::process).collect::<testbed::Result<Vec<_>>>()?;
            for (member, link) in self.links.iter().enumerate() {
                let is_cut = |(other, _): &(usize, &u32)| (*other == which) != (member == which);
                link.cut_off(all.iter().enumerate().filter(is_cut).map(|(_, process)| *process));
            }
            meanwhile.await;
            self.links.iter().for_each(FaultProxy::rejoin);
            return Ok(());
        }
        let touches = |(from, to, _): &&(usize, usize, FaultProxy)| [*from, *to].contains(&which);
        let cut: Vec<_> = self.between.iter().filter(touches).map(|(.., way)| way).collect();
        cut.iter().for_each(|way| way.black_hole());
        meanwhile.await;
        cut.iter().for_each(|way| way.heal());
        Ok(())
    }
}

impl Servers {
    fn server(&mut self, which: usize) -> Option<&mut Server> {
        match self {
            Self::Folder(_) => None,
            Self::Mongo(set) => set.member(which),
            Self::Nats(cluster) => cluster.node(which),
            Self::S3(s3) => Some(s3.server()),
            Self::Azure(azure) => Some(azure.server()),
        }
    }
}

fn folder(clients: usize) -> Result<Ground, Anything> {
    let mut folder = tempfile::Builder::new();
    let folder = folder.prefix("leasehold-faults-");
    let folder = match &Disk::here() {
        Some(disk) => folder.tempdir_in(disk.folder())?,
        None => folder.tempdir()?,
    };
    let direct = format!("file://{}", folder.path().display());
    Ok(Ground {
        servers: Mutex::new(Servers::Folder(folder)),
        links: Vec::new(),
        between: Vec::new(),
        urls: vec![direct.clone(); clients],
        direct,
        environment: Vec::new(),
    })
}

/// Clients find the members by what these say of themselves, so that the ways are theirs: each
/// leads to one member, from the clients and from the other members.
fn mongo(clients: usize) -> Result<Ground, Anything> {
    let mut links = Vec::new();
    let runtime = Handle::current();
    let set = block_in_place(|| {
        ReplicaSet::start_behind(MEMBERS, |member| {
            let link = runtime.block_on(FaultProxy::start(member))?;
            let address = link.address();
            links.push(link);
            Ok(address)
        })
    })?;
    let direct = set.url().replacen("/?", &format!("/{PLACE}?"), 1);
    let urls = vec![direct.clone(); clients];
    let servers = Mutex::new(Servers::Mongo(set));
    Ok(Ground { servers, links, between: Vec::new(), urls, direct, environment: Vec::new() })
}

/// Each client has a way of its own to each node, and each node one to each other.
async fn nats(clients: usize) -> Result<Ground, Anything> {
    let mut between = Vec::new();
    let runtime = Handle::current();
    let cluster = block_in_place(|| {
        Cluster::start_behind(|from, to, route| {
            let way = runtime.block_on(FaultProxy::start(route))?;
            let address = way.address();
            between.push((from, to, way));
            Ok(address)
        })
    })?;
    let nodes = cluster.url().split(',').map(address_of).collect::<Result<Vec<_>, _>>()?;
    let url = |hosts: &[SocketAddr]| {
        let hosts: Vec<String> = hosts.iter().map(SocketAddr::to_string).collect();
        format!("nats://{}/{PLACE}?replicas={MEMBERS}&timeout=2s", hosts.join(","))
    };
    let (mut links, mut urls) = (Vec::new(), Vec::new());
    for _ in 0..clients {
        let mut hosts = Vec::new();
        for node in &nodes {
            let link = FaultProxy::start(*node).await?;
            hosts.push(link.address());
            links.push(link);
        }
        urls.push(url(&hosts));
    }
    let direct = url(&nodes);
    let servers = Mutex::new(Servers::Nats(cluster));
    Ok(Ground { servers, links, between, urls, direct, environment: Vec::new() })
}

async fn s3(clients: usize) -> Result<Ground, Anything> {
    let s3 = block_in_place(S3::start)?;
    block_in_place(|| s3.create_bucket(PLACE))?;
    let environment = vec![
        ("AWS_ACCESS_KEY_ID".to_owned(), s3.key_id().to_owned()),
        ("AWS_SECRET_ACCESS_KEY".to_owned(), s3.secret().to_owned()),
    ];
    let region = s3.region();
    let url = |host| format!("s3://{PLACE}/faults?region={region}&endpoint=http://{host}");
    let (links, urls, direct) = ways(s3.url(), clients, url).await?;
    let (servers, between) = (Mutex::new(Servers::S3(s3)), Vec::new());
    Ok(Ground { servers, links, between, urls, direct, environment })
}

async fn azure(clients: usize) -> Result<Ground, Anything> {
    let azure = block_in_place(Azure::start)?;
    block_in_place(|| azure.create_container(PLACE))?;
    let environment = vec![
        ("AZURE_STORAGE_ACCOUNT_NAME".to_owned(), azure.account().to_owned()),
        ("AZURE_STORAGE_ACCOUNT_KEY".to_owned(), azure.key().to_owned()),
    ];
    let account = azure.account();
    let url = |host| format!("az://{PLACE}/faults?endpoint=http://{host}/{account}");
    let (links, urls, direct) = ways(azure.url(), clients, url).await?;
    let (servers, between) = (Mutex::new(Servers::Azure(azure)), Vec::new());
    Ok(Ground { servers, links, between, urls, direct, environment })
}

/// A way to one server for each client: the ways, their URLs, and the one without any.
async fn ways(
    server: &str,
    clients: usize,
    url: impl Fn(SocketAddr) -> String,
) -> Result<(Vec<FaultProxy>, Vec<String>, String), Anything> {
    let server = address_of(server)?;
    let (mut links, mut urls) = (Vec::new(), Vec::new());
    for _ in 0..clients {
        let link = FaultProxy::start(server).await?;
        urls.push(url(link.address()));
        links.push(link);
    }
    Ok((links, urls, url(server)))
}

/// The address in the URL of a server.
fn address_of(url: &str) -> Result<SocketAddr, Anything> {
    let host = url.split_once("://").map_or(url, |(_, host)| host);
    Ok(host.parse()?)
}
