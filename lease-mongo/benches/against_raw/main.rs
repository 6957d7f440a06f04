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
mod other;
mod ours;
mod raw;

use other::Other;
use ours::Ours;
use raw::Raw;

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

/// Somebody else's leases, and how many times as long they are to take at the least.
struct Rival {
    other: Other,
    at_least: f64,
    took: Tries,
}

impl Rival {
    const fn new(other: Other, at_least: f64) -> Self {
        Self { other, at_least, took: Tries::new() }
    }
}

/// Ours and theirs, in turns; what was missed.
async fn cycles(mode: Mode, ours: &Ours, raw: &Raw, mut rivals: Vec<Rival>) -> Vec<String> {
    let (mut mine, mut by_hand, mut bare) = (Tries::new(), Tries::new(), Tries::new());
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
        for rival in &mut rivals {
            let took = rival.other.cycle(mode, EACH);
            rival.took.0.push(took);
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
    let mut missed = too_much(&format!("{mode}, its commands by hand"), mine.over(&by_hand));
    for Rival { other, at_least, took } in rivals {
        let (name, ratio) = (other.name, took.over(&mine));
        println!("  {name}: {:?}, {ratio:.2} times as long", took.median());
        if ratio < at_least {
            missed.push(format!("{mode}, {name}: {ratio:.2} and not {at_least}"));
        }
    }
    missed
}

fn too_much(what: &str, ratio: f64) -> Vec<String> {
    let is = ratio > AT_MOST;
    is.then(|| format!("{what}: {ratio:.2} and not {AT_MOST}")).into_iter().collect()
}

async fn renewals(ours: &mut Ours, raw: &Raw) -> Vec<String> {
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
    too_much("renew, its command by hand", ratio)
}

async fn compare(what: &str, server: &str) -> Vec<String> {
    let (hosts, query) = server.split_once("/?").unwrap();
    let url = format!("{hosts}/bench?{query}");
    println!("\n{what}");
    let raw = Raw::overhear(&url).await;
    // Thirty-two that join a thousand at once wait for each other, on a small machine for long.
    let patient = Options::parse(&format!("{url}&timeoutMS=20000")).unwrap();
    let store = connect(patient).await.unwrap();
    let mut ours = Ours::start(store.clone()).await;
    let seed = |at_least| Other::seed(&url).map(|other| Rival::new(other, at_least));
    let writers = seed(1.5).into_iter().collect();
    let exclusives = seed(2.0).into_iter().collect();
    let mut missed = cycles(Mode::Writer, &ours, &raw, writers).await;
    missed.extend(cycles(Mode::Exclusive, &ours, &raw, exclusives).await);
    missed.extend(renewals(&mut ours, &raw).await);
    crowd::crowd(&store).await;
    Client::with_uri_str(&url).await.unwrap().database("bench").drop().await.unwrap();
    missed
}

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() {
    let alone = testbed::mongo::standalone().unwrap();
    let mut missed = compare("a server alone", alone.url()).await;
    drop(alone);
    let set = testbed::mongo::ReplicaSet::start(3).unwrap();
    missed.extend(compare("a replica set of three", set.url()).await);
    assert!(missed.is_empty(), "{missed:#?}");
}
