//! Asking for a lease: one try, or waiting until it is there.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::Instrument;
use tracing::field::Empty;

use crate::telemetry::UnderWay;
use crate::waiter::Waiter;
use crate::{
    Coordinator, Error, Fence, HolderInfo, Lease, Mode, Name, Policy, Result, Standing, Takeover,
    Timing,
};

mod attempt;

use attempt::{Attempt, Outcome};

/// A request for a lease. Nothing happens before [`acquire`](Self::acquire).
#[must_use = "a request does nothing until `acquire` is awaited"]
pub struct Acquire {
    coordinator: Coordinator,
    name: Result<Name>,
    mode: Mode,
    timing: Timing,
    policy: Policy,
    info: Arc<HolderInfo>,
    wait: Option<Duration>,
    cancel: Option<CancellationToken>,
    on_wait: Option<OnWait>,
}

type OnWait = Arc<dyn Fn(&Waiting<'_>) + Send + Sync>;

/// What a request is waiting for, as told to [`Acquire::on_wait`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Waiting<'a> {
    /// What is asked for.
    pub name: &'a Name,
    /// Who is in the way, as of the last look; nothing before the store has answered once.
    pub standing: Option<&'a Standing>,
    /// Whether our own exclusive is installed and only waits for writers to end.
    pub draining: bool,
    /// What went wrong at the last try, if it did; it is tried again.
    pub problem: Option<&'a Error>,
    /// How long it has waited.
    pub waited: Duration,
}

impl Acquire {
    /// How many calls to the store one try may take the time of: to look, to install, to list the
    /// writers and to commit.
    pub(crate) const CALLS_OF_A_TRY: u32 = 4;

    pub(crate) const fn new(
        coordinator: Coordinator,
        name: Result<Name>,
        mode: Mode,
        timing: Timing,
        policy: Policy,
        info: Arc<HolderInfo>,
    ) -> Self {
        Self {
            coordinator,
            name,
            mode,
            timing,
            policy,
            info,
            wait: None,
            cancel: None,
            on_wait: None,
        }
    }

    /// Waits for so long while another holds, or the store does not answer. Without it there is
    /// one try. [`Duration::MAX`] waits for ever.
    pub const fn wait(mut self, at_most: Duration) -> Self {
        self.wait = Some(at_most);
        self
    }

    /// Sets the durations of this lease; those of the coordinator unless it is said.
    pub const fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Sets what may be done about records whose holders seem gone; what the coordinator was told
    /// unless it is said.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Takes over whatever expired, exclusive or writers, whatever the policy says. Fresh records
    /// are respected all the same: to end one of those, break it.
    pub const fn force(mut self) -> Self {
        self.policy.exclusive = Takeover::Expired;
        self.policy.writers = Takeover::Expired;
        self
    }

    /// Sets who asks, for people and tools; whom the coordinator was told unless it is said.
    pub fn info(mut self, info: HolderInfo) -> Self {
        self.info = Arc::new(info);
        self
    }

