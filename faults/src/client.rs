//! A client process: it asks, holds, writes, lets go and sometimes breaks, as its seed wants it.

mod life;
mod watcher;

use std::io::BufRead;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use leasehold::{Backend, Coordinator, HolderInfo, StoreUrl, Timing};
use tokio::sync::oneshot;

use crate::chance::Chance;
use crate::event::{What, Who};
use crate::history::Recorder;
use crate::pulse;
use life::Life;

/// What a client is told by whoever starts it.
#[derive(Clone, Debug, clap::Args)]
pub struct Orders {
    /// Which client this is: no two of a run have one number
    #[arg(long)]
    pub number: u32,
    /// The seed of its choices
    #[arg(long)]
    pub seed: u64,
    /// Where the leases are
    #[arg(long)]
    pub url: String,
    /// The names
    #[arg(long, value_delimiter = ',')]
    pub names: Vec<String>,
    /// The ttl of its leases
    #[arg(long)]
    pub ttl_ms: u64,
    /// Where the resources are
    #[arg(long)]
    pub resources: SocketAddr,
    /// Where its part of the history goes
    #[arg(long)]
    pub history: PathBuf,
}

/// What the harness says to tell a client that its last turn has come; the name follows.
pub const TURN: &str = "turn ";
/// What a client says when all is over.
pub const ENDED: &str = "ended";

/// How many loops of asking and holding one process runs.
const LOOPS: u64 = 2;

type Anything = Box<dyn std::error::Error>;

/// Lives until it is told to end.
///
/// # Errors
///
/// When it cannot even write its history, or is told nonsense.
#[expect(clippy::print_stdout, reason = "it is how the harness hears of it")]
pub async fn live(orders: Orders) -> Result<(), Anything> {
    let who = Who::Client(orders.number);
    let recorder = Recorder::open(&orders.history)?;
    pulse::start(who, recorder.clone());
    let turn = turn();
    let chance = Chance::of(orders.seed, 0);
    let backend = connected(&orders, who, &recorder).await?;
    recorder.add(who, What::Ready);
    let threads_before = threads();

    let timing = Timing::with_ttl(Duration::from_millis(orders.ttl_ms)).build()?;
    let info = HolderInfo::of_this_process().label(format!("client {}", orders.number));
    // A process that is proven dead is not waited for; half of them must be.
    let info = if chance.one_in(2) { info } else { info.without_process() };
    let leases = Coordinator::builder(backend).timing(timing).info(info.build()?).build();
    let life = Arc::new(Life::new(orders, leases, recorder.clone()));

    let loops: Vec<_> = (1..=LOOPS)
        .map(|number| {
            let life = Arc::clone(&life);
            tokio::spawn(async move { life.live(number).await })
        })
        .collect();
    let name = turn.await?;
    life.leave();
    for one in loops {
        one.await?;
    }
    life.last_turn(&name).await;
    if let (Some(before), Some(after)) = (threads_before, threads()) {
        recorder.add(who, What::Threads { before, after });
    }
    println!("{ENDED}");
    Ok(())
}

/// How many threads this process has, where the system tells.
fn threads() -> Option<usize> {
    std::fs::read_dir("/proc/self/task").ok().map(Iterator::count)
}

/// Opens the store, however long that takes: it may be away.
async fn connected(
    orders: &Orders,
    who: Who,
    recorder: &Recorder,
) -> leasehold::Result<Arc<dyn Backend>> {
    let url = StoreUrl::parse(&orders.url)?;
    loop {
        match url.open().await {
            Ok(backend) => return Ok(backend),
            Err(error) => recorder.add(who, What::NotReady { why: told(&error) }),
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

/// The name of the last turn, once the harness says it. If the harness is gone, so is this process.
fn turn() -> oneshot::Receiver<String> {
    let (said, turn) = oneshot::channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines();
        let mut names = lines
            .map_while(Result::ok)
            .filter_map(|line| Some(line.strip_prefix(TURN)?.to_owned()));
        match names.next() {
            Some(name) => drop(said.send(name)),
            None => std::process::exit(1),
        }
    });
    turn
}

/// An error and all that it stems from, for people.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
