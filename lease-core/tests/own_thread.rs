//! The keeper on its own thread: what the application does to its own runtime does not matter.
#![expect(clippy::unwrap_used, reason = "a story fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "these stories are about real threads and time")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use lease_core::keeper::KeeperMode;
use lease_core::layer::{Fault, Faulty, Method};
use lease_core::memory::Memory;
use lease_core::{Coordinator, Error, LossReason, Status, Timing};

const SECOND: Duration = Duration::from_secs(1);

fn coordinator(store: &Memory, ttl: Duration) -> Coordinator {
    Coordinator::builder(Arc::new(store.clone()))
        .timing(Timing::with_ttl(ttl).build().unwrap())
        .build()
}

/// Polls for a condition with a deadline.
fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < SECOND * 10 {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// How many keepers' threads this process has.
#[cfg(target_os = "linux")]
fn keepers() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default()
    };
    tasks.map(name).filter(|name| name.trim() == "lease-keeper").count()
}

/// The only thread of the application's runtime is blocked for three ttls. The lease is renewed all
/// the while. (Case 10.)
#[tokio::test(flavor = "current_thread")]
async fn a_blocked_runtime_does_not_starve_the_renewals() {
    let store = Memory::new();
    let lease = coordinator(&store, SECOND).exclusive("job").acquire().await.unwrap();

    std::thread::sleep(SECOND * 3);

    lease.check().unwrap();
    let refused = coordinator(&store, SECOND).exclusive("job").acquire().await;
    assert!(matches!(refused, Err(Error::Held { .. })));
}

/// A task that holds a lease is aborted; its lease is released, though the task's own runtime does
/// nothing for it any more. (Case 24.)
#[test]
fn a_lease_is_released_though_its_runtime_is_gone() {
    let store = Memory::new();
    let leases = coordinator(&store, SECOND * 60);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let task = runtime.spawn(async move {
        let lease = leases.exclusive("job").acquire().await.unwrap();
        tell.send(()).unwrap();
        std::future::pending::<()>().await;
        drop(lease);
    });
    told.recv().unwrap();
    task.abort();
    drop(runtime);

    let other = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ask = coordinator(&store, SECOND * 60).exclusive("job").wait(SECOND * 10).acquire();
    other.block_on(async { ask.await.unwrap().release().await.unwrap() });
}

/// A lease that is dropped outside any runtime is released by the keeper's.
#[test]
fn a_lease_may_be_dropped_anywhere() {
    let store = Memory::new();
    let leases = coordinator(&store, SECOND * 60);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let lease = runtime.block_on(leases.exclusive("job").acquire()).unwrap();
    drop(runtime);

    std::thread::spawn(move || drop(lease)).join().unwrap();

    let name = "job".parse().unwrap();
    assert!(eventually(|| {
        let looking = tokio::runtime::Builder::new_current_thread().build().unwrap();
        looking.block_on(lease_core::Backend::observe(&store, &name)).unwrap().is_free()
    }));
}

/// The last lease is dropped after its coordinator, and the store is slow to answer: the thread
/// stays until the lease is released.
#[test]
fn the_last_lease_is_released_before_the_thread_ends() {
    let store = Memory::new();
    let network = Faulty::new(Arc::new(store.clone()));
    let leases = Coordinator::builder(Arc::new(network.clone()))
        .timing(Timing::with_ttl(SECOND * 60).build().unwrap())
        .build();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let lease = runtime.block_on(leases.exclusive("job").acquire()).unwrap();
    let held_up = network.hold(Method::Withdraw);
    drop(leases);
    drop(lease);
    runtime.block_on(held_up.reached());
    // Long enough for a thread to end that does not wait.
    std::thread::sleep(SECOND / 10);

    held_up.open();

    let name = "job".parse().unwrap();
    assert!(eventually(|| {
        runtime.block_on(lease_core::Backend::observe(&store, &name)).unwrap().is_free()
    }));
}