    /// Ends the wait when `token` is cancelled. One that is cancelled already asks nothing of the
    /// store.
    pub fn cancelled_by(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// Tells `listener` each time that the request has to wait. It must not block.
    pub fn on_wait(mut self, listener: impl Fn(&Waiting<'_>) + Send + Sync + 'static) -> Self {
        self.on_wait = Some(Arc::new(listener));
        self
    }

    /// Takes the lease.
    ///
    /// # Errors
    ///
    /// The first two come after the time to [wait](Self::wait), the others as soon as they are
    /// known:
    ///
    /// - [`Error::Held`] if another holds it, or its writers did not end: do other work, or ask
    ///   again.
    /// - [`Error::Unavailable`] if the store did not answer, or if another exclusive that asked at
    ///   the same time turned out to be before ours: ask again, each time after a longer pause.
    /// - [`Error::WouldDeadlock`] if this coordinator itself holds the name as a writer: release
    ///   that lease first.
    /// - [`Error::Lost`] if somebody broke our own exclusive while it drained: see
    ///   [who and why](Coordinator::last_break) before it is asked for again.
    /// - [`Error::Cancelled`] by the token of [`cancelled_by`](Self::cancelled_by): there is
    ///   nothing to do.
    /// - [`Error::Misconfigured`] if the name is not valid, the store cannot keep the durations,
    ///   refuses access or is not set up for leases, or the keeper cannot be started: a person has
    ///   to change what it names.
    /// - [`Error::Unsupported`] if this kind of store can never do it: use another one.
    ///
    /// After any of them nothing of ours is left in the store: what the last try may have left is
    /// withdrawn first. If the store does not answer, it ends by itself within a ttl.
    ///
    /// One try takes no longer than four call timeouts, and the withdrawal than one, after the time
    /// to wait ([`Timing::call_timeout`]: a quarter of the ttl by default, at most 10 s).
    ///
    /// # Cancel safety
    ///
    /// Safe: what an abandoned attempt has left is withdrawn in the background.
    pub async fn acquire(self) -> Result<Lease> {
        let parts = self.coordinator.parts();
        let (backend, mode) = (parts.backend.kind(), self.mode);
        let name = self.name.as_ref().map_or("", Name::as_str);
        let span = tracing::info_span!("lease.acquire", backend, name, %mode, epoch = Empty);
        let (under_way, from) = (UnderWay::new(backend, mode), parts.clock.now());
        let answer = self.asked().instrument(span.clone()).await;
        under_way.ended(&answer, parts.clock.now().since(from));
        if let Ok(lease) = &answer {
            span.record("epoch", lease.epoch().get());
        }
        answer
    }

    async fn asked(&self) -> Result<Lease> {
        let name = self.name.as_ref().map_err(copy_of_name_error)?.clone();
        let parts = self.coordinator.parts();
        self.timing.fits(&parts.backend.capabilities())?;
        if self.mode == Mode::Exclusive && self.coordinator.holds_as_writer(&name) {
            return Err(Error::WouldDeadlock { name });
        }
        if self.cancel.as_ref().is_some_and(CancellationToken::is_cancelled) {
            return Err(Error::Cancelled { name });
        }
        parts.keeper.start()?;

        let mut attempt = Attempt::new(&self.coordinator, name.clone(), self);
        let cancelled = async {
            match &self.cancel {
                Some(token) => token.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let answer = tokio::select! {
            biased;
            answer = self.try_until_granted(&mut attempt) => answer,
            () = cancelled => Err(Error::Cancelled { name }),
        };
        if answer.is_err() {
            attempt.withdraw().await;
        }
        answer
    }

    /// Takes the lease, runs `work` while it is held, and releases it.
    ///
    /// A grace after a takeover is waited out first ([`Lease::ready`]). The release that follows is
    /// not waited for longer than one call timeout: the ttl frees the name.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), lease_core::Error> {
    /// # use std::sync::Arc;
    /// # use lease_core::{Coordinator, memory::Memory};
    /// let leases = Coordinator::new(Arc::new(Memory::new()));
    /// let token = leases
    ///     .exclusive("nightly-report")
    ///     .run_while_held(|fence| async move { fence.token() })
    ///     .await?;
    /// # let _ = token; Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As of [`acquire`](Self::acquire), and `work` was not called; [`Error::Lost`] also if the
    /// lease was lost before `work` had ended. It was dropped at its last await then, and what it
    /// had sent by then may have landed.
    ///
    /// # Cancel safety
    ///
    /// As safe as `work`: the lease is released in the background.
    pub async fn run_while_held<F, W>(self, work: F) -> Result<W::Output>
    where
        F: FnOnce(Fence) -> W,
        W: Future,
    {
        let lease = self.acquire().await?;
        let fence = lease.ready().await?;
        let output = lease.run_while_held(work(fence)).await?;
        lease.release_soon().await;
        Ok(output)
    }

    async fn try_until_granted(&self, attempt: &mut Attempt<'_>) -> Result<Lease> {
        let name = attempt.name.clone();
        let mut waiter = Waiter::new(self.coordinator.clone(), name.clone(), self.wait);
        loop {
            let outcome = attempt.go().await;
            let retryable = match &outcome {
                Outcome::Granted(_) => false,
                Outcome::Refused(_) | Outcome::Draining(_) => true,
                Outcome::Failed(error) => matches!(error, Error::Unavailable { .. }),
            };
            if !retryable || waiter.is_over() {
                return outcome.into_result(name.clone());
            }
            let (standing, draining, problem) = match &outcome {
                Outcome::Draining(standing) => (Some(standing), true, None),
                Outcome::Refused(standing) => (Some(standing), false, None),
                Outcome::Failed(error) => (None, false, Some(error)),
                Outcome::Granted(_) => (None, false, None),
            };
            if let Some(listener) = &self.on_wait {
                let waited = waiter.waited();
                listener(&Waiting { name: &name, standing, draining, problem, waited });
            }
            waiter.wait(&self.timing, standing, draining).await;
        }
    }

    pub(crate) const fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) const fn timing_ref(&self) -> &Timing {
        &self.timing
    }

    pub(crate) const fn policy_ref(&self) -> &Policy {
        &self.policy
    }

    pub(crate) const fn info_ref(&self) -> &Arc<HolderInfo> {
        &self.info
    }
}

/// The error of a name that was refused, again: it is kept until somebody asks.
fn copy_of_name_error(error: &Error) -> Error {
    match error {
        Error::Misconfigured { problem, fix, .. } => {
            Error::misconfigured(problem.clone(), fix.clone())
        }
        other => Error::misconfigured(other.to_string(), "give the lease another name"),
    }
}

impl fmt::Debug for Acquire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire")
            .field("name", &self.name)
            .field("mode", &self.mode)
            .field("timing", &self.timing)
            .field("policy", &self.policy)
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}
