//! What a lease costs beyond the requests that it makes: acquire and release, and a renewal, against
//! the same publishes by hand, in turns, on one server. What a thousand renewals at once take,
//! against one, and against as many publishes by hand at once, at several distances from the server. And how
//! long it takes from a release to the grant of who waits for it.
//!
//! `cargo bench -p lease-nats --bench against_raw`
#![expect(clippy::unwrap_used, reason = "a bench that cannot run is a failure")]
#![expect(clippy::print_stdout, reason = "it shows what it measured")]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_nats::{Client, HeaderMap};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lease_core::backend::{Renewed, Taken};
use lease_core::clock::SystemClock;
use lease_core::{
    Backend, Claim, Clock, Coordinator, HolderInfo, Holding, Jitter, Mode, Name, Policy,
};
use lease_nats::{Nats, Options, connect};

#[path = "../tests/support/distance.rs"]
#[expect(unreachable_pub, reason = "the tests use it too")]
mod distance;

const ROUNDS: usize = 21;
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
            let holding = takes(store, name).await;
            bodies[0] = last_of(&client, name).await;
            store.withdraw(&holding).await.unwrap();
            bodies[1] = last_of(&client, name).await;
        }
        let headers = HeaderMap::new();
        let first = client.request_with_headers(BY_HAND, headers, "".into()).await.unwrap();
        Self { client, bodies, last: acknowledged(&first.payload) }
    }

    async fn publishes(&mut self, which: usize) {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Last-Subject-Sequence", self.last.to_string());
        let body = self.bodies[which].clone().into();
        let answer = self.client.request_with_headers(BY_HAND, headers, body).await;
        self.last = acknowledged(&answer.unwrap().payload);
    }
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

fn claim(name: &Name) -> Claim {
    /// Read from the system once, as a coordinator does.
    static INFO: LazyLock<Arc<HolderInfo>> =
        LazyLock::new(|| Arc::new(HolderInfo::of_this_process().label("bench").build().unwrap()));
    Claim {
        name: name.clone(),
        nonce: Jitter::system().nonce(),
        mode: Mode::Exclusive,
        ttl: Duration::from_secs(3600),
        info: Arc::clone(&INFO),
    }
}

async fn takes(store: &Nats, name: &Name) -> Holding {
    match store.take(&claim(name), None, &Policy::expired()).await.unwrap() {
        Taken::Granted(grant) => grant.holding,
        other => panic!("it is free: {other:?}"),
    }
}

/// Renews them, and says what that took in all.
async fn renews(store: &Nats, mine: &mut [Holding]) -> Duration {
    let due: Vec<Holding> = mine.iter().map(Holding::next_beat).collect();
    let start = SystemClock.now();
    let answers = store.renew(&due).await;
    let took = SystemClock.now().since(start);
    for ((mine, due), answer) in mine.iter_mut().zip(due).zip(answers) {
        let Renewed::Renewed { revision, .. } = answer.unwrap() else { panic!("it is held") };
        *mine = due.acknowledged(revision);
    }
    took
}

/// What a thousand renewals at once take, against one, this far from the server, one way.
async fn a_thousand_at_once(server: &str, away: Duration) -> f64 {
    const LEASES: usize = 1000;
    const EACH: usize = 11;
    let url = distance::far(server, away).await;
    let store = connect(Options::new([url], "bench")).await.unwrap();
    let run = Jitter::system().nonce();
    let names = (0..LEASES).map(|i| Name::parse(format!("{run}/{i}")).unwrap());
    let names: Vec<Name> = names.collect();
    let taken = names.iter().map(|name| takes(&store, name));
    let mut mine = futures::future::join_all(taken).await;
    let client = async_nats::connect(distance::far(server, away).await).await.unwrap();
    let body = last_of(&client, &names[0]).await;
    let (mut all, mut one, mut by_hand) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..EACH {
        one.push(renews(&store, &mut mine[..1]).await);
        all.push(renews(&store, &mut mine).await);
        by_hand.push(publishes_at_once(&client, &body, LEASES).await);
    }
    let (all, one, by_hand) = (middle(all), middle(one), middle(by_hand));
    let ratio = all.as_secs_f64() / one.as_secs_f64();
    println!(
        "{LEASES} renewals at once, {away:?} away: {all:?}, one {one:?}, ratio {ratio:.2}; as many publishes \
         by hand at once {by_hand:?}"
    );
    ratio
}

