//! What a lease costs beyond the requests that it makes: acquire and release, a renewal and a
//! confirmation, against the same publishes by hand, in turns, on one server. What a thousand renewals at once take,
//! against one, and against as many publishes by hand at once, at several distances from the server. And how
//! long it takes from a release to the grant of who waits for it.
//!
//! `cargo bench -p lease-nats --bench nats_against_raw`
#![expect(clippy::unwrap_used, reason = "a bench that cannot run is a failure")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, HeaderMap};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lease_core::clock::SystemClock;
use lease_core::{Backend, Clock, Coordinator, Holding, Jitter, Mode, Name};
use lease_nats::{Nats, Options, connect};
use measure::{Bench, Comparison, Curve, Figure, Line, Times, Wish, hands};

#[path = "../tests/support/distance.rs"]
#[expect(unreachable_pub, reason = "the tests use it too")]
mod distance;

const ROUNDS: usize = 21;
/// How many cycles each makes before it is the next one's turn.
const EACH: usize = 400;
/// The most that a lease may cost beyond its requests.
const AT_MOST: f64 = 1.15;
/// How far the server is, one way, when a thousand are renewed: here, in the next building, in the next
/// country.
const AWAY: [Duration; 4] =
    [Duration::ZERO, Duration::from_millis(2), Duration::from_millis(5), Duration::from_millis(20)];
/// The most that a thousand may take, as many times what one takes.
const OF_A_THOUSAND: f64 = 5.0;

/// Where the requests by hand go.
const BY_HAND: &str = "$KV.bench.raw";

/// The requests of a lease, by hand.
struct Raw {
    client: Client,
    /// As many bytes as the lease's own writes have.
    bodies: [Vec<u8>; 2],
    last: u64,
}

impl Raw {
    /// Writes as long as those that this store makes of a name that is often held.
    async fn like(store: &Nats, name: &Name, client: Client) -> Self {
        let mut bodies = [Vec::new(), Vec::new()];
        for _ in 0..32 {
            let holding = hands::acquire(store, name.as_str(), Mode::Exclusive).await;
            bodies[0] = last_of(&client, name).await;
            store.withdraw(&holding).await.unwrap();
            bodies[1] = last_of(&client, name).await;
        }
        let headers = HeaderMap::new();
        let first = client.request_with_headers(BY_HAND, headers, "".into()).await.unwrap();
        Self { client, bodies, last: acknowledged(&first.payload) }
    }

    async fn publishes(&mut self, which: usize, headers: HeaderMap) {
        let body = self.bodies[which].clone().into();
        let answer = self.client.request_with_headers(BY_HAND, headers, body).await;
        self.last = acknowledged(&answer.unwrap().payload);
    }
}

impl Raw {
    /// A probe that is stored only while what was published last is the last.
    async fn probes(&self) {
        let mut headers = over(self.last);
        headers.insert("Nats-Expected-Last-Subject-Sequence-Subject", BY_HAND);
        headers.insert("Nats-TTL", "60s");
        let probe = format!("{BY_HAND}.probe");
        let answer = self.client.request_with_headers(probe, headers, "{}".into()).await;
        acknowledged(&answer.unwrap().payload);
    }
}

/// The condition that the last write of the subject is this one.
fn over(last: u64) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Expected-Last-Subject-Sequence", last.to_string());
    headers
}

/// The same, with what tells waiters that this write is no news to them.
fn renewing(last: u64) -> HeaderMap {
    let mut headers = over(last);
    headers.insert("Lease-Quiet", "1");
    headers
}

fn acknowledged(answer: &[u8]) -> u64 {
    #[derive(serde::Deserialize)]
    struct Acknowledged {
        seq: u64,
    }
    serde_json::from_slice::<Acknowledged>(answer).unwrap().seq
}

/// What stands in the key of a name's exclusive.
async fn last_of(client: &Client, name: &Name) -> Vec<u8> {
    let subject = format!("$KV.bench.r.{}.x", name.portable());
    let request = serde_json::json!({ "last_by_subj": subject }).to_string();
    let answer = client.request("$JS.API.STREAM.MSG.GET.KV_bench", request.into()).await.unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&answer.payload).unwrap();
    STANDARD.decode(answer["message"]["data"].as_str().unwrap()).unwrap()
}

