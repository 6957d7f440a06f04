//! Three servers whose cables between each other can be cut, while clients still reach each.

use std::sync::Arc;
use std::time::Duration;

use lease_core::Clock;
use lease_core::clock::{SystemClock, within};
use serde_json::{Value, json};
use testbed::FaultProxy;

use super::server::{Server, ports_of_three};

/// Three servers, each of which reaches each other one through a cable of its own.
pub struct CutCluster {
    nodes: Vec<Server>,
    /// From which node, to which node.
    cables: Vec<(usize, usize, FaultProxy)>,
}

impl CutCluster {
    /// Of this version, or the newest.
    pub async fn start(version: Option<&str>) -> Self {
        // Between the choice of a port and its use another server may take it: then they never find
        // each other.
        for _ in 0..3 {
            let cluster = Self::once(version).await;
            if cluster.forms().await {
                return cluster;
            }
        }
        panic!("three servers do not find each other");
    }

    /// Whether they keep something three times, soon.
    async fn forms(&self) -> bool {
        const SOON: Duration = Duration::from_secs(30);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let asks = json!({ "name": "forms", "subjects": ["forms"], "num_replicas": 3 });
        let asked = async {
            let client = super::server::answers(self.nodes[0].url()).await;
            loop {
                let asked = client.request("$JS.API.STREAM.CREATE.forms", asks.to_string().into());
                let answer = asked.await.ok().map(|answer| answer.payload);
                let answer: Option<Value> = answer.and_then(|it| serde_json::from_slice(&it).ok());
                if answer.is_some_and(|answer| answer.get("error").is_none()) {
                    break;
                }
                super::pass(Duration::from_millis(50)).await;
            }
            client.request("$JS.API.STREAM.DELETE.forms", "".into()).await.is_ok()
        };
        within(&clock, SOON, asked).await.unwrap_or(false)
    }

    async fn once(version: Option<&str>) -> Self {
        let (clients, routes) = ports_of_three();
        let mut cables = Vec::new();
        for from in 0..3 {
            for to in (0..3).filter(|to| *to != from) {
                let address = format!("127.0.0.1:{}", routes[to]).parse().unwrap();
                cables.push((from, to, FaultProxy::start(address).await.unwrap()));
            }
        }
        let start = |node: usize| {
            let mine = cables.iter().filter(|(from, ..)| *from == node);
            let mine: Vec<String> =
                mine.map(|(_, _, cable)| format!("nats://{}", cable.address())).collect();
            // What they tell each other of their routes leads nowhere: else they would find ways
            // around the cables. Clients are told of all.
            let config = format!(
                "server_name: node-{node}\njetstream {{ store_dir: store }}\n\
                 cluster {{ name: cut, listen: \"127.0.0.1:{}\", advertise: \"127.0.0.1:1\", \
                 routes: [{}] }}\n",
                routes[node],
                mine.join(", ")
            );
            Server::on(version, clients[node], &config)
        };
        Self { nodes: (0..3).map(start).collect(), cables }
    }

    pub fn urls(&self) -> Vec<&str> {
        self.nodes.iter().map(Server::url).collect()
    }

    /// Cuts one off from the others, in the middle of whatever they say.
    pub fn cut_off(&self, node: usize) {
        self.of(node).for_each(FaultProxy::black_hole);
    }

    /// And lets it know.
    pub fn hang_up(&self, node: usize) {
        self.of(node).for_each(FaultProxy::reset);
    }

    pub fn heal(&self, node: usize) {
        self.of(node).for_each(FaultProxy::heal);
    }

    fn of(&self, node: usize) -> impl Iterator<Item = &FaultProxy> {
        let touches =
            move |(from, to, _): &&(usize, usize, FaultProxy)| [*from, *to].contains(&node);
        self.cables.iter().filter(touches).map(|(_, _, cable)| cable)
    }
}

/// The number in the name of the node that leads a bucket, as its information says.
pub fn leader_of(info: &Value) -> Option<usize> {
    info["cluster"]["leader"].as_str()?.strip_prefix("node-")?.parse().ok()
}
