//! A lease in a folder beside borg's lock on the same folder, in turn.
//!
//! Borg's lock is replayed as the sequence of store operations that it makes for one exclusive
//! acquire and release: list, store, list, load, list, load, list, load, delete, with a sleep of
//! 10 ms between the first look and the second, which is there to let a racer show. The goal is a
//! tenth of borg's with its sleep. `flock(2)` and the crate `distributed-lock` take their turns where
//! `LEASE_BENCH_PEERS` names the program of `benches/peers`, as `cargo xtask bench` does.
//!
//! Borg flushes nothing to disk, so its terms are those of the leases that are not durable. The
//! durable ones, the default, wait for one flush for each exclusive, which on most disks takes longer
//! than all else of the cycle; beside them is borg's sequence with its one file flushed.
#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nothing to say")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use leasehold::objstore::{Options, connect};
use leasehold::{Coordinator, Mode};
use measure::{Bench, Comparison, Other, Times};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

const ROUNDS: usize = 20;

/// How many cycles each makes before it is the next one's turn: so that it finds the disk and its
/// cache as it left them itself, not as a cycle that sleeps or flushes nothing did.
const A_TURN: usize = 10;

/// What borg waits between its two looks, on local disks.
const BORG_SLEEP: Duration = Duration::from_millis(10);

/// How many times as long borg is to take.
const OF_BORG: f64 = 10.0;

fn main() -> ExitCode {
    let Some(bench) = Bench::start() else { return ExitCode::SUCCESS };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure(bench))
}

async fn measure(mut bench: Bench) -> ExitCode {
    let folder = tempfile::tempdir().unwrap();
    let leases = folder.path().join("leases");
    let durable = Arc::new(connect(Options::local(&leases)).await.unwrap());
    let loose = Arc::new(connect(Options::local(&leases).durable(false)).await.unwrap());
    let (durable, loose) = (Coordinator::new(durable), Coordinator::new(loose));
    let locks = folder.path().join("locks");
    std::fs::create_dir(&locks).unwrap();
    let borg = LocalFileSystem::new_with_prefix(&locks).unwrap();
    let flushed = LocalFileSystem::new_with_prefix(&locks).unwrap().with_fsync(true);
    let mut others = others(folder.path());

    let mut times: [Times; 6] = Default::default();
    let mut theirs = vec![Times::default(); others.len()];
    for _ in 0..ROUNDS {
        for (turn, times) in times.iter_mut().enumerate() {
            let cycle = async || match turn {
                0 => cycle(&durable, "durable", Mode::Exclusive).await,
                1 => cycle(&loose, "loose", Mode::Exclusive).await,
                2 => cycle(&loose, "writers", Mode::Writer).await,
                3 => borgs_cycle(&borg, Some(BORG_SLEEP)).await,
                4 => borgs_cycle(&borg, None).await,
                _ => borgs_cycle(&flushed, Some(BORG_SLEEP)).await,
            };
            times.mean_of(A_TURN, cycle).await;
        }
        for (other, times) in others.iter_mut().zip(&mut theirs) {
            times.extend(other.cycles("exclusive", A_TURN));
        }
    }
    let [durable, loose, writer, slept, awake, flushed] = times;
    let place = "a folder";
    bench.compares(
        Comparison::new(place, "exclusive, flushed to disk", "leasehold", &durable)
            .beside("borg's sequence, flushed, with its sleep", &flushed),
    );
    for (mode, ours) in [("exclusive", &loose), ("writer", &writer)] {
        let what = format!("{mode}, not flushed");
        let mut found = Comparison::new(place, &what, "leasehold", ours)
            .at_least("borg's sequence, with its sleep", &slept, OF_BORG)
            .beside("borg's sequence, without it", &awake);
        if mode == "exclusive" {
            for (other, times) in others.iter().zip(&theirs) {
                found = found.beside(other.name(), times);
            }
            found = found.because_of(FLOCK, LOCKS_OF_THE_SYSTEM);
        }
        bench.compares(found);
    }
    bench.end()
}

/// How it is called.
const FLOCK: &str = "flock(2)";
/// Why locks of the system are the faster ones.
const LOCKS_OF_THE_SYSTEM: &str = "The others keep a lock of the system's on one file, in one machine's memory: \
    they tell nobody who holds it, since when and for how long, end with their process only, and have no epoch and no \
    second mode. A lease is a few files that any machine with this folder can read, judge and take over.";

/// Other locks in a folder.
fn others(folder: &std::path::Path) -> Vec<Other> {
    let start = |name, which| {
        let at = folder.join(which);
        Other::start(name, "LEASE_BENCH_PEERS", &[which, at.to_str().unwrap()])
    };
    let all = [start(FLOCK, "flock"), start("distributed-lock 0.2, file", "file-lock")];
    all.into_iter().flatten().collect()
}

async fn cycle(leases: &Coordinator, name: &str, mode: Mode) {
    leases.ask(name, mode).acquire().await.unwrap().release().await.unwrap();
}

async fn borgs_cycle(store: &LocalFileSystem, sleep: Option<Duration>) {
    let lock = Path::from("locks/0123456789abcdef");
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
}

async fn list(store: &LocalFileSystem) {
    let _: Vec<_> = store.list(Some(&Path::from("locks"))).try_collect().await.unwrap();
}
