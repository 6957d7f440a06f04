//! Who comes when all is over: gets each name alone, and looks whether anything is left.

use std::path::PathBuf;
use std::time::Duration;

use leasehold::clock::SystemClock;
use leasehold::{Clock, Coordinator, Error, Mode, Name, StoreUrl, Timing};

use crate::client::{ENDED, told};
use crate::event::{What, Who};
use crate::history::Recorder;
use crate::remains;

/// How long it waits for each name.
const WAITS: Duration = Duration::from_secs(60);

/// What a newcomer is told.
#[derive(Clone, Debug, clap::Args)]
pub struct Orders {
    /// Where the leases are
    #[arg(long)]
    pub url: String,
    /// The names
    #[arg(long, value_delimiter = ',')]
    pub names: Vec<String>,
    /// The ttl of its leases
    #[arg(long)]
    pub ttl_ms: u64,
    /// Where its part of the history goes
    #[arg(long)]
    pub history: PathBuf,
}

type Anything = Box<dyn std::error::Error>;

/// Does it, and tells what it saw.
///
/// # Errors
///
/// When the store cannot be opened or looked at though the faults are over.
#[expect(clippy::print_stdout, reason = "it is how the harness hears of it")]
pub async fn come(orders: Orders) -> Result<(), Anything> {
    let recorder = Recorder::open(&orders.history)?;
    let tell = |what| recorder.add(Who::Harness, what);
    let ttl = Duration::from_millis(orders.ttl_ms);
    let url = StoreUrl::parse(&orders.url)?;
    let backend = patiently(|| url.open()).await?;
    let leases = Coordinator::builder(backend).timing(Timing::with_ttl(ttl).build()?).build();
    for name in &orders.names {
        // As a writer first: where no writer can be there an exclusive looks for none, and a server
        // that was killed may show records again that have ended.
        let mut problem = None;
        for mode in [Mode::Writer, Mode::Exclusive] {
            let turn = match leases.ask(name, mode).wait(WAITS).acquire().await {
                Ok(lease) => lease.release().await.err(),
                Err(error) => Some(error),
            };
            problem = problem.or(turn.map(|error| told(&error)));
        }
        tell(What::Newcomer { name: name.clone(), problem });
        let holders = left(&leases, &Name::parse(name)?, ttl * 3).await?;
        tell(What::Left { name: name.clone(), holders });
    }
    let names = patiently(|| leases.names()).await?.iter().map(Name::to_string).collect();
    tell(What::Knows { names });
    tell(What::Remains { things: remains::of(&orders.url).await? });
    println!("{ENDED}");
    Ok(())
}

/// Who is still there after `time`: what was on its way when its process ended has arrived by then.
async fn left(leases: &Coordinator, name: &Name, time: Duration) -> leasehold::Result<Vec<String>> {
    let end = SystemClock.now().plus(time);
    loop {
        let seen = patiently(|| leases.status(name)).await?;
        if seen.is_free() || SystemClock.now() >= end {
            let all = seen.exclusive.iter().chain(&seen.writers);
            return Ok(all.map(|record| format!("{record:?}")).collect());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Asks again while the store does not answer: the faults are over, and it may still be busy.
async fn patiently<T, F>(ask: impl Fn() -> F + Send + Sync) -> leasehold::Result<T>
where
    T: Send,
    F: Future<Output = leasehold::Result<T>> + Send,
{
    let end = SystemClock.now().plus(WAITS);
    loop {
        match ask().await {
            Err(Error::Unavailable { .. }) if SystemClock.now() < end => {}
            answer => return answer,
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
