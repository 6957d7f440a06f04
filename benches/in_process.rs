//! What the library itself costs, on the memory backend: no network, no disk.
#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nothing to say")]

use std::sync::Arc;

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
    let leases = Coordinator::new(Arc::new(Memory::new()));
    cycles(c, &runtime, &leases, "");
    // A release is the keeper's work: here without going to its thread and back.
    let builder = Coordinator::builder(Arc::new(Memory::new()));
    let here = builder.keeper(KeeperMode::CurrentRuntime).build();
    cycles(c, &runtime, &here, ", keeper on this runtime");

    let lease = runtime.block_on(leases.exclusive("held").acquire()).unwrap();
    c.bench_function("check", |b| b.iter(|| lease.check().unwrap()));
    c.bench_function("guard", |b| {
        b.to_async(&runtime).iter(|| async { lease.guard(|_| async {}).await.unwrap() });
    });
    let gate = Gate::new();
    let fence = lease.check().unwrap();
    c.bench_function("gate", |b| b.iter(|| gate.admit(&fence)));
}

fn cycles(c: &mut Criterion, runtime: &Runtime, leases: &Coordinator, where_from: &str) {
    for mode in [Mode::Exclusive, Mode::Writer] {
        c.bench_function(&format!("{mode}: acquire and release{where_from}"), |b| {
            b.to_async(runtime).iter(|| async {
                leases.ask("job", mode).acquire().await.unwrap().release().await.unwrap()
            });
        });
    }
}

criterion_group!(benches, in_process);
criterion_main!(benches);
