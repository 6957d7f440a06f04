//! The contract, step by step.

use async_trait::async_trait;
use lease_core::backend::{
    Broken, Committed, Confirmed, Draining, Evicted, Installed, Joined, Registered, Renewed, Taken,
    Watch, Withdrawn,
};
use lease_core::{
    Backend, BreakNote, Capabilities, Claim, HolderInfo, Holding, Judged, Name, Nonce, Policy,
    Result, Snapshot, Target,
};

use crate::error::KIND;
use crate::store::Nats;

#[async_trait]
impl Backend for Nats {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn capabilities(&self) -> Capabilities {
        self.told_capabilities()
    }

    async fn observe(&self, name: &Name) -> Result<Snapshot> {
        Ok(self.observed(name).await?.snapshot())
    }

    async fn inspect(&self, name: &Name) -> Result<Snapshot> {
        self.inspected(name).await
    }

    async fn register(&self, claim: &Claim) -> Result<Registered> {
        self.registered(claim).await
    }

    async fn install(
        &self,
        claim: &Claim,
        seen: &Snapshot,
        over: Option<(&Target, Judged)>,
    ) -> Result<Installed> {
        self.installed(claim, seen, over).await
    }

    async fn commit(&self, mine: &Holding) -> Result<Committed> {
        self.committed(mine).await
    }

    async fn renew(&self, mine: &[Holding]) -> Vec<Result<Renewed>> {
        self.renew_all(mine).await
    }

    async fn confirm(&self, mine: &Holding) -> Result<Confirmed> {
        self.confirmed(mine).await
    }

    async fn withdraw(&self, mine: &Holding) -> Result<Withdrawn> {
        self.withdrawn(mine).await
    }

    async fn evict(&self, name: &Name, target: &Target, judged: Judged) -> Result<Evicted> {
        self.evicted(name, target, judged).await
    }

    async fn break_record(&self, name: &Name, nonce: Nonce, note: &BreakNote) -> Result<Broken> {
        self.broken(name, nonce, note).await
    }

    async fn last_break(&self, name: &Name) -> Result<Option<BreakNote>> {
        self.break_note(name).await
    }

    async fn adopt(&self, mine: &Holding, info: &HolderInfo) -> Result<Renewed> {
        self.adopted(mine, info).await
    }

    async fn names(&self) -> Result<Vec<Name>> {
        self.listed().await
    }

    async fn watch(&self, name: &Name) -> Result<Box<dyn Watch>> {
        self.watched(name).await
    }

    async fn join(&self, claim: &Claim, policy: &Policy) -> Result<Joined> {
        self.joined(claim, policy).await
    }

    async fn take(
        &self,
        claim: &Claim,
        draining: Option<&Draining>,
        policy: &Policy,
    ) -> Result<Taken> {
        self.taken(claim, draining, policy).await
    }
}
