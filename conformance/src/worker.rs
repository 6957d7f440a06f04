//! A worker: one client of the store, with a label, that asks for names and holds them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lease_core::backend::{Broken, Confirmed, Draining, Joined, Renewed, Taken, Withdrawn};
use lease_core::{
    Backend, BreakNote, Capabilities, Claim, Grant, HolderInfo, Holding, Jitter, LossReason, Mode,
    Moment, Name, Policy, Snapshot, Standing,
};

use crate::Fixture;

mod patience;

pub(crate) use patience::Watched;

/// One client of the store, with a label for its holder, that asks for names and holds them.
///
/// Its verbs say what must happen, and panic when it does not, or when the store does not answer.
/// One that is dropped half-way leaves what its request may have written: it ends with its ttl.
pub struct Worker<'s> {
    store: &'s dyn Fixture,
    backend: Arc<dyn Backend>,
    label: &'static str,
    ttl: Duration,
    policy: Policy,
}

impl fmt::Debug for Worker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("label", &self.label).finish_non_exhaustive()
    }
}

impl<'s> Worker<'s> {
    /// A worker with a client of its own.
    pub async fn new(store: &'s dyn Fixture, label: &'static str) -> Self {
        Self::with(store, store.connect().await, label)
    }

    /// A worker with this client, which takes over what expired.
    pub fn with(store: &'s dyn Fixture, backend: Arc<dyn Backend>, label: &'static str) -> Self {
        let ttl = store.ttl(&backend.capabilities());
        Self { store, backend, label, ttl, policy: Policy::expired() }
    }

    /// A worker with a client of its own, whose claims do not expire while the case runs, however
    /// slow the store and the machine are.
    pub async fn lasting(store: &'s dyn Fixture, label: &'static str) -> Self {
        let worker = Self::new(store, label).await;
        let ttl = worker.ttl * 60;
        worker.with_ttl(ttl)
    }

