//! What the library itself costs, on the memory backend: no network, no disk.
#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nothing to say")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use leasehold::keeper::KeeperMode;
use leasehold::memory::Memory;
use leasehold::{Coordinator, Gate, Mode};
use tokio::runtime::Runtime;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// What is wished of each stands in `xtask/src/bench/in_process.rs`.
fn in_process(c: &mut Criterion) {
    let runtime = runtime();
    cycles(c, &runtime, &KeeperMode::OwnThread, "");
    cycles(c, &runtime, &KeeperMode::CurrentRuntime, ", keeper on this runtime");

    let leases = Coordinator::new(Arc::new(Memory::new()));
    let lease = runtime.block_on(leases.exclusive("held").acquire()).unwrap();
    c.bench_function("check", |b| b.iter(|| lease.check().unwrap()));
    c.bench_function("guard", |b| {
        b.to_async(&runtime).iter(|| async { lease.guard(|_| async {}).await.unwrap() });
    });
    let gate = Gate::new();
    let fence = lease.check().unwrap();
    c.bench_function("gate", |b| b.iter(|| gate.admit(&fence)));
}

/// How many cycles a store sees before the next one takes its place: it remembers each removal for a
/// minute, in which no program makes ten million of them but a bench.
const OF_A_STORE: u64 = 10_000;

fn cycles(c: &mut Criterion, runtime: &Runtime, keeper: &KeeperMode, whose: &str) {
    for mode in [Mode::Exclusive, Mode::Writer] {
        c.bench_function(&format!("{mode}: acquire and release{whose}"), |b| {
            b.to_async(runtime).iter_custom(async |cycles| {
                let mut took = Duration::ZERO;
                for first in (0..cycles).step_by(usize::try_from(OF_A_STORE).unwrap()) {
                    let store = Arc::new(Memory::new());
                    let leases = Coordinator::builder(store).keeper(keeper.clone()).build();
                    // Its keeper starts with its first lease.
                    cycle(&leases, mode).await;
                    let start = Instant::now();
                    for _ in first..cycles.min(first + OF_A_STORE) {
                        cycle(&leases, mode).await;
                    }
                    took += start.elapsed();
                }
                took
            });
        });
    }
}

async fn cycle(leases: &Coordinator, mode: Mode) {
    leases.ask("job", mode).acquire().await.unwrap().release().await.unwrap();
}

criterion_group!(benches, in_process);
criterion_main!(benches);
