//! The contract, step by step.

use async_trait::async_trait;
use lease_core::backend::{
    Broken, Committed, Confirmed, Draining, Evicted, Installed, Joined, Registered, Renewed, Taken,
    Withdrawn,
};
use lease_core::{
    Backend, BreakNote, Capabilities, Claim, HolderInfo, Holding, Judged, Name, Nonce, Policy,
    Result, Snapshot, Target, handshake,
};

use crate::error::KIND;
use crate::store::ObjStore;

#[async_trait]
impl Backend for ObjStore {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn observe(&self, name: &Name) -> Result<Snapshot> {
        self.look_and_judge(name).await
    }

    async fn inspect(&self, name: &Name) -> Result<Snapshot> {
        self.look_only(name).await
    }

    async fn register(&self, claim: &Claim) -> Result<Registered> {
        self.register_writer(claim).await
    }

    async fn install(
        &self,
        claim: &Claim,
        seen: &Snapshot,
        over: Option<(&Target, Judged)>,
    ) -> Result<Installed> {
        self.install_exclusive(claim, seen, over).await
    }

    async fn commit(&self, mine: &Holding) -> Result<Committed> {
        self.commit_exclusive(mine).await
    }

    async fn renew(&self, mine: &[Holding]) -> Vec<Result<Renewed>> {
        self.renew_batch(mine).await
    }

    async fn confirm(&self, mine: &Holding) -> Result<Confirmed> {
        self.confirm_own(mine).await
    }

    async fn withdraw(&self, mine: &Holding) -> Result<Withdrawn> {
        let (store, mine) = (self.clone(), mine.clone());
        self.step(async move { store.withdraw_own(&mine).await }).await
    }

    async fn evict(&self, name: &Name, target: &Target, judged: Judged) -> Result<Evicted> {
        self.evict_other(name, target, judged).await
    }

    async fn break_record(&self, name: &Name, nonce: Nonce, note: &BreakNote) -> Result<Broken> {
        self.break_by_nonce(name, nonce, note).await
    }

    async fn last_break(&self, name: &Name) -> Result<Option<BreakNote>> {
        self.break_note(name).await
    }

    async fn adopt(&self, mine: &Holding, info: &HolderInfo) -> Result<Renewed> {
        self.adopt_own(mine, info).await
    }

    async fn names(&self) -> Result<Vec<Name>> {
        self.all_names().await
    }

    async fn join(&self, claim: &Claim, policy: &Policy) -> Result<Joined> {
        // A writer has nothing to do with the others, so their files are not read.
        let store = Self { only: Some(claim.nonce), ..self.clone() };
        let (claim, policy) = (claim.clone(), policy.clone());
        self.step(async move { handshake::join(&store, &claim, &policy).await }).await
    }

    async fn take(
        &self,
        claim: &Claim,
        draining: Option<&Draining>,
        policy: &Policy,
    ) -> Result<Taken> {
        let (store, claim, policy) = (self.clone(), claim.clone(), policy.clone());
        let draining = draining.cloned();
        self.step(async move {
            let again = match draining {
                None => store.take_again(&claim).await?,
                Some(_) => None,
            };
            let draining = match again {
                // Writers are there: as the policy says.
                Some(Taken::Draining(more)) => Some(more),
                Some(taken) => return Ok(taken),
                None => draining,
            };
            handshake::take(&store, &claim, draining.as_ref(), &policy).await
        })
        .await
    }
}
