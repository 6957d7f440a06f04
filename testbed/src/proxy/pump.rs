//! One connection through the proxy: two directions, each with its weather.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;

use super::source::Source;
use super::{Flow, Spoil, State, Weather};

/// Small enough that a delay is felt by each message, large enough to be no bottleneck.
const PIECE: usize = 16 * 1024;

/// Carries one client's connection to its end.
pub(super) async fn carry(
    mut client: TcpStream,
    source: Source,
    upstream: SocketAddr,
    state: Arc<State>,
) {
    let mut weather = state.weather.subscribe();
    let resets = weather.borrow().resets;
    let connected = tokio::select! {
        connected = connect(upstream, &source, state.weather.subscribe()) => connected.ok(),
        () = until(&mut weather, |now| now.resets != resets) => None,
    };
    let Some(mut server) = connected else { return abort(&client) };
    let carried = tokio::select! {
        carried = both_ways(&mut client, &mut server, &source, &state) => carried,
        () = until(&mut weather, |now| now.resets != resets) => Err(Broken),
    };
    if carried.is_err() {
        abort(&client);
        abort(&server);
    }
}

/// The connection cannot go on and is reset on both sides.
struct Broken;

impl From<io::Error> for Broken {
    fn from(_: io::Error) -> Self {
        Self
    }
}

/// A server behind a hole cannot be reached; its client's first bytes wait with it.
async fn connect(
    upstream: SocketAddr,
    source: &Source,
    mut weather: watch::Receiver<Weather>,
) -> io::Result<TcpStream> {
    let to_server = |now: &Weather| Direction::ToServer.flow(now, source);
    until(&mut weather, |now| matches!(to_server(now), Flow::Pass | Flow::Delay(_))).await;
    TcpStream::connect(upstream).await
}

async fn both_ways(
    client: &mut TcpStream,
    server: &mut TcpStream,
    source: &Source,
    state: &State,
) -> Result<(), Broken> {
    // A proxy that collects small pieces would be a delay that nobody asked for.
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let doomed = Mutex::new(None);
    let requests = Pump::new(Direction::ToServer, source, state, &doomed);
    let answers = Pump::new(Direction::ToClient, source, state, &doomed);
    tokio::try_join!(requests.run(from_client, to_server), answers.run(from_server, to_client))
        .map(drop)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToServer,
    ToClient,
}

/// Bytes of the stream that are missing for good.
#[derive(Clone, Copy)]
enum Hole {
    None,
    /// Swallowed by the weather: felt as soon as the flow is something else.
    Swallowed,
    /// An answer that was to be lost: felt at the next heal.
    Spoiled {
        heals: u64,
    },
}

/// One direction of one connection.
struct Pump<'a> {
    direction: Direction,
    source: &'a Source,
    state: &'a State,
    weather: watch::Receiver<Weather>,
    /// Set by the requests' pump when the connection's next answer shall be lost.
    doomed: &'a Mutex<Option<Spoil>>,
    hole: Hole,
}

impl<'a> Pump<'a> {
    fn new(
        direction: Direction,
        source: &'a Source,
        state: &'a State,
        doomed: &'a Mutex<Option<Spoil>>,
    ) -> Self {
        let weather = state.weather.subscribe();
        Self { direction, source, state, weather, doomed, hole: Hole::None }
    }

    async fn run(mut self, mut from: ReadHalf<'_>, mut to: WriteHalf<'_>) -> Result<(), Broken> {
        let mut piece = vec![0; PIECE];
        loop {
            let mut weather = self.weather.clone();
            let size = tokio::select! {
                size = from.read(&mut piece) => size?,
                () = until(&mut weather, |now| self.is_felt(now)) => return Err(Broken),
            };
            let bytes = &piece[..size];
            self.spoil(bytes)?;
            let lost = self.is_lost().await;
            match (lost, bytes) {
                (false, []) => return Ok(to.shutdown().await?),
                (false, bytes) => to.write_all(bytes).await?,
                // The end of the stream is lost too: nobody hears of it before the hole is felt.
                (true, []) => {
                    until(&mut weather, |now| self.is_felt(now)).await;
                    return Err(Broken);
                }
                (true, _) => {}
            }
        }
    }

    /// Sees to the one answer that shall be lost, if these bytes are it or ask for it.
    fn spoil(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let mut doomed = self.doomed.lock().unwrap_or_else(PoisonError::into_inner);
        if self.direction == Direction::ToServer {
            let asked = |part: &Vec<u8>| contains(bytes, part);
            let sprung = self.state.spring(|trap| trap.request.as_ref().is_some_and(asked));
            *doomed = sprung.or(*doomed);
            return Ok(());
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let any = || self.state.spring(|trap| trap.request.is_none());
        match doomed.take().or_else(any) {
            None => Ok(()),
            Some(Spoil::Reset) => Err(Broken),
            Some(Spoil::Silence) => {
                self.hole = Hole::Spoiled { heals: self.weather.borrow().heals };
                Ok(())
            }
        }
    }

    /// Whether a piece vanishes; answers when it is its turn, and so is also the delay.
    async fn is_lost(&mut self) -> bool {
        if matches!(self.hole, Hole::Spoiled { .. }) {
            return true;
        }
        loop {
            let (direction, source) = (self.direction, self.source);
            let flow = direction.flow(&self.weather.borrow(), source);
            let changed = until(&mut self.weather, |now| direction.flow(now, source) != flow);
            match flow {
                Flow::Pass => return false,
                Flow::Hold => changed.await,
                Flow::Delay(by) => tokio::select! {
                    () = tokio::time::sleep(by) => return false,
                    () = changed => {}
                },
                Flow::Swallow => {
                    self.hole = Hole::Swallowed;
                    return true;
                }
            }
        }
    }

    /// Whether the connection must end now, for bytes of it are missing.
    fn is_felt(&self, now: &Weather) -> bool {
        match self.hole {
            Hole::None => false,
            Hole::Swallowed => self.direction.flow(now, self.source) != Flow::Swallow,
            Hole::Spoiled { heals } => now.heals != heals,
        }
    }
}

impl Direction {
    fn flow(self, weather: &Weather, source: &Source) -> Flow {
        match self {
            _ if source.is_cut(weather) => Flow::Swallow,
            Self::ToServer => weather.to_server,
            Self::ToClient => weather.to_client,
        }
    }
}

/// The sender lives as long as the connections do, so that this ends by the weather alone.
async fn until(weather: &mut watch::Receiver<Weather>, mut is: impl FnMut(&Weather) -> bool) {
    let _ = weather.wait_for(|now| is(now)).await;
}

/// Closes with a reset in place of a farewell. A socket that is gone needs none.
fn abort(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    part.is_empty() || bytes.windows(part.len()).any(|window| window == part)
}