/// A client whose connection has a thread of its own, as a store's has where nothing else is said.
fn on_its_own_thread(server: &str) -> Client {
    let (server, (sender, client)) = (server.to_owned(), std::sync::mpsc::channel());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            sender.send(async_nats::connect(server).await.unwrap()).unwrap();
            std::future::pending::<()>().await;
        });
    });
    client.recv().unwrap()
}

/// Renews them, and says what that took in all.
async fn renews(store: &Nats, mine: &mut [Holding]) -> Duration {
    let start = SystemClock.now();
    hands::renew(store, mine).await;
    SystemClock.now().since(start)
}

/// What a thousand renewals at once take, one alone, and as many publishes by hand at once, this far
/// from the server, one way.
async fn a_thousand_at_once(server: &str, away: Duration) -> [Times; 3] {
    const LEASES: usize = 1000;
    const EACH: usize = 11;
    let url = distance::far(server, away).await;
    let store = connect(Options::new([url], "bench")).await.unwrap();
    let run = Jitter::system().nonce();
    let names = (0..LEASES).map(|i| Name::parse(format!("{run}/{i}")).unwrap());
    let names: Vec<Name> = names.collect();
    let taken = names.iter().map(|name| hands::acquire(&store, name.as_str(), Mode::Exclusive));
    let mut mine = futures::future::join_all(taken).await;
    let client = async_nats::connect(distance::far(server, away).await).await.unwrap();
    let body = last_of(&client, &names[0]).await;
    let subjects: Vec<String> = (0..LEASES).map(|i| format!("{BY_HAND}.{run}.{i}")).collect();
    let mut last = vec![0; LEASES];
    let (mut all, mut one, mut by_hand) = (Times::default(), Times::default(), Times::default());
    for _ in 0..EACH {
        one.push(renews(&store, &mut mine[..1]).await);
        all.push(renews(&store, &mut mine).await);
        by_hand.push(publishes_at_once(&client, &subjects, &body, &mut last).await);
    }
    [all, one, by_hand]
}

/// At several distances; the last is to keep to the wish.
async fn at_distances(bench: &mut Bench, server: &str) {
    let (mut ratios, mut by_hand) = (Vec::new(), Vec::new());
    for away in AWAY {
        let [all, one, hand] = a_thousand_at_once(server, away).await;
        let place = format!("NATS, {away:?} away");
        let found = Comparison::new(&place, "1000 renewals at once", "leasehold", &all);
        let found = found.at_most("as many publishes by hand at once", &hand, AT_MOST);
        bench.compares(found.beside("one renewal", &one));
        ratios.push(all.median().as_secs_f64() / one.median().as_secs_f64());
        by_hand.push(hand.median().as_secs_f64() / one.median().as_secs_f64());
    }
    let furthest = ratios.last().copied().unwrap_or(f64::NAN);
    let place = format!("NATS, {:?} away", AWAY[AWAY.len() - 1]);
    let found = Figure::new(&place, "1000 renewals at once, by one renewal", furthest, "times");
    bench.counts(found.wish(Wish::AtMost(OF_A_THOUSAND)));
    bench.draws(Curve {
        title: "NATS: 1000 renewals at once, by how long one takes".to_owned(),
        x: "ms to the server".to_owned(),
        y: "times one renewal".to_owned(),
        at: AWAY.map(|away| away.as_secs_f64() * 1e3).to_vec(),
        lines: vec![
            Line { name: "leasehold".to_owned(), values: ratios },
            Line { name: "publishes by hand".to_owned(), values: by_hand },
        ],
    });
}

