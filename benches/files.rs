//! A lease in a folder beside borg's lock on the same folder, in turn.
//!
//! Borg's lock is replayed as the sequence of store operations that it makes for one exclusive
//! acquire and release: list, store, list, load, list, load, list, load, delete, with a sleep of
//! 10 ms between the first look and the second, which is there to let a racer show. Prints the
//! medians and their ratios; the goal is a tenth of borg's with its sleep.
//!
//! Borg flushes nothing to disk, so its terms are those of the leases that are not durable. The
//! durable ones, the default, wait for one flush for each exclusive, which on most disks takes longer
//! than all else of the cycle; beside them is borg's sequence with its one file flushed.
#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nothing to say")]
#![expect(clippy::print_stdout, reason = "its result is lines")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use leasehold::objstore::{Options, connect};
use leasehold::{Coordinator, Mode};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

const ROUNDS: usize = 20;

/// How many cycles each makes before it is the next one's turn: so that it finds the disk and its
/// cache as it left them itself, not as a cycle that sleeps or flushes nothing did.
const A_TURN: usize = 10;

/// What borg waits between its two looks, on local disks.
const BORG_SLEEP: Duration = Duration::from_millis(10);

fn main() {
    // `cargo test --benches` runs this too; it is measured only when it is asked for.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure());
}

async fn measure() {
    let folder = tempfile::tempdir().unwrap();
    let leases = folder.path().join("leases");
    let durable = Arc::new(connect(Options::local(&leases)).await.unwrap());
    let loose = Arc::new(connect(Options::local(&leases).durable(false)).await.unwrap());
    let (durable, loose) = (Coordinator::new(durable), Coordinator::new(loose));
    let locks = folder.path().join("locks");
    std::fs::create_dir(&locks).unwrap();
    let borg = LocalFileSystem::new_with_prefix(&locks).unwrap();
    let flushed = LocalFileSystem::new_with_prefix(&locks).unwrap().with_fsync(true);

    let mut times: [Vec<Duration>; 6] = Default::default();
    for turn in (0..ROUNDS).flat_map(|_| 0..6) {
        for _ in 0..A_TURN {
            times[turn].push(match turn {
                0 => cycle(&durable, "durable", Mode::Exclusive).await,
                1 => cycle(&loose, "loose", Mode::Exclusive).await,
                2 => cycle(&loose, "writers", Mode::Writer).await,
                3 => borgs_cycle(&borg, Some(BORG_SLEEP)).await,
                4 => borgs_cycle(&borg, None).await,
                _ => borgs_cycle(&flushed, Some(BORG_SLEEP)).await,
            });
        }
    }
    let [durable, loose, writer, slept, awake, flushed] = times.map(median);
    println!("acquire and release in a folder, median of {}, in turn:", ROUNDS * A_TURN);
    for (what, time) in [
        ("exclusive, durable", durable),
        ("exclusive, not durable", loose),
        ("writer", writer),
        ("borg's sequence, with its sleep", slept),
        ("borg's sequence, without it", awake),
        ("borg's sequence, flushed, with it", flushed),
    ] {
        let ratio = |other: Duration| other.as_secs_f64() / time.as_secs_f64();
        println!(
            "{what:<34} {:>8.3} ms   borg takes {:>6.1} times as long, without its sleep {:>5.2}",
            time.as_secs_f64() * 1000.0,
            ratio(slept),
            ratio(awake)
        );
    }
}

async fn cycle(leases: &Coordinator, name: &str, mode: Mode) -> Duration {
    let start = Instant::now();
    leases.ask(name, mode).acquire().await.unwrap().release().await.unwrap();
    start.elapsed()
}

async fn borgs_cycle(store: &LocalFileSystem, sleep: Option<Duration>) -> Duration {
    let lock = Path::from("locks/0123456789abcdef");
    let start = Instant::now();
    list(store).await;
    store.put(&lock, r#"{"exclusive": true, "hostid": "h", "processid": 1}"#.into()).await.unwrap();
    for look in 0..3 {
        if look == 1
            && let Some(sleep) = sleep
        {
            tokio::time::sleep(sleep).await;
        }
        list(store).await;
        store.get(&lock).await.unwrap().bytes().await.unwrap();
    }
    store.delete(&lock).await.unwrap();
    start.elapsed()
}

async fn list(store: &LocalFileSystem) {
    let _: Vec<_> = store.list(Some(&Path::from("locks"))).try_collect().await.unwrap();
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
