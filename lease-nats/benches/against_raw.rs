//! What a lease costs beyond the requests that it makes: acquire and release, and a renewal, against
//! the same publishes by hand, in turns, on one server.
//!
//! `cargo bench -p lease-nats`
#![expect(clippy::unwrap_used, reason = "a bench that cannot run is a failure")]
#![expect(clippy::print_stdout, reason = "it shows what it measured")]

use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, HeaderMap};
use lease_core::backend::Taken;
use lease_core::clock::SystemClock;
use lease_core::{Backend, Claim, Clock, HolderInfo, Holding, Jitter, Mode, Name, Policy};
use lease_nats::{Nats, Options, connect};

const ROUNDS: usize = 21;
const EACH: usize = 400;
/// The most that a lease may cost beyond its requests.
const AT_MOST: f64 = 1.15;

/// The requests of a lease, by hand.
struct Raw {
    client: Client,
    subject: String,
    /// As many bytes as the lease's own writes have.
    bodies: [Vec<u8>; 2],
    last: u64,
}

impl Raw {
    async fn publishes(&mut self, which: usize) {
        #[derive(serde::Deserialize)]
        struct Acknowledged {
            seq: u64,
        }
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Last-Subject-Sequence", self.last.to_string());
        let body = self.bodies[which].clone().into();
        let answer = self.client.request_with_headers(self.subject.clone(), headers, body).await;
        let answer: Acknowledged = serde_json::from_slice(&answer.unwrap().payload).unwrap();
        self.last = answer.seq;
    }
}

fn claim(name: &Name) -> Claim {
    let info = HolderInfo::of_this_process().label("bench").build().unwrap();
    Claim {
        name: name.clone(),
        nonce: Jitter::system().nonce(),
        mode: Mode::Exclusive,
        ttl: Duration::from_secs(3600),
        info: Arc::new(info),
    }
}

async fn takes(store: &Nats, name: &Name) -> Holding {
    match store.take(&claim(name), None, &Policy::expired()).await.unwrap() {
        Taken::Granted(grant) => grant.holding,
        other => panic!("it is free: {other:?}"),
    }
}

async fn timed(work: impl Future<Output = ()>) -> Duration {
    let start = SystemClock.now();
    work.await;
    SystemClock.now().since(start) / u32::try_from(EACH).unwrap()
}

fn tell(what: &str, mut ours: Vec<Duration>, mut raw: Vec<Duration>) -> f64 {
    ours.sort();
    raw.sort();
    let (ours, raw) = (ours[ROUNDS / 2], raw[ROUNDS / 2]);
    let ratio = ours.as_secs_f64() / raw.as_secs_f64();
    println!("{what}: {ours:?}, its requests by hand {raw:?}, ratio {ratio:.2}");
    ratio
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let server = testbed::nats::single().unwrap();
    let store = connect(Options::new([server.url()], "bench").on_this_runtime()).await.unwrap();
    let client = async_nats::connect(server.url()).await.unwrap();
    let name = Name::parse("job").unwrap();
    let held = Name::parse("held").unwrap();
    let mut mine = takes(&store, &held).await;
    let bodies = [vec![b'x'; 560], vec![b'x'; 480]];
    let mut raw = Raw { client, subject: "$KV.bench.raw".to_owned(), bodies, last: 0 };

    let (mut cycles, mut cycles_raw) = (Vec::new(), Vec::new());
    let (mut renewals, mut renewals_raw) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let ours = timed(async {
            for _ in 0..EACH {
                let holding = takes(&store, &name).await;
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
                let next = mine.next_beat();
                let renewed = store.renew(std::slice::from_ref(&next)).await.remove(0).unwrap();
                let lease_core::backend::Renewed::Renewed { revision, .. } = renewed else {
                    panic!("it is held: {renewed:?}")
                };
                mine = next.acknowledged(revision);
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
    let cycle = tell("acquire and release", cycles, cycles_raw);
    let renewal = tell("renew", renewals, renewals_raw);
    assert!(cycle <= AT_MOST && renewal <= AT_MOST, "more than {AT_MOST}");
}
