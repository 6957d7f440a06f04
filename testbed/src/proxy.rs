//! A TCP proxy between a client and a server that spoils the network on demand.

mod pump;
mod source;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use source::{Cut, Source};

/// What happens to the bytes of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// They go through.
    #[default]
    Pass,
    /// They go through, each piece this much later.
    Delay(Duration),
    /// They wait, and arrive late when the flow is something else again.
    Hold,
    /// They vanish. A connection that lost some is reset when the flow is something else again,
    /// for no TCP stream goes on with a hole in it.
    Swallow,
}

/// How an answer is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoil {
    /// Nothing more comes back on its connection, which stays open until [`FaultProxy::heal`].
    Silence,
    /// The connection is reset in its place.
    Reset,
}

/// Forwards every connection to one server, and spoils what it is told to spoil.
///
/// All connections end when this value drops. It lives in the runtime that started it.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

impl FaultProxy {
    /// Listens on a free loopback port for connections to `upstream`.
    ///
    /// # Errors
    ///
    /// When there is no port to listen on.
    pub async fn start(upstream: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State::default());
        let accepting = tokio::spawn(accept(listener, upstream, Arc::clone(&state)));
        Ok(Self { address, state, accepting })
    }

    /// Where a client connects in place of the server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets both directions. New connections follow the one towards the server.
    pub fn set(&self, to_server: Flow, to_client: Flow) {
        self.state.weather.send_modify(|weather| {
            weather.to_server = to_server;
            weather.to_client = to_client;
        });
    }

    /// Lets nothing through in either direction, as a cut cable would.
    pub fn black_hole(&self) {
        self.set(Flow::Swallow, Flow::Swallow);
    }

    /// Lets nothing through, in either direction, on connections that one of these processes has opened or
    /// opens: all others go on. Nobody else's faults and heals change that, until [`rejoin`](Self::rejoin).
    ///
    /// For processes of this machine, as Linux tells of them; elsewhere it cuts nothing.
    pub fn cut_off(&self, processes: impl IntoIterator<Item = u32>) {
        let cut = Arc::new(Cut::of(processes));
        self.state.weather.send_modify(|weather| {
            weather.cut = cut;
            weather.cuts += 1;
        });
    }

    /// Lets those through again who were cut off. Connections that lost bytes are reset.
    pub fn rejoin(&self) {
        self.cut_off([]);
    }

    /// Makes both directions slow.
    pub fn delay(&self, by: Duration) {
        self.set(Flow::Delay(by), Flow::Delay(by));
    }

    /// Resets every connection that is open now. New ones are not concerned.
    pub fn reset(&self) {
        self.state.weather.send_modify(|weather| weather.resets += 1);
    }

    /// Loses the next bytes from the server, on whichever connection they come.
    pub fn lose_next_answer(&self, spoil: Spoil) {
        self.state.set_trap(Some(Trap { request: None, spoil }));
    }

    /// Loses what the server says on a connection after a request that contains `part`.
    ///
    /// The request itself goes through. `part` is looked for in each piece as it was read, so
    /// choose one that the client writes at once.
    pub fn lose_answer_to(&self, part: impl Into<Vec<u8>>, spoil: Spoil) {
        self.state.set_trap(Some(Trap { request: Some(part.into()), spoil }));
    }

    /// Whether an answer that shall be lost is still waited for.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.state.trap().is_some()
    }

    /// Lets everything through again, at once. Connections that lost bytes are reset.
    pub fn heal(&self) {
        self.state.set_trap(None);
        self.state.weather.send_modify(|weather| {
            weather.to_server = Flow::Pass;
            weather.to_client = Flow::Pass;
            weather.heals += 1;
        });
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// What all connections look at.
#[derive(Debug, Default)]
struct State {
    weather: watch::Sender<Weather>,
    trap: Mutex<Option<Trap>>,
}

#[derive(Clone, Debug, Default)]
struct Weather {
    to_server: Flow,
    to_client: Flow,
    /// Counted, so that a connection tells a reset in its life from those before it.
    resets: u64,
    heals: u64,
    /// The processes that are cut off, and how often that has changed.
    cut: Arc<Cut>,
    cuts: u64,
}

/// The one answer that shall be lost.
#[derive(Clone, Debug)]
struct Trap {
    /// To a request that contains this; `None` is any bytes from the server.
    request: Option<Vec<u8>>,
    spoil: Spoil,
}

impl State {
    fn trap(&self) -> Option<Trap> {
        self.trap.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_trap(&self, trap: Option<Trap>) {
        *self.trap.lock().unwrap_or_else(PoisonError::into_inner) = trap;
    }

    /// Takes the trap if these bytes spring it, so that it catches one answer only.
    fn spring(&self, caught: impl FnOnce(&Trap) -> bool) -> Option<Spoil> {
        let mut trap = self.trap.lock().unwrap_or_else(PoisonError::into_inner);
        trap.take_if(|trap| caught(trap)).map(|trap| trap.spoil)
    }
}

/// Ends with the proxy; the set takes the connections with it.
async fn accept(listener: TcpListener, upstream: SocketAddr, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((client, peer)) = accepted {
                let source = Source::of(peer, &state.weather.borrow());
                connections.spawn(pump::carry(client, source, upstream, Arc::clone(&state)));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}
