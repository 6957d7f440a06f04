//! A layer that fails on purpose.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::fault::{Kind, Make};
use super::script::Script;
use super::{Fault, Gate, Method};
use crate::backend::{
    Backend, Broken, Committed, Confirmed, Draining, Evicted, Installed, Joined, Registered,
    Renewed, Taken, Watch, Withdrawn,
};
use crate::{
    BreakNote, Capabilities, Claim, Error, HolderInfo, Holding, Judged, Name, Nonce, Policy,
    Result, Snapshot, Target, handshake,
};

/// Lets chosen calls fail, hang, come late, or lose their answers. Clones share one script.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use lease_core::layer::{Fault, Faulty, Method};
/// use lease_core::memory::Memory;
/// use lease_core::{Backend, Effect, Name};
///
/// let store = Faulty::new(Arc::new(Memory::new()));
/// store.nth(Method::Observe, 2, Fault::fails(Effect::Nothing));
///
/// let name = Name::parse("reports").unwrap();
/// assert!(store.observe(&name).await.is_ok());
/// assert!(store.observe(&name).await.is_err());
/// assert!(store.observe(&name).await.is_ok());
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Faulty {
    inner: Arc<dyn Backend>,
    script: Arc<Mutex<Script>>,
    whole: bool,
}

impl Faulty {
    /// Forwards to `inner`, as yet without faults.
    #[must_use]
    pub fn new(inner: Arc<dyn Backend>) -> Self {
        Self { inner, script: Arc::default(), whole: false }
    }

    /// The same, with `join` and `take` passed on whole, as calls of their own.
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Strikes the next call of `method`, once; said again, the one after it.
    pub fn next(&self, method: Method, fault: Fault) {
        self.script(|script| script.strike_next(method, fault));
    }

    /// Strikes the `call`-th call of `method`; the first one ever is 1.
    pub fn nth(&self, method: Method, call: u64, fault: Fault) {
        self.script(|script| script.strike(Some(method), Some(call), fault));
    }

    /// Strikes every call of `method`.
    pub fn always(&self, method: Method, fault: Fault) {
        self.script(|script| script.strike(Some(method), None, fault));
    }

    /// Strikes every call of every method.
    pub fn all(&self, fault: Fault) {
        self.script(|script| script.strike(None, None, fault));
    }

    /// Parks the next call of `method` before it reaches the store.
    #[must_use]
    pub fn hold(&self, method: Method) -> Gate {
        let gate = Gate::new();
        let wait = gate.clone();
        self.next(method, Fault::before(move || wait.wait()));
        gate
    }

    /// Parks the answer of the next call of `method`, after it took place.
    #[must_use]
    pub fn hold_answer(&self, method: Method) -> Gate {
        let gate = Gate::new();
        let wait = gate.clone();
        self.next(method, Fault::after(move || wait.wait()));
        gate
    }

    /// Takes all faults back.
    pub fn heal(&self) {
        self.script(Script::heal);
    }

    /// How often `method` was called.
    #[must_use]
    pub fn calls(&self, method: Method) -> u64 {
        self.script(|script| script.calls(method))
    }

    fn script<T>(&self, with: impl FnOnce(&mut Script) -> T) -> T {
        with(&mut self.script.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes one call, struck by what the script has for it.
    async fn strike<T>(
        &self,
        method: Method,
        request: impl Future<Output = T> + Send,
    ) -> Result<T, Make> {
        let Some(Fault(kind)) = self.script(|script| script.due(method)) else {
            return Ok(request.await);
        };
        match kind {
            Kind::Fails(error) => Err(error),
            Kind::AnswerLost => {
                request.await;
                Err(Arc::new(|| Error::unclear("faulty", "the test lost this answer")))
            }
            Kind::Waits { before, after } => {
                if let Some(wait) = before {
                    wait().await;
                }
                let answer = request.await;
                if let Some(wait) = after {
                    wait().await;
                }
                Ok(answer)
            }
        }
    }

    async fn call<T>(
        &self,
        method: Method,
        request: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        self.strike(method, request).await.unwrap_or_else(|error| Err(error()))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for Faulty {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn observe(&self, name: &Name) -> Result<Snapshot> {
        self.call(Method::Observe, self.inner.observe(name)).await
    }

    async fn inspect(&self, name: &Name) -> Result<Snapshot> {
        self.call(Method::Inspect, self.inner.inspect(name)).await
    }

    async fn register(&self, claim: &Claim) -> Result<Registered> {
        self.call(Method::Register, self.inner.register(claim)).await
    }

    async fn install(
        &self,
        claim: &Claim,
        seen: &Snapshot,
        over: Option<(&Target, Judged)>,
    ) -> Result<Installed> {
        self.call(Method::Install, self.inner.install(claim, seen, over)).await
    }

    async fn commit(&self, mine: &Holding) -> Result<Committed> {
        self.call(Method::Commit, self.inner.commit(mine)).await
    }

    async fn renew(&self, mine: &[Holding]) -> Vec<Result<Renewed>> {
        match self.strike(Method::Renew, self.inner.renew(mine)).await {
            Ok(answers) => answers,
            Err(error) => mine.iter().map(|_| Err(error())).collect(),
        }
    }

    async fn confirm(&self, mine: &Holding) -> Result<Confirmed> {
        self.call(Method::Confirm, self.inner.confirm(mine)).await
    }

    async fn withdraw(&self, mine: &Holding) -> Result<Withdrawn> {
        self.call(Method::Withdraw, self.inner.withdraw(mine)).await
    }

    async fn evict(&self, name: &Name, target: &Target, judged: Judged) -> Result<Evicted> {
        self.call(Method::Evict, self.inner.evict(name, target, judged)).await
    }

    async fn break_record(&self, name: &Name, nonce: Nonce, note: &BreakNote) -> Result<Broken> {
        self.call(Method::BreakRecord, self.inner.break_record(name, nonce, note)).await
    }

    async fn last_break(&self, name: &Name) -> Result<Option<BreakNote>> {
        self.call(Method::LastBreak, self.inner.last_break(name)).await
    }

    async fn adopt(&self, mine: &Holding, info: &HolderInfo) -> Result<Renewed> {
        self.call(Method::Adopt, self.inner.adopt(mine, info)).await
    }

    async fn names(&self) -> Result<Vec<Name>> {
        self.call(Method::Names, self.inner.names()).await
    }

    async fn watch(&self, name: &Name) -> Result<Box<dyn Watch>> {
        self.call(Method::Watch, self.inner.watch(name)).await
    }

    async fn join(&self, claim: &Claim, policy: &Policy) -> Result<Joined> {
        if self.whole {
            return self.call(Method::Join, self.inner.join(claim, policy)).await;
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
            return self.call(Method::Take, self.inner.take(claim, draining, policy)).await;
        }
        handshake::take(self, claim, draining, policy).await
    }
}

#[cfg(test)]
mod tests;
