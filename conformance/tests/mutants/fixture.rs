//! The fixture of a toy store, broken or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use lease_conformance::{Damage, Fixture};
use lease_core::{Backend, Clock, Name, Nonce};

use crate::mutants::Fault;
use crate::toy::{Manner, Reach, Store};

/// A toy store on a bench.
pub(crate) struct Bench {
    store: Arc<Store>,
    clients: AtomicU32,
}

impl Bench {
    pub(crate) fn with(fault: Option<Fault>, manner: Manner) -> Self {
        Self { store: Store::new(fault, manner), clients: AtomicU32::new(0) }
    }

    fn client(&self, reach: Reach) -> Arc<dyn Backend> {
        self.store.client(self.clients.fetch_add(1, Ordering::SeqCst), reach)
    }
}

#[async_trait]
impl Fixture for Bench {
    async fn start() -> Self {
        Self::with(None, Manner::Plain)
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        self.client(Reach::All)
    }

    async fn unreachable(&self) -> Arc<dyn Backend> {
        self.client(Reach::Nothing)
    }

    async fn read_only(&self) -> Option<Arc<dyn Backend>> {
        Some(self.client(Reach::ReadOnly))
    }

    async fn erase(&self, name: &Name) {
        self.store.lock().remove(&self.store.key(name));
    }

    async fn damage(&self, name: &Name, nonce: Nonce, damage: Damage) {
        let mut entries = self.store.lock();
        let entry = entries.get_mut(&self.store.key(name)).expect("the name is known");
        entry.kept(nonce).expect("the record is there").damage = Some(damage);
    }

    async fn records(&self, name: &Name) -> usize {
        let entries = self.store.lock();
        entries.get(&self.store.key(name)).map_or(0, |entry| entry.all().count())
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(self.store.clock.clone())
    }

    async fn pass(&self, time: Duration) {
        self.store.clock.advance(time);
        tokio::task::yield_now().await;
    }
}
