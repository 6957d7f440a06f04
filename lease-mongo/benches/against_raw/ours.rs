//! A lease's life by this crate.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use lease_core::backend::{Confirmed, Joined, Renewed, Taken};
use lease_core::{Backend, Claim, HolderInfo, Holding, Jitter, Mode, Name, Policy};
use lease_mongo::Mongo;

/// A client, and a lease that it holds all the time.
pub(crate) struct Ours {
    store: Mongo,
    held: Holding,
}

impl Ours {
    pub(crate) async fn start(store: Mongo) -> Self {
        let held = begins(&store, "held", Mode::Exclusive).await;
        Self { store, held }
    }

    /// Acquire and release.
    pub(crate) async fn cycle(&self, mode: Mode) {
        let holding = begins(&self.store, mode.as_str(), mode).await;
        self.store.withdraw(&holding).await.unwrap();
    }

    pub(crate) async fn renew(&mut self) {
        self.held = renewed(&self.store, &self.held).await.unwrap();
    }

    pub(crate) async fn confirm(&self) {
        let answer = self.store.confirm(&self.held).await.unwrap();
        assert!(matches!(answer, Confirmed::Held { .. }), "{answer:?}");
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

/// Who we are, which a process finds out once.
static INFO: LazyLock<Arc<HolderInfo>> =
    LazyLock::new(|| Arc::new(HolderInfo::of_this_process().label("bench").build().unwrap()));

pub(crate) async fn begins(store: &Mongo, name: &str, mode: Mode) -> Holding {
    let claim = Claim {
        name: Name::parse(name).unwrap(),
        nonce: Jitter::system().nonce(),
        mode,
        ttl: Duration::from_secs(3600),
        info: Arc::clone(&INFO),
    };
    match mode {
        Mode::Writer => match store.join(&claim, &Policy::expired()).await.unwrap() {
            Joined::Granted(grant) => grant.holding,
            other => panic!("it is free: {other:?}"),
        },
        Mode::Exclusive => match store.take(&claim, None, &Policy::expired()).await.unwrap() {
            Taken::Granted(grant) => grant.holding,
            other => panic!("it is free: {other:?}"),
        },
    }
}

/// The holding after a renewal; nothing if it is lost.
pub(crate) async fn renewed(store: &Mongo, held: &Holding) -> Option<Holding> {
    let next = held.next_beat();
    match store.renew(std::slice::from_ref(&next)).await.remove(0).unwrap() {
        Renewed::Renewed { revision, .. } => Some(next.acknowledged(revision)),
        Renewed::Lost(_) => None,
    }
}
