//! Leader election: an exclusive lease with terms, stepping down, and a look at who leads.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::stream::{self, Stream};
use tokio_util::sync::CancellationToken;

use crate::lease::Shared;
use crate::{Coordinator, Error, Fence, HolderInfo, Mode, Moment, Name, Policy, Result, Timing};

mod leaders;
mod term;

pub use leaders::{Leader, Leaders};
pub use term::Term;

/// One candidate in the election of one leader among many processes.
///
/// The leader is whoever holds the lease on the office exclusively. Each [`Term`] has a higher epoch
/// than all before it: send its [token](Term::fence) along with what the leader writes, so that a
/// leader that stalled is turned away. Clones are one candidate.
///
/// As callbacks:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), lease_core::Error> {
/// # use std::sync::Arc;
/// # use lease_core::{Coordinator, Election, Name, memory::Memory};
/// let leases = Coordinator::new(Arc::new(Memory::new()));
/// let election = Election::new(&leases, Name::parse("scheduler")?);
/// // Called for each term; dropped when the term is over before its time.
/// let done = election.lead(|fence| async move { fence.epoch() }).await?;
/// # let _ = done; Ok(()) }
/// ```
///
/// As a stream of terms:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), lease_core::Error> {
/// # use std::sync::Arc;
/// # use lease_core::{Coordinator, Election, Name, memory::Memory};
/// # let leases = Coordinator::new(Arc::new(Memory::new()));
/// # let election = Election::new(&leases, Name::parse("scheduler")?);
/// let term = election.campaign().await?;
/// let planned = term.run(async { "planned" }).await?;
/// term.step_down().await?;
/// # let _ = planned; Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Election {
    coordinator: Coordinator,
    office: Name,
    timing: Timing,
    policy: Option<Policy>,
    candidate: Option<HolderInfo>,
    cancel: CancellationToken,
    standing: Arc<Mutex<OwnStanding>>,
}

/// How this candidate stands.
#[derive(Debug, Default)]
struct OwnStanding {
    /// Its present term, or its last.
    term: Weak<Shared>,
    /// Until when it leaves the office to the others, after a term of its own.
    rests_until: Moment,
}

impl Election {
    /// A candidate for `office`, with the durations of `leases`. It asks nothing of the store before
    /// it campaigns.
    #[must_use]
    pub fn new(leases: &Coordinator, office: Name) -> Self {
        Self {
            coordinator: leases.clone(),
            office,
            timing: *leases.timing(),
            policy: None,
            candidate: None,
            cancel: CancellationToken::new(),
            standing: Arc::default(),
        }
    }

    /// Sets the durations of the terms: within about one ttl after a leader died another is elected.
    #[must_use]
    pub const fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Sets what may be done about a leader that let its lease expire.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Sets who stands, for people and for the other candidates: by default this process.
    #[must_use]
    pub fn candidate(mut self, who: HolderInfo) -> Self {
        self.candidate = Some(who);
        self
    }

    /// Ends the campaign, and the work of a [`Term::run`] or [`lead`](Self::lead), when `token` is
    /// cancelled: a leader steps down.
    #[must_use]
    pub fn cancelled_by(mut self, token: CancellationToken) -> Self {
        self.cancel = token;
        self
    }

    /// What it is about.
    #[must_use]
    pub const fn office(&self) -> &Name {
        &self.office
    }

