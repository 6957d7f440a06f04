//! What the library itself costs, on the memory backend: no network, no disk.
#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nothing to say")]

use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use leasehold::memory::Memory;
use leasehold::{Coordinator, Gate};
use tokio::runtime::Runtime;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// The goal: under 10 µs for the cycle, under 100 ns for the check.
fn in_process(c: &mut Criterion) {
    let runtime = runtime();
    let leases = Coordinator::new(Arc::new(Memory::new()));

    c.bench_function("exclusive: acquire and release", |b| {
        b.to_async(&runtime).iter(|| async {
            leases.exclusive("job").acquire().await.unwrap().release().await.unwrap()
        });
    });
    c.bench_function("writer: acquire and release", |b| {
        b.to_async(&runtime).iter(|| async {
            leases.writer("shared").acquire().await.unwrap().release().await.unwrap()
        });
    });

    let lease = runtime.block_on(leases.exclusive("held").acquire()).unwrap();
    c.bench_function("check", |b| b.iter(|| lease.check().unwrap()));
    c.bench_function("guard", |b| {
        b.to_async(&runtime).iter(|| async { lease.guard(|_| async {}).await.unwrap() });
    });
    let gate = Gate::new();
    let fence = lease.check().unwrap();
    c.bench_function("gate", |b| b.iter(|| gate.admit(&fence)));
}

criterion_group!(benches, in_process);
criterion_main!(benches);
