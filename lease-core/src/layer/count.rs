//! A layer that counts calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;

use super::Method;
use crate::backend::{
    Backend, Broken, Committed, Confirmed, Draining, Evicted, Installed, Joined, Registered,
    Renewed, Taken, Watch, Withdrawn,
};
use crate::{
    BreakNote, Capabilities, Claim, HolderInfo, Holding, Judged, Name, Nonce, Policy, Result,
    Snapshot, Target, handshake,
};

/// Counts how often each method is called. Clones share their counts.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use lease_core::layer::{Count, Method};
/// use lease_core::memory::Memory;
/// use lease_core::{Backend, Name};
///
/// let store = Count::new(Arc::new(Memory::new()));
/// store.observe(&Name::parse("reports").unwrap()).await.unwrap();
/// assert_eq!(store.counts().of(Method::Observe), 1);
/// assert_eq!(store.counts().writes(), 0);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Count {
    inner: Arc<dyn Backend>,
    calls: Arc<[AtomicU64; Method::ALL.len()]>,
    whole: bool,
}

/// How often each method was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts([u64; Method::ALL.len()]);

impl Count {
    /// Counts the calls that reach `inner`, step by step.
    #[must_use]
    pub fn new(inner: Arc<dyn Backend>) -> Self {
        Self { inner, calls: Arc::default(), whole: false }
    }

    /// The same, with `join` and `take` passed on whole and counted as one call each.
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// The counts as of now.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts(std::array::from_fn(|i| self.calls[i].load(Ordering::SeqCst)))
    }

    fn called(&self, method: Method) -> &dyn Backend {
        self.calls[method as usize].fetch_add(1, Ordering::SeqCst);
        &*self.inner
    }
}

impl Counts {
    /// How often this method was called.
    #[must_use]
    pub const fn of(&self, method: Method) -> u64 {
        self.0[method as usize]
    }

    /// How many calls there were.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// How many of them change what the store holds.
    #[must_use]
    pub fn writes(&self) -> u64 {
        Method::ALL.iter().filter(|method| method.writes()).map(|method| self.of(*method)).sum()
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for Count {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn observe(&self, name: &Name) -> Result<Snapshot> {
        self.called(Method::Observe).observe(name).await
    }

    async fn inspect(&self, name: &Name) -> Result<Snapshot> {
        self.called(Method::Inspect).inspect(name).await
    }

    async fn register(&self, claim: &Claim) -> Result<Registered> {
        self.called(Method::Register).register(claim).await
    }

    async fn install(
        &self,
        claim: &Claim,
        seen: &Snapshot,
        over: Option<(&Target, Judged)>,
    ) -> Result<Installed> {
        self.called(Method::Install).install(claim, seen, over).await
    }

    async fn commit(&self, mine: &Holding) -> Result<Committed> {
        self.called(Method::Commit).commit(mine).await
    }

    async fn renew(&self, mine: &[Holding]) -> Vec<Result<Renewed>> {
        self.called(Method::Renew).renew(mine).await
    }

    async fn confirm(&self, mine: &Holding) -> Result<Confirmed> {
        self.called(Method::Confirm).confirm(mine).await
    }

    async fn withdraw(&self, mine: &Holding) -> Result<Withdrawn> {
        self.called(Method::Withdraw).withdraw(mine).await
    }

    async fn evict(&self, name: &Name, target: &Target, judged: Judged) -> Result<Evicted> {
        self.called(Method::Evict).evict(name, target, judged).await
    }

    async fn break_record(&self, name: &Name, nonce: Nonce, note: &BreakNote) -> Result<Broken> {
        self.called(Method::BreakRecord).break_record(name, nonce, note).await
    }

    async fn last_break(&self, name: &Name) -> Result<Option<BreakNote>> {
        self.called(Method::LastBreak).last_break(name).await
    }

    async fn adopt(&self, mine: &Holding, info: &HolderInfo) -> Result<Renewed> {
        self.called(Method::Adopt).adopt(mine, info).await
    }

    async fn names(&self) -> Result<Vec<Name>> {
        self.called(Method::Names).names().await
    }

    async fn watch(&self, name: &Name) -> Result<Box<dyn Watch>> {
        self.called(Method::Watch).watch(name).await
    }

    async fn join(&self, claim: &Claim, policy: &Policy) -> Result<Joined> {
        if self.whole {
            return self.called(Method::Join).join(claim, policy).await;
        }
        handshake::join(self, claim, policy).await
    }

    async fn take(
        &self,
        claim: &Claim,
        draining: Option<&Draining>,
        policy: &Policy,
    ) -> Result<Taken> {
        if self.whole {
            return self.called(Method::Take).take(claim, draining, policy).await;
        }
        handshake::take(self, claim, draining, policy).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;
    use crate::{Jitter, Mode};

    fn claim(mode: Mode) -> Claim {
        Claim {
            name: Name::parse("counted").unwrap(),
            nonce: Jitter::seeded(1).nonce(),
            mode,
            ttl: std::time::Duration::from_secs(15),
            info: Arc::default(),
        }
    }

    #[tokio::test]
    async fn a_writer_on_a_free_name_costs_two_looks_and_one_write() {
        let store = Count::new(Arc::new(Memory::new()));
        store.join(&claim(Mode::Writer), &Policy::expired()).await.unwrap();
        let counts = store.counts();
        assert_eq!((counts.of(Method::Observe), counts.of(Method::Register)), (2, 1));
        assert_eq!((counts.total(), counts.writes()), (3, 1));
    }

    #[tokio::test]
    async fn a_whole_layer_counts_the_composite_step() {
        let store = Count::new(Arc::new(Memory::new())).whole();
        store.take(&claim(Mode::Exclusive), None, &Policy::expired()).await.unwrap();
        assert_eq!((store.counts().of(Method::Take), store.counts().total()), (1, 1));
    }

    #[test]
    fn a_method_is_counted_in_its_own_place() {
        for (place, method) in Method::ALL.iter().enumerate() {
            assert_eq!(*method as usize, place);
        }
    }
}