/// What as many publishes take that are sent before the first is answered.
async fn publishes_at_once(client: &Client, body: &[u8], many: usize) -> Duration {
    let start = SystemClock.now();
    let publishes = (0..many).map(|i| async move {
        let body = body.to_vec().into();
        let answer = client.request(format!("{BY_HAND}.{i}"), body).await;
        acknowledged(&answer.unwrap().payload)
    });
    futures::future::join_all(publishes).await;
    SystemClock.now().since(start)
}

/// From a release to the grant of somebody in another process, as good as, who waits for it.
async fn hand_over(server: &str) {
    const EACH: usize = 200;
    let store = || async { Arc::new(connect(Options::new([server], "bench")).await.unwrap()) };
    let (ann, bob) = (Coordinator::new(store().await), Coordinator::new(store().await));
    let mut took = Vec::new();
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
    took.sort();
    let (half, most) = (took[EACH / 2], took[EACH * 99 / 100]);
    println!(
        "hand-over, from the release to the grant: median {half:?}, 99 of 100 within {most:?}"
    );
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

async fn timed(work: impl Future<Output = ()>) -> Duration {
    let start = SystemClock.now();
    work.await;
    SystemClock.now().since(start) / u32::try_from(EACH).unwrap()
}

fn tell(what: &str, ours: Vec<Duration>, raw: Vec<Duration>) -> f64 {
    let (ours, raw) = (middle(ours), middle(raw));
    let ratio = ours.as_secs_f64() / raw.as_secs_f64();
    println!("{what}: {ours:?}, its requests by hand {raw:?}, ratio {ratio:.2}");
    ratio
}

/// How many times as long as their requests a lease's steps take; the larger one.
async fn against_raw(place: &str, store: &Nats, client: Client) -> f64 {
    let (name, held) = (Name::parse("job").unwrap(), Name::parse(place).unwrap());
    let mut raw = Raw::like(store, &name, client).await;
    let mut mine = takes(store, &held).await;
    let (mut cycles, mut cycles_raw) = (Vec::new(), Vec::new());
    let (mut renewals, mut renewals_raw) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let ours = timed(async {
            for _ in 0..EACH {
                let holding = takes(store, &name).await;
                store.withdraw(&holding).await.unwrap();
            }
        });
        cycles.push(ours.await);
        let by_hand = timed(async {
            for _ in 0..EACH {
                raw.publishes(0).await;
                raw.publishes(1).await;
            }
        });
        cycles_raw.push(by_hand.await);
        let ours = timed(async {
            for _ in 0..EACH {
                renews(store, std::slice::from_mut(&mut mine)).await;
            }
        });
        renewals.push(ours.await);
        let by_hand = timed(async {
            for _ in 0..EACH {
                raw.publishes(0).await;
            }
        });
        renewals_raw.push(by_hand.await);
    }
    let cycle = tell(&format!("acquire and release, {place}"), cycles, cycles_raw);
    cycle.max(tell(&format!("renew, {place}"), renewals, renewals_raw))
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let server = testbed::nats::single().unwrap();
    let options = Options::new([server.url()], "bench");
    let store = connect(options.clone().on_this_runtime()).await.unwrap();
    let client = async_nats::connect(server.url()).await.unwrap();
    let here = against_raw("on this thread", &store, client).await;
    let store = connect(options).await.unwrap();
    let there = against_raw("on another thread", &store, on_its_own_thread(server.url())).await;
    hand_over(server.url()).await;
    let mut furthest = 0.0;
    for away in AWAY {
        furthest = a_thousand_at_once(server.url(), away).await;
    }
    assert!(here <= AT_MOST && there <= AT_MOST, "more than {AT_MOST}");
    assert!(furthest <= OF_A_THOUSAND, "more than {OF_A_THOUSAND}");
}