/// What as many publishes take that are sent before the first is answered, each over what is there.
async fn publishes_at_once(
    client: &Client,
    subjects: &[String],
    body: &[u8],
    last: &mut [u64],
) -> Duration {
    let start = SystemClock.now();
    let publishes = subjects.iter().zip(last).map(|(subject, last)| async move {
        let headers = renewing(*last);
        let body = body.to_vec().into();
        let answer = client.request_with_headers(subject.clone(), headers, body).await;
        *last = acknowledged(&answer.unwrap().payload);
    });
    futures::future::join_all(publishes).await;
    SystemClock.now().since(start)
}

/// From a release to the grant of somebody in another process, as good as, who waits for it.
async fn hand_over(bench: &mut Bench, server: &str) {
    const EACH: usize = 200;
    let store = || async { Arc::new(connect(Options::new([server], "bench")).await.unwrap()) };
    let (ann, bob) = (Coordinator::new(store().await), Coordinator::new(store().await));
    let mut took = Times::default();
    for round in 0..EACH {
        let name = format!("hand-over/{round}");
        let held = ann.exclusive(name.as_str()).acquire().await.unwrap();
        let waits = bob.exclusive(name.as_str()).wait(Duration::from_secs(30)).acquire();
        let release = async {
            // Until the other one waits.
            SystemClock.sleep_until(SystemClock.now().plus(Duration::from_millis(50))).await;
            let start = SystemClock.now();
            held.release().await.unwrap();
            start
        };
        let (lease, start) =
            tokio::join!(async { (waits.await.unwrap(), SystemClock.now()) }, release);
        took.push(lease.1.since(start));
        lease.0.release().await.unwrap();
    }
    for (what, percent) in [("median", 50), ("99 of 100 within", 99)] {
        let value = took.percentile(percent).as_secs_f64() * 1e6;
        let what = format!("from a release to the grant of who waits, {what}");
        bench.counts(Figure::new("NATS, one server", &what, value, "µs"));
    }
}

/// Ours and theirs by hand, in turns.
async fn against_raw(bench: &mut Bench, place: &str, store: &Nats, client: Client) {
    let (name, held) = (Name::parse("job").unwrap(), Name::parse(place).unwrap());
    let mut raw = Raw::like(store, &name, client).await;
    let mut mine = hands::acquire(store, held.as_str(), Mode::Exclusive).await;
    let mut times: [[Times; 2]; 3] = Default::default();
    let [[cycles, cycles_raw], [renewals, renewals_raw], [looks, looks_raw]] = &mut times;
    for _ in 0..ROUNDS {
        let cycle = async || hands::cycle(store, name.as_str(), Mode::Exclusive).await;
        cycles.mean_of(EACH, cycle).await;
        let by_hand = async || {
            raw.publishes(0, over(raw.last)).await;
            raw.publishes(1, over(raw.last)).await;
        };
        cycles_raw.mean_of(EACH, by_hand).await;
        let renew = async || {
            renews(store, std::slice::from_mut(&mut mine)).await;
        };
        renewals.mean_of(EACH, renew).await;
        renewals_raw.mean_of(EACH, async || raw.publishes(0, renewing(raw.last)).await).await;
        looks.mean_of(EACH, async || hands::confirm(store, &mine).await).await;
        looks_raw.mean_of(EACH, async || raw.probes().await).await;
    }
    let place = format!("NATS, one server, its connection {place}");
    for (what, [ours, by_hand]) in ["acquire and release", "renew", "confirm"].iter().zip(&times) {
        let found = Comparison::new(&place, what, "leasehold", ours);
        bench.compares(found.at_most("its requests by hand", by_hand, AT_MOST));
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(mut bench) = Bench::start() else { return ExitCode::SUCCESS };
    let server = testbed::nats::single().unwrap();
    let options = Options::new([server.url()], "bench");
    let store = connect(options.clone().on_this_runtime()).await.unwrap();
    let client = async_nats::connect(server.url()).await.unwrap();
    against_raw(&mut bench, "on this thread", &store, client).await;
    let store = connect(options).await.unwrap();
    let client = on_its_own_thread(server.url());
    against_raw(&mut bench, "on another thread", &store, client).await;
    hand_over(&mut bench, server.url()).await;
    at_distances(&mut bench, server.url()).await;
    bench.end()
}
