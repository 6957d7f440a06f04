//! What a lease costs beyond the requests that it makes: acquire and release of both modes, and a
//! renewal, against the same commands by hand, in turns, on one server. And what many writers of one
//! name cost each other.
//!
//! `cargo bench -p lease-mongo`, which starts its own servers. With `LEASE_BENCH_SEED=python3`, an
//! interpreter that has `httk-store`, the leases of that package take their turns as well.
#![expect(clippy::unwrap_used, reason = "a bench that cannot run is a failure")]
#![expect(clippy::print_stdout, reason = "it shows what it measured")]

use std::time::Duration;

use lease_core::clock::SystemClock;
use lease_core::{Clock, Mode};
use lease_mongo::{Options, connect};
use mongodb::Client;

mod crowd;
mod ours;
mod raw;
mod seed;

use ours::Ours;
use raw::Raw;
use seed::Seed;

const ROUNDS: usize = 15;
/// Fewer than what a name remembers of those that were released.
const EACH: usize = 50;
/// The most that a lease may cost beyond its requests.
const AT_MOST: f64 = 1.1;

/// How long one cycle takes in the middle of all rounds.
struct Tries(Vec<Duration>);

impl Tries {
    const fn new() -> Self {
        Self(Vec::new())
    }

    /// One more round of `EACH` cycles.
    async fn round(&mut self, work: impl Future<Output = ()>) {
        let start = SystemClock.now();
        work.await;
        self.0.push(SystemClock.now().since(start) / u32::try_from(EACH).unwrap());
    }

    fn median(&self) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort();
        sorted[sorted.len() / 2]
    }

    fn over(&self, other: &Self) -> f64 {
        self.median().as_secs_f64() / other.median().as_secs_f64()
    }
}

/// Ours and theirs, in turns.
async fn cycles(mode: Mode, ours: &Ours, raw: &Raw, seed: Option<&mut Seed>) -> f64 {
    let (mut mine, mut by_hand, mut bare) = (Tries::new(), Tries::new(), Tries::new());
    let (mut theirs, mut seed) = (Tries::new(), seed);
    for _ in 0..ROUNDS {
        mine.round(async {
            for _ in 0..EACH {
                ours.cycle(mode).await;
            }
        })
        .await;
        // Made before, for it is no part of what they cost.
        let commands = raw.cycles(mode, EACH);
        raw.make_room().await;
        by_hand.round(raw.send(commands)).await;
        bare.round(async {
            for _ in 0..EACH {
                raw.bare_cycle().await;
            }
        })
        .await;
        if let Some(seed) = seed.as_deref_mut() {
            theirs.0.push(seed.cycle(mode, EACH));
        }
    }
    println!(
        "{mode}, acquire and release: {:?}; its commands by hand {:?}, ratio {:.2}; two bare updates {:?}, ratio {:.2}",
        mine.median(),
        by_hand.median(),
        mine.over(&by_hand),
        bare.median(),
        mine.over(&bare)
    );
    if !theirs.0.is_empty() {
        println!("  httk-store: {:?}, {:.2} times as long", theirs.median(), theirs.over(&mine));
    }
    mine.over(&by_hand)
}

async fn renewals(ours: &mut Ours, raw: &Raw) -> f64 {
    let (mut mine, mut by_hand) = (Tries::new(), Tries::new());
    for _ in 0..ROUNDS {
        mine.round(async {
            for _ in 0..EACH {
                ours.renew().await;
            }
        })
        .await;
        let commands = raw.renewals(ours.held(), EACH);
        by_hand.round(raw.send(commands)).await;
        ours.skip(EACH);
    }
    let (ratio, mine, by_hand) = (mine.over(&by_hand), mine.median(), by_hand.median());
    println!("renew: {mine:?}; its command by hand {by_hand:?}, ratio {ratio:.2}");
    ratio
}

async fn compare(what: &str, server: &str) {
    let (hosts, query) = server.split_once("/?").unwrap();
    let url = format!("{hosts}/bench?{query}");
    println!("\n{what}");
    let raw = Raw::overhear(&url).await;
    let store = connect(Options::parse(&url).unwrap()).await.unwrap();
    let mut ours = Ours::start(store.clone()).await;
    let mut seed = Seed::start(&url);
    let ratios = [
        cycles(Mode::Writer, &ours, &raw, seed.as_mut()).await,
        cycles(Mode::Exclusive, &ours, &raw, seed.as_mut()).await,
        renewals(&mut ours, &raw).await,
    ];
    crowd::crowd(&store).await;
    Client::with_uri_str(&url).await.unwrap().database("bench").drop().await.unwrap();
    assert!(ratios.iter().all(|ratio| *ratio <= AT_MOST), "more than {AT_MOST}: {ratios:?}");
}

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() {
    let alone = testbed::mongo::standalone().unwrap();
    compare("a server alone", alone.url()).await;
    drop(alone);
    let set = testbed::mongo::ReplicaSet::start(3).unwrap();
    compare("a replica set of three", set.url()).await;
}