    /// The same worker, with this ttl in its claims.
    #[must_use]
    pub fn with_ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// The same worker, with this policy.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// The client.
    #[must_use]
    pub fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend)
    }

    /// What the store says of itself.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    /// The ttl of its claims.
    #[must_use]
    pub const fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Now, on the clock of the fixture.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.store.clock().now()
    }

    /// A new attempt to be a writer.
    #[must_use]
    pub fn writer(&self, name: &Name) -> Claim {
        self.claim(name, Mode::Writer)
    }

    /// A new attempt to be the exclusive.
    #[must_use]
    pub fn exclusive(&self, name: &Name) -> Claim {
        self.claim(name, Mode::Exclusive)
    }

    fn claim(&self, name: &Name, mode: Mode) -> Claim {
        Claim {
            name: name.clone(),
            nonce: Jitter::system().nonce(),
            mode,
            ttl: self.ttl,
            info: Arc::new(self.info()),
        }
    }

    /// What this worker tells of itself.
    #[must_use]
    pub fn info(&self) -> HolderInfo {
        HolderInfo::of_this_process().label(self.label).build().expect("a short label")
    }

    /// All that the store holds of `name`.
    pub async fn sees(&self, name: &Name) -> Snapshot {
        self.backend.observe(name).await.expect("the store answers")
    }

    /// Asks to be a writer, once.
    pub async fn tries_to_join(&self, name: &Name) -> Joined {
        self.backend.join(&self.writer(name), &self.policy).await.expect("the store answers")
    }

    /// Asks to be the exclusive: one round.
    pub async fn tries_to_take(&self, claim: &Claim, draining: Option<&Draining>) -> Taken {
        self.backend.take(claim, draining, &self.policy).await.expect("the store answers")
    }

    /// Becomes a writer at once.
    pub async fn joins(&self, name: &Name) -> Grant {
        match self.tries_to_join(name).await {
            Joined::Granted(grant) => grant,
            Joined::Refused(by) => panic!("{} must be granted to write: {by}", self.label),
        }
    }

    /// Becomes the exclusive at once.
    pub async fn takes(&self, name: &Name) -> Grant {
        match self.tries_to_take(&self.exclusive(name), None).await {
            Taken::Granted(grant) => grant,
            other => panic!("{} must be granted the exclusive: {other:?}", self.label),
        }
    }

    /// Installs itself as the exclusive and has to wait for writers.
    pub async fn drains(&self, name: &Name) -> (Claim, Draining) {
        let claim = self.exclusive(name);
        match self.tries_to_take(&claim, None).await {
            Taken::Draining(draining) => (claim, draining),
            other => panic!("{} must wait for the writers: {other:?}", self.label),
        }
    }

    /// Goes on to drain and still has to wait.
    pub async fn still_drains(&self, claim: &Claim, draining: &Draining) -> Draining {
        match self.tries_to_take(claim, Some(draining)).await {
            Taken::Draining(draining) => draining,
            other => panic!("{} must go on waiting for the writers: {other:?}", self.label),
        }
    }

    /// Goes on to drain and is granted.
    pub async fn has_drained(&self, claim: &Claim, draining: &Draining) -> Grant {
        match self.tries_to_take(claim, Some(draining)).await {
            Taken::Granted(grant) => grant,
            other => panic!("{} has nobody to wait for any more: {other:?}", self.label),
        }
    }

    /// Asks to be a writer and is refused.
    pub async fn is_refused_as_writer(&self, name: &Name) -> Standing {
        match self.tries_to_join(name).await {
            Joined::Refused(by) => by,
            Joined::Granted(_) => panic!("{} must not write while another excludes", self.label),
        }
    }

    /// Asks to be the exclusive and is refused.
    pub async fn is_refused_as_exclusive(&self, name: &Name) -> Standing {
        match self.tries_to_take(&self.exclusive(name), None).await {
            Taken::Refused(by) => by,
            other => panic!("{} must not exclude beside another: {other:?}", self.label),
        }
    }

    /// Sends its next renewal.
    pub async fn sends_a_renewal(&self, mine: &Holding) -> Renewed {
        self.sends_this_renewal(&mine.next_beat()).await
    }

    /// Sends exactly this renewal.
    pub async fn sends_this_renewal(&self, mine: &Holding) -> Renewed {
        let mut answers = self.backend.renew(std::slice::from_ref(mine)).await;
        assert_eq!(answers.len(), 1, "one renewal has one answer");
        answers.remove(0).expect("the store answers")
    }

    /// Renews, and holds on; also whether it is asked to end.
    pub async fn renews_and_hears(&self, mine: &Holding) -> (Holding, bool) {
        let mine = mine.next_beat();
        match self.sends_this_renewal(&mine).await {
            Renewed::Renewed { revision, drain } => (mine.acknowledged(revision), drain),
            Renewed::Lost(reason) => panic!("{} must be renewed, not {reason}", self.label),
        }
    }

    /// Renews, and holds on.
    pub async fn renews(&self, mine: &Holding) -> Holding {
        self.renews_and_hears(mine).await.0
    }

    /// Confirms that it holds; whether it is asked to end.
    pub async fn holds(&self, mine: &Holding) -> bool {
        match self.backend.confirm(mine).await.expect("the store answers") {
            Confirmed::Held { drain } => drain,
            Confirmed::Lost(reason) => panic!("{} must still hold, not {reason}", self.label),
        }
    }

    /// Is told by a confirmation and by a renewal that it holds no more.
    pub async fn has_lost(&self, mine: &Holding) -> LossReason {
        let confirmed = self.backend.confirm(mine).await.expect("the store answers");
        let Confirmed::Lost(reason) = confirmed else {
            panic!("{}'s lease is lost and must not be confirmed", self.label)
        };
        let renewed = self.sends_a_renewal(mine).await;
        assert!(
            matches!(renewed, Renewed::Lost(_)),
            "{}'s lease is lost and must not be renewed: {renewed:?}",
            self.label
        );
        reason
    }

    /// Withdraws its record, which is there.
    pub async fn releases(&self, mine: &Holding) {
        let withdrawn = self.withdraws(mine).await;
        assert_eq!(withdrawn, Withdrawn::Removed, "{} must find its own record", self.label);
    }

    /// Withdraws its record, whatever comes of it.
    pub async fn withdraws(&self, mine: &Holding) -> Withdrawn {
        self.backend.withdraw(mine).await.expect("the store answers")
    }

    /// Breaks somebody's record, as an operator.
    pub async fn breaks(&self, whose: &Holding) -> Broken {
        let broken = self.backend.break_record(&whose.name, whose.nonce, &self.note()).await;
        broken.expect("the store answers")
    }

    /// What it writes down when it breaks a record.
    #[must_use]
    pub fn note(&self) -> BreakNote {
        let mut note = BreakNote::new(self.label, "the \"host\" is $gone");
        note.at_ms = 1_700_000_000_123;
        note
    }

    /// What it is told of the last break.
    pub async fn told_of_break(&self, name: &Name) -> Option<BreakNote> {
        self.backend.last_break(name).await.expect("the store answers")
    }

    /// Lets this time pass.
    pub async fn waits(&self, time: Duration) {
        self.store.pass(time).await;
    }
}
