//! A lease in a bucket beside the bare requests that it makes, and beside borg's lock on the same
//! server, in turn.
//!
//! `cargo bench -p lease-objstore --features aws --bench against_raw` starts SeaweedFS. It prints the
//! medians and their ratios: an acquire and release is to cost at most 1.15 times its bare requests,
//! and a fifth of borg's sequence of store operations, with the sleep of 10 ms that borg makes in
//! it, at the most.
#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nothing to say")]
#![expect(clippy::print_stdout, reason = "its result is lines")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use lease_core::{Coordinator, Jitter, Mode};
use lease_objstore::{Options, connect};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode};
use testbed::s3::S3;

const ROUNDS: usize = 40;

/// How many cycles each makes before it is the next one's turn, so that none pays for the sleep of
/// another.
const A_TURN: usize = 5;

/// What borg waits between its two looks.
const BORG_SLEEP: Duration = Duration::from_millis(10);

fn main() {
    // `cargo test --benches` runs this too; it is measured only when it is asked for.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let server = S3::shared().unwrap();
    server.create_bucket("leases").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure(&server));
}

fn options(server: &S3, prefix: &str) -> Options {
    let url = format!(
        "s3://leases/{prefix}-{}?region={}&endpoint={}&timeout_ms=5000",
        Jitter::system().nonce(),
        server.region(),
        server.url(),
    );
    Options::parse(&url).unwrap().credentials(server.key_id(), server.secret()).unwrap()
}

async fn measure(server: &S3) {
    let leases = Coordinator::new(Arc::new(connect(options(server, "leases")).await.unwrap()));
    let raw = options(server, "raw").object_store().await.unwrap();
    let folder = |name: &str| Path::from(format!("{name}-{}", Jitter::system().nonce()));
    let (exclusive, writer, borg) = (folder("x"), folder("s"), folder("borg"));

    let mut times: [Vec<Duration>; 6] = Default::default();
    let mut number = 0;
    for turn in (0..ROUNDS).flat_map(|_| 0..6) {
        for _ in 0..A_TURN {
            number += 1;
            times[turn].push(match turn {
                0 => cycle(&leases, "alone", Mode::Exclusive).await,
                1 => bare_exclusive(&*raw, &exclusive, number).await,
                2 => cycle(&leases, "shared", Mode::Writer).await,
                3 => bare_writer(&*raw, &writer, number).await,
                4 => borgs(&*raw, &borg, Some(BORG_SLEEP)).await,
                _ => borgs(&*raw, &borg, None).await,
            });
        }
    }
    let [exclusive, bare_exclusive, writer, bare_writer, slept, awake] = times.map(median);
    println!("acquire and release on SeaweedFS, median of {}, in turn:", ROUNDS * A_TURN);
    for (what, time, bare) in
        [("exclusive", exclusive, bare_exclusive), ("writer", writer, bare_writer)]
    {
        println!(
            "{what:<10} {:>7.3} ms   its bare requests {:>7.3} ms   ratio {:.2}   borg takes {:.2} times as \
             long, without its sleep {:.2}",
            milliseconds(time),
            milliseconds(bare),
            ratio(time, bare),
            ratio(slept, time),
            ratio(awake, time),
        );
    }
    println!(
        "borg       {:>7.3} ms   without its sleep {:>7.3} ms",
        milliseconds(slept),
        milliseconds(awake)
    );
}

async fn cycle(leases: &Coordinator, name: &str, mode: Mode) -> Duration {
    let start = Instant::now();
    leases.ask(name, mode).acquire().await.unwrap().release().await.unwrap();
    start.elapsed()
}

/// What a claim's file holds weighs about as much.
fn body() -> object_store::PutPayload {
    object_store::PutPayload::from_static(&[b'a'; 300])
}

/// As `tests/buckets/budget.rs` counts them, of a name that was released by the same client before.
async fn bare_exclusive(store: &dyn ObjectStore, folder: &Path, number: u64) -> Duration {
    let (claim, end) = (
        folder.clone().join(format!("x-{number:016}")),
        folder.clone().join(format!("x-{number:016}.fin")),
    );
    let start = Instant::now();
    store.put_opts(&claim, body(), PutMode::Create.into()).await.unwrap();
    list(store, folder).await;
    store.put(&end, "".into()).await.unwrap();
    list(store, folder).await;
    let elapsed = start.elapsed();
    // Not counted, and done by the lease once for several cycles.
    for path in [claim, end] {
        store.delete(&path).await.unwrap();
    }
    elapsed
}

async fn bare_writer(store: &dyn ObjectStore, folder: &Path, number: u64) -> Duration {
    let claim = folder.clone().join(format!("s-{number:032}"));
    let start = Instant::now();
    list(store, folder).await;
    store.put_opts(&claim, body(), PutMode::Create.into()).await.unwrap();
    list(store, folder).await;
    list(store, folder).await;
    store.delete(&claim).await.unwrap();
    start.elapsed()
}

/// List, store, list, load, list, load, list, load, delete.
async fn borgs(store: &dyn ObjectStore, folder: &Path, sleep: Option<Duration>) -> Duration {
    let lock = folder.clone().join("0123456789abcdef");
    let start = Instant::now();
    list(store, folder).await;
    store.put(&lock, body()).await.unwrap();
    for look in 0..3 {
        if look == 1
            && let Some(sleep) = sleep
        {
            tokio::time::sleep(sleep).await;
        }
        list(store, folder).await;
        store.get(&lock).await.unwrap().bytes().await.unwrap();
    }
    store.delete(&lock).await.unwrap();
    start.elapsed()
}

async fn list(store: &dyn ObjectStore, folder: &Path) {
    store.list_with_delimiter(Some(folder)).await.unwrap();
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}