/// There is one thread for a coordinator, none before its first lease, and none after its last.
/// (Case 25.) One test, since it counts the threads of the whole process.
#[cfg(target_os = "linux")]
#[test]
fn the_thread_comes_with_the_first_lease_and_goes_with_the_last() {
    if std::env::var_os("LEASE_COUNT_THREADS").is_none() {
        // The other tests of this binary have keepers of their own: count in a process apart.
        let itself = std::env::current_exe().unwrap();
        let status = std::process::Command::new(itself)
            .args(["--exact", "the_thread_comes_with_the_first_lease_and_goes_with_the_last"])
            .env("LEASE_COUNT_THREADS", "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let store = Memory::new();
    let leases = coordinator(&store, SECOND * 60);
    assert_eq!(keepers(), 0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut held = Vec::new();
    for n in 0..100 {
        let name = format!("job {n}");
        held.push(runtime.block_on(leases.exclusive(name).acquire()).unwrap());
    }
    assert_eq!(keepers(), 1);
    drop(leases);
    held.truncate(1);
    assert_eq!(keepers(), 1);
    held.clear();
    assert!(eventually(|| keepers() == 0));
}

/// The machine's clock counts on while the process is stopped; a belief ends with it.
#[tokio::test]
async fn a_lost_lease_says_so_by_itself() {
    let store = Memory::new();
    let lease = coordinator(&store, SECOND / 2).exclusive("job").acquire().await.unwrap();
    let name = lease.name().clone();
    store.erase(&name);
    assert_eq!(lease.lost().await, LossReason::StateGone);
    assert_eq!(lease.status(), Status::Lost(LossReason::StateGone));
}

/// A coordinator outlives the runtime that renewed its leases: the next lease is renewed on the next
/// one, and a lease of the old one can still be released.
#[test]
fn a_coordinator_outlives_its_runtime() {
    let store = Memory::new();
    let leases = Coordinator::builder(Arc::new(store.clone()))
        .timing(Timing::with_ttl(SECOND).build().unwrap())
        .keeper(KeeperMode::CurrentRuntime)
        .build();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let old = first.block_on(leases.exclusive("old").acquire()).unwrap();
    drop(first);

    runtime().block_on(async {
        let lease = leases.exclusive("new").acquire().await.unwrap();
        tokio::time::sleep(SECOND * 2).await;
        lease.check().unwrap();
        lease.release().await.unwrap();
        let _ = old.release().await.unwrap();
    });
}

/// The runtime ends while a renewal is under way. Nobody will hear its answer: the lease is renewed
/// again as soon as there is another runtime.
#[test]
fn a_renewal_that_ended_with_its_runtime_is_sent_again() {
    let store = Faulty::new(Arc::new(Memory::new()));
    store.next(Method::Renew, Fault::hangs());
    let leases = Coordinator::builder(Arc::new(store.clone()))
        .timing(Timing::with_ttl(SECOND * 3).build().unwrap())
        .keeper(KeeperMode::CurrentRuntime)
        .build();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let old = first.block_on(async {
        let old = leases.exclusive("old").acquire().await.unwrap();
        while store.calls(Method::Renew) == 0 {
            tokio::time::sleep(SECOND / 100).await;
        }
        old
    });
    drop(first);

    runtime().block_on(async {
        let _new = leases.exclusive("new").acquire().await.unwrap();
        tokio::time::sleep(SECOND * 4).await;
        old.check().unwrap();
    });
}

/// The keeper sleeps until the long lease is due, and is woken for the short one.
#[tokio::test]
async fn a_short_lease_beside_a_long_one_is_renewed_in_time() {
    let store = Memory::new();
    let leases = coordinator(&store, SECOND * 60);
    let long = leases.exclusive("long").acquire().await.unwrap();
    // Long enough for the keeper to have gone to sleep.
    std::thread::sleep(SECOND / 10);
    let second = Timing::with_ttl(SECOND).build().unwrap();
    let short = leases.exclusive("short").timing(second).acquire().await.unwrap();

    std::thread::sleep(SECOND * 2);

    short.check().unwrap();
    long.check().unwrap();
}

/// And for a long one that is made short.
#[tokio::test]
async fn a_lease_that_is_made_short_is_renewed_in_time() {
    let store = Memory::new();
    let mut lease = coordinator(&store, SECOND * 60).exclusive("job").acquire().await.unwrap();
    std::thread::sleep(SECOND / 10);
    lease.retime(Timing::with_ttl(SECOND).build().unwrap()).unwrap();

    std::thread::sleep(SECOND * 2);

    lease.check().unwrap();
    assert!(lease.remaining() < SECOND, "it was not renewed with the new ttl");
}
