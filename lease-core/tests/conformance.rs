//! The in-memory store keeps the contract that it is the reference for.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lease_conformance::{Damage, Fixture};
use lease_core::clock::ManualClock;
use lease_core::layer::{Fault, Faulty, Method};
use lease_core::memory::Memory;
use lease_core::{Backend, Clock, Effect, Error, Name, Nonce, Unreadable};

struct InProcess {
    clock: ManualClock,
    store: Memory,
}

#[async_trait]
impl Fixture for InProcess {
    async fn start() -> Self {
        let clock = ManualClock::new();
        Self { store: Memory::with_clock(Arc::new(clock.clone())), clock }
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        Arc::new(self.store.clone())
    }

    async fn unreachable(&self) -> Arc<dyn Backend> {
        let layer = Faulty::new(self.connect().await);
        layer.all(Fault::fails(Effect::Nothing));
        Arc::new(layer)
    }

    async fn read_only(&self) -> Option<Arc<dyn Backend>> {
        let layer = Faulty::new(self.connect().await);
        for method in Method::ALL.into_iter().filter(|method| method.writes()) {
            layer.always(method, Fault::error(|| Error::misconfigured("read-only", "grant it")));
        }
        Some(Arc::new(layer))
    }

    async fn erase(&self, name: &Name) {
        self.store.erase(name);
    }

    async fn damage(&self, name: &Name, nonce: Nonce, damage: Damage) {
        let how = match damage {
            Damage::Empty | Damage::Truncated => Unreadable::Corrupt(format!("{damage:?}")),
            Damage::NewerVersion => Unreadable::NewerVersion(99),
            // Nothing is written down here, so there are no fields.
            Damage::UnknownField => return,
        };
        self.store.garble(name, nonce, how);
    }

    async fn records(&self, name: &Name) -> usize {
        self.store.records(name)
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(self.clock.clone())
    }

    async fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }
}

lease_conformance::suite!(InProcess);