    /// Stands for the office until elected, for as long as that takes. A grace after a takeover is
    /// over when the term begins.
    ///
    /// After a term of its own a candidate waits for as long as the others do between two tries
    /// ([`Timing::poll_to`]) before it stands again, so that stepping down, and an operator's break,
    /// let another one lead where there is one.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] by the token of [`cancelled_by`](Self::cancelled_by);
    /// [`Error::WouldDeadlock`] if the same coordinator holds the office as a writer;
    /// [`Error::Misconfigured`] if the store refuses or cannot keep the durations, and
    /// [`Error::Unsupported`] if it can never do it: [`Error::advice`] says what to do. That the
    /// store does not answer is waited out.
    ///
    /// # Cancel safety
    ///
    /// Safe: what an abandoned campaign has left is withdrawn in the background.
    pub async fn campaign(&self) -> Result<Term> {
        loop {
            self.rest().await?;
            let mut ask =
                self.coordinator.ask(self.office.as_str(), Mode::Exclusive).timing(self.timing);
            if let Some(policy) = &self.policy {
                ask = ask.policy(policy.clone());
            }
            if let Some(who) = &self.candidate {
                ask = ask.info(who.clone());
            }
            let lease = ask.wait(Duration::MAX).cancelled_by(self.cancel.clone()).acquire();
            let lease = match lease.await {
                // Broken while it waited for writers to end: the others first, then again.
                Err(Error::Lost { .. }) => {
                    self.over();
                    continue;
                }
                answer => answer?,
            };
            self.lock().term = Arc::downgrade(lease.shared());
            let term = Term::new(lease, self.clone());
            let ready = tokio::select! {
                biased;
                ready = term.lease().ready() => ready,
                () = self.cancel.cancelled() => {
                    term.end().await;
                    return Err(self.cancelled());
                }
            };
            // Lost within the grace: it never began.
            if ready.is_ok() {
                return Ok(term);
            }
        }
    }

    /// One term after another, each as soon as it is asked for and won. A term that is still held
    /// when the next one is asked for is waited for, so drop it or [step down](Term::step_down).
    ///
    /// # Errors
    ///
    /// The items are as of [`campaign`](Self::campaign). The first error is the last item.
    ///
    /// # Cancel safety
    ///
    /// Safe: a wait for the next item that is dropped is gone on with by the one after it. What the
    /// campaign of a dropped stream has left is withdrawn in the background.
    pub fn terms(&self) -> impl Stream<Item = Result<Term>> + Send + use<> {
        stream::unfold(Some(self.clone()), |this| async move {
            let this = this?;
            let term = this.campaign().await;
            let next = term.is_ok().then_some(this);
            Some((term, next))
        })
    }

    /// Leads whenever elected: `work` is called at the start of each term and dropped when the term
    /// is over before its time; then it stands again. When `work` has ended by itself, the leader
    /// steps down, and the output is returned.
    ///
    /// # Errors
    ///
    /// As of [`campaign`](Self::campaign). A term that was lost is none.
    ///
    /// # Cancel safety
    ///
    /// As safe as `work`: the office is released in the background.
    pub async fn lead<F, W>(&self, mut work: F) -> Result<W::Output>
    where
        F: FnMut(Fence) -> W,
        W: Future,
    {
        loop {
            let term = self.campaign().await?;
            let Ok(fence) = term.fence() else { continue };
            match term.run(work(fence)).await {
                Ok(output) => {
                    term.end().await;
                    return Ok(output);
                }
                Err(cancelled @ Error::Cancelled { .. }) => return Err(cancelled),
                // Lost: the next one.
                Err(_) => {}
            }
        }
    }

    /// Whether this candidate leads, by its own clock and without asking anybody. Before a write use
    /// the [term](Term::fence) itself.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        let term = self.lock().term.upgrade();
        term.is_some_and(|term| term.check().is_ok() && term.ready().is_ok())
    }

    /// Follows who leads, this candidate or another.
    #[must_use]
    pub fn leaders(&self) -> Leaders {
        Leaders::new(self.coordinator.observe(&self.office))
    }

    /// Who leads, as of now; nothing if nobody does, or nobody that lives.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the store did not answer within the call timeout, or
    /// [`Error::Misconfigured`] if it refuses: [`Error::advice`] says what to do.
    ///
    /// # Cancel safety
    ///
    /// Safe: it writes nothing.
    pub async fn leader(&self) -> Result<Option<Leader>> {
        Ok(Leader::in_(&self.coordinator.status(&self.office).await?))
    }

    /// Leaves the office to the others for a while, after a term of one's own.
    fn over(&self) {
        let now = self.coordinator.parts().clock.now();
        self.lock().rests_until = now.plus(self.timing.poll_to());
    }

    async fn rest(&self) -> Result<()> {
        let until = self.lock().rests_until;
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(self.cancelled()),
            () = self.coordinator.parts().clock.sleep_until(until) => Ok(()),
        }
    }

    fn cancelled(&self) -> Error {
        Error::Cancelled { name: self.office.clone() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, OwnStanding> {
        // Each change is one assignment, so a panic elsewhere leaves it whole.
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
