//! What a lease costs beyond the requests that it makes: acquire and release of both modes, a renewal
//! and a confirmation, against the same commands by hand, in turns, on one server. Others who keep
//! leases in MongoDB take their turns as well.
//!
//! `cargo bench -p lease-mongo` starts its own servers. The others are `httk-store`, if
//! `LEASE_BENCH_SEED` names an interpreter that has it, and the crate `distributed-lock`, if
//! `LEASE_BENCH_PEERS` names the program of `benches/peers`; `cargo xtask bench` sets both.
#![expect(clippy::unwrap_used, reason = "a bench that cannot run is a failure")]
#![expect(clippy::print_stdout, reason = "it shows what it measured")]

use std::process::ExitCode;

use lease_core::Mode;
use lease_mongo::{Options, connect};
use measure::{Bench, Comparison, Other, Times};
use mongodb::Client;

mod ours;
mod raw;

use ours::Ours;
use raw::Raw;

const ROUNDS: usize = 15;
/// How many cycles each makes before it is the next one's turn.
const EACH: usize = 50;
/// The most that a lease may cost beyond its requests.
const AT_MOST: f64 = 1.1;

/// Somebody else's leases, and how many times as long they are to take at the least.
struct Rival {
    other: Other,
    at_least: f64,
    took: Times,
}

const SEED: &str = "httk-store";
const PEER: &str = "distributed-lock 0.2";

/// Why two writes and a read take hardly longer than two writes.
const WHY_SEED: &str = "Of a writer nearly all is two writes, each in the journals of a majority: the two bare updates show \
    how long those take by themselves. `httk-store` makes the same two and one read, so nobody who waits for both can \
    be half as fast again. Waiting for less is \
    [decided against](docs/decisions/0019-mongo-a-release-waits-for-the-majority.md).";
/// What a field that is set and cleared leaves out.
const WHY_PEER: &str = "`distributed-lock` sets and clears one field, as the two bare updates do. It has no epoch and no \
    second mode, remembers nothing of what was released, and does not look for what else is in its document: that is \
    the processor time that ours takes beyond it, which shows where a server alone waits for its disk only.";

/// Those who have this mode, of those who are there.
fn rivals(mode: Mode, url: &str) -> Vec<Rival> {
    let seed = Other::start(SEED, "LEASE_BENCH_SEED", &["-c", include_str!("seed.py"), url]);
    let at_least = if mode == Mode::Writer { 1.5 } else { 2.0 };
    let seed = seed.map(|other| Rival { other, at_least, took: Times::default() });
    // It writes as its URL says, and ours are there when a majority has them on its disks.
    let alike = format!("{url}&w=majority&journal=true");
    let peer = || Other::start(PEER, "LEASE_BENCH_PEERS", &["mongo-lock", &alike]);
    let peer = if mode == Mode::Exclusive { peer() } else { None };
    let peer = peer.map(|other| Rival { other, at_least: 1.0, took: Times::default() });
    seed.into_iter().chain(peer).collect()
}

/// Ours and theirs, in turns.
async fn cycles(bench: &mut Bench, place: &str, url: &str, mode: Mode, ours: &Ours, raw: &Raw) {
    let mut rivals = rivals(mode, url);
    let (mut mine, mut by_hand, mut bare) = (Times::default(), Times::default(), Times::default());
    for _ in 0..ROUNDS {
        raw.remember(mode).await;
        mine.mean_of(EACH, async || ours.cycle(mode).await).await;
        // Made before, for it is no part of what they cost.
        let mut commands = raw.cycles(mode, EACH).into_iter();
        raw.remember(mode).await;
        by_hand.mean_of(EACH, async || raw.send(commands.by_ref().take(2)).await).await;
        bare.mean_of(EACH, async || raw.bare_cycle().await).await;
        for rival in &mut rivals {
            rival.took.extend(rival.other.cycles(mode.as_str(), EACH));
        }
    }
    let what = format!("{mode}, acquire and release");
    let mut found = Comparison::new(place, &what, "leasehold", &mine)
        .at_most("its commands by hand", &by_hand, AT_MOST)
        .beside("two bare updates", &bare);
    for Rival { other, at_least, took } in &rivals {
        found = found.at_least(other.name(), took, *at_least);
    }
    bench.compares(match mode {
        Mode::Writer => found.because_of(SEED, WHY_SEED),
        Mode::Exclusive => found.because_of(PEER, WHY_PEER),
    });
}

async fn renewals(bench: &mut Bench, place: &str, ours: &mut Ours, raw: &Raw) {
    let (mut mine, mut by_hand) = (Times::default(), Times::default());
    for _ in 0..ROUNDS {
        mine.mean_of(EACH, async || ours.renew().await).await;
        let mut commands = raw.renewals(ours.held(), EACH).into_iter();
        by_hand.mean_of(EACH, async || raw.send(commands.by_ref().take(1)).await).await;
        ours.skip(EACH);
    }
    let found = Comparison::new(place, "renew", "leasehold", &mine);
    bench.compares(found.at_most("its command by hand", &by_hand, AT_MOST));
}

async fn confirmations(bench: &mut Bench, place: &str, ours: &Ours, raw: &Raw) {
    let (mut mine, mut by_hand) = (Times::default(), Times::default());
    for _ in 0..ROUNDS {
        mine.mean_of(EACH, async || ours.confirm().await).await;
        by_hand.mean_of(EACH, async || raw.confirm().await).await;
    }
    let found = Comparison::new(place, "confirm", "leasehold", &mine);
    bench.compares(found.at_most("its command by hand", &by_hand, AT_MOST));
}

async fn compare(bench: &mut Bench, place: &str, server: &str) {
    let (hosts, query) = server.split_once("/?").unwrap();
    let url = format!("{hosts}/bench?{query}");
    let raw = Raw::overhear(&url).await;
    let store = connect(Options::parse(&url).unwrap()).await.unwrap();
    let mut ours = Ours::start(store).await;
    for mode in [Mode::Writer, Mode::Exclusive] {
        cycles(bench, place, &url, mode, &ours, &raw).await;
    }
    renewals(bench, place, &mut ours, &raw).await;
    confirmations(bench, place, &ours, &raw).await;
    Client::with_uri_str(&url).await.unwrap().database("bench").drop().await.unwrap();
}

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() -> ExitCode {
    let Some(mut bench) = Bench::start() else { return ExitCode::SUCCESS };
    let alone = testbed::mongo::standalone().unwrap();
    compare(&mut bench, "MongoDB, a server alone", alone.url()).await;
    drop(alone);
    let set = testbed::mongo::ReplicaSet::start(3).unwrap();
    compare(&mut bench, "MongoDB, a replica set of three", set.url()).await;
    bench.end()
}
