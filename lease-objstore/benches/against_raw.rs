//! A lease in a bucket beside the bare requests that it makes, and beside borg's lock on the same
//! server, in turn.
//!
//! `cargo bench -p lease-objstore --features aws --bench objstore_against_raw` starts SeaweedFS. A lease's steps
//! are to cost at most 1.15 times their bare requests, and an acquire and release a fifth of borg's
//! sequence of store operations, with the sleep of 10 ms that borg makes in it, at the most.
#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nothing to say")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lease_core::{Coordinator, Jitter, Mode};
use lease_objstore::{Options, connect};
use measure::{Bench, Comparison, Times, hands};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode};
use testbed::s3::S3;

const ROUNDS: usize = 40;

/// How many cycles each makes before it is the next one's turn, so that none pays for the sleep of
/// another.
const A_TURN: usize = 5;

/// What borg waits between its two looks.
const BORG_SLEEP: Duration = Duration::from_millis(10);

/// The most that a lease may cost beyond its requests.
const AT_MOST: f64 = 1.15;
/// How many times as long borg is to take.
const OF_BORG: f64 = 5.0;

/// Who sleeps.
const BORG: &str = "borg's sequence, with its sleep";
/// Why the wish goes by the server.
const OF_THE_SERVER: &str = "Borg makes nine requests and sleeps, a lease four or five. Where a request is quick the sleep \
    decides, and borg takes more than five times as long; where it is slow the requests do, and the bare ones of a \
    lease take about a fifth of borg's whole sequence already.";

fn main() -> ExitCode {
    let Some(bench) = Bench::start() else { return ExitCode::SUCCESS };
    let server = S3::shared().unwrap();
    server.create_bucket("leases").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure(bench, &server))
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

async fn measure(mut bench: Bench, server: &S3) -> ExitCode {
    let store = Arc::new(connect(options(server, "leases")).await.unwrap());
    let leases = Coordinator::new(store.clone());
    let raw = options(server, "raw").object_store().await.unwrap();
    let folder = |name: &str| Path::from(format!("{name}-{}", Jitter::system().nonce()));
    let (exclusive, writer, borg) = (folder("x"), folder("s"), folder("borg"));
    let mut held = [hands::acquire(&*store, "held", Mode::Exclusive).await];
    let beat = folder("held").join("x-1");
    raw.put(&beat, body()).await.unwrap();

    let mut times: [Times; 10] = Default::default();
    let mut number = 0;
    let subjects = times.len();
    for turn in (0..ROUNDS).flat_map(|_| 0..subjects) {
        for _ in 0..A_TURN {
            number += 1;
            let start = Instant::now();
            let took = match turn {
                0 => cycle(&leases, "alone", Mode::Exclusive).await,
                1 => bare_exclusive(&*raw, &exclusive, number).await,
                2 => cycle(&leases, "shared", Mode::Writer).await,
                3 => bare_writer(&*raw, &writer, number).await,
                4 => borgs(&*raw, &borg, Some(BORG_SLEEP)).await,
                5 => borgs(&*raw, &borg, None).await,
                6 => timed(start, hands::renew(&*store, &mut held)).await,
                7 => timed(start, bare_renewal(&*raw, &beat)).await,
                8 => timed(start, hands::confirm(&*store, &held[0])).await,
                _ => timed(start, list(&*raw, &folder_of(&beat))).await,
            };
            times[turn].push(took);
        }
    }
    let place = "SeaweedFS, by S3";
    let [
        exclusive,
        bare_exclusive,
        writer,
        bare_writer,
        slept,
        awake,
        renew,
        bare_renewal,
        confirm,
        look,
    ] = times;
    for (mode, ours, bare) in
        [("exclusive", exclusive, bare_exclusive), ("writer", writer, bare_writer)]
    {
        let what = format!("{mode}, acquire and release");
        let found = Comparison::new(place, &what, "leasehold", &ours)
            .at_most("its bare requests", &bare, AT_MOST)
            .at_least(BORG, &slept, OF_BORG)
            .beside("borg's sequence, without it", &awake);
        bench.compares(found.because_of(BORG, OF_THE_SERVER));
    }
    for (what, ours, bare) in [("renew", renew, bare_renewal), ("confirm", confirm, look)] {
        let found = Comparison::new(place, what, "leasehold", &ours);
        bench.compares(found.at_most("its bare requests", &bare, AT_MOST));
    }
    bench.end()
}

async fn timed(start: Instant, work: impl Future<Output = ()>) -> Duration {
    work.await;
    start.elapsed()
}

/// A put and the look behind it.
async fn bare_renewal(store: &dyn ObjectStore, beat: &Path) {
    store.put(beat, body()).await.unwrap();
    list(store, &folder_of(beat)).await;
}

fn folder_of(path: &Path) -> Path {
    Path::from_iter(path.parts().take(path.parts().count() - 1))
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
