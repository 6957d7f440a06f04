//! A backend whose single steps each go over a link.

use std::sync::Arc;

use async_trait::async_trait;

use super::link::{Link, Unanswered};
use crate::backend::{
    Backend, Broken, Committed, Confirmed, Draining, Evicted, Installed, Joined, Registered,
    Renewed, Taken, Watch, Withdrawn,
};
use crate::{
    BreakNote, Capabilities, Claim, Error, HolderInfo, Holding, Judged, Name, Nonce, Policy,
    Result, Snapshot, Target, handshake,
};

/// A backend whose single steps each go over a link. The composite ones are made of those.
#[derive(Debug)]
pub(super) struct Networked {
    inner: Arc<dyn Backend>,
    link: Link,
}

impl Networked {
    pub(super) const fn new(inner: Arc<dyn Backend>, link: Link) -> Self {
        Self { inner, link }
    }

    fn unanswered(&self) -> Error {
        Error::unclear(self.inner.kind(), "the simulated network lost it")
    }
}

/// Sends one step over the link: the backend and the named arguments are cloned into the request.
macro_rules! step {
    ($self:ident, $what:literal, |$inner:ident $(, $arg:ident)*| $call:expr) => {{
        let $inner = $self.inner.clone();
        let answer = $self.link.send($what, move || {
            let ($inner, $($arg,)*) = ($inner.clone(), $($arg.clone(),)*);
            Box::pin(async move { $call.await })
        });
        match answer.await {
            Ok(answer) => answer,
            Err(Unanswered) => Err($self.unanswered()),
        }
    }};
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for Networked {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn capabilities(&self) -> Capabilities {
        // A wake-up would have to be spoiled as well; polling finds everything.
        self.inner.capabilities().with_push(false)
    }

    async fn observe(&self, name: &Name) -> Result<Snapshot> {
        let name = name.clone();
        step!(self, "observe", |inner, name| inner.observe(&name))
    }

    async fn inspect(&self, name: &Name) -> Result<Snapshot> {
        let name = name.clone();
        step!(self, "inspect", |inner, name| inner.inspect(&name))
    }

    async fn register(&self, claim: &Claim) -> Result<Registered> {
        let claim = claim.clone();
        step!(self, "register", |inner, claim| inner.register(&claim))
    }

    async fn install(
        &self,
        claim: &Claim,
        seen: &Snapshot,
        over: Option<(&Target, Judged)>,
    ) -> Result<Installed> {
        let (claim, seen) = (claim.clone(), seen.clone());
        let over = over.map(|(target, judged)| (target.clone(), judged));
        step!(self, "install", |inner, claim, seen, over| inner.install(
            &claim,
            &seen,
            over.as_ref().map(|(target, judged)| (target, *judged))
        ))
    }

    async fn commit(&self, mine: &Holding) -> Result<Committed> {
        let mine = mine.clone();
        step!(self, "commit", |inner, mine| inner.commit(&mine))
    }

    async fn renew(&self, mine: &[Holding]) -> Vec<Result<Renewed>> {
        let (inner, all) = (self.inner.clone(), mine.to_vec());
        let answer = self.link.send("renew", move || {
            let (inner, all) = (inner.clone(), all.clone());
            Box::pin(async move { inner.renew(&all).await })
        });
        match answer.await {
            Ok(answers) => answers,
            Err(Unanswered) => mine.iter().map(|_| Err(self.unanswered())).collect(),
        }
    }

    async fn confirm(&self, mine: &Holding) -> Result<Confirmed> {
        let mine = mine.clone();
        step!(self, "confirm", |inner, mine| inner.confirm(&mine))
    }

    async fn withdraw(&self, mine: &Holding) -> Result<Withdrawn> {
        let mine = mine.clone();
        step!(self, "withdraw", |inner, mine| inner.withdraw(&mine))
    }

    async fn evict(&self, name: &Name, target: &Target, judged: Judged) -> Result<Evicted> {
        let (name, target) = (name.clone(), target.clone());
        step!(self, "evict", |inner, name, target| inner.evict(&name, &target, judged))
    }

    async fn break_record(&self, name: &Name, nonce: Nonce, note: &BreakNote) -> Result<Broken> {
        let (name, note) = (name.clone(), note.clone());
        step!(self, "break", |inner, name, note| inner.break_record(&name, nonce, &note))
    }

    async fn last_break(&self, name: &Name) -> Result<Option<BreakNote>> {
        let name = name.clone();
        step!(self, "last break", |inner, name| inner.last_break(&name))
    }

    async fn adopt(&self, mine: &Holding, info: &HolderInfo) -> Result<Renewed> {
        let (mine, info) = (mine.clone(), info.clone());
        step!(self, "adopt", |inner, mine, info| inner.adopt(&mine, &info))
    }

    async fn names(&self) -> Result<Vec<Name>> {
        step!(self, "names", |inner| inner.names())
    }

    async fn watch(&self, _name: &Name) -> Result<Box<dyn Watch>> {
        Err(Error::Unsupported { backend: self.kind(), feature: "watch" })
    }

    async fn join(&self, claim: &Claim, policy: &Policy) -> Result<Joined> {
        handshake::join(self, claim, policy).await
    }

    async fn take(
        &self,
        claim: &Claim,
        draining: Option<&Draining>,
        policy: &Policy,
    ) -> Result<Taken> {
        handshake::take(self, claim, draining, policy).await
    }
}
