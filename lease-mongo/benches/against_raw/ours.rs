//! A lease's life by this crate.

use lease_core::{Holding, Mode};
use lease_mongo::Mongo;
use measure::hands;

/// A client, and a lease that it holds all the time.
pub(crate) struct Ours {
    store: Mongo,
    held: Holding,
}

impl Ours {
    pub(crate) async fn start(store: Mongo) -> Self {
        let held = hands::acquire(&store, "held", Mode::Exclusive).await;
        Self { store, held }
    }

    pub(crate) async fn cycle(&self, mode: Mode) {
        hands::cycle(&self.store, mode.as_str(), mode).await;
    }

    pub(crate) async fn renew(&mut self) {
        hands::renew(&self.store, std::slice::from_mut(&mut self.held)).await;
    }

    pub(crate) async fn confirm(&self) {
        hands::confirm(&self.store, &self.held).await;
    }

    /// What is held, as of its last renewal.
    pub(crate) const fn held(&self) -> &Holding {
        &self.held
    }

    /// Counts renewals that somebody else has made for us.
    pub(crate) fn skip(&mut self, renewals: usize) {
        for _ in 0..renewals {
            let next = self.held.next_beat();
            let revision = next.revision.clone();
            self.held = next.acknowledged(revision);
        }
    }
}
