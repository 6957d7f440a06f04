//! The way in: one coordinator for each store that a process uses.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::acquire::Acquire;
use crate::clock::{Clock, SystemClock, within};
use crate::keeper::{KeeperHandle, KeeperMode};
use crate::lease::{Lease, Shared};
use crate::{
    Backend, BreakNote, Epoch, Error, Grant, HolderInfo, Jitter, LossReason, Mode, Name, Nonce,
    Observation, Policy, Result, Snapshot, Timing, backend,
};

mod tickets;

/// Takes and keeps leases in one store. Cheap to clone; clones are one coordinator.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), lease_core::Error> {
/// use std::sync::Arc;
/// use lease_core::{Coordinator, memory::Memory};
///
/// let leases = Coordinator::new(Arc::new(Memory::new()));
/// let lease = leases.exclusive("nightly-report").acquire().await?;
/// let pages = lease.guard(|fence| async move { fence.token().get() }).await?;
/// lease.release().await?;
/// # let _ = pages; Ok(()) }
/// ```
#[derive(Clone)]
pub struct Coordinator {
    parts: Arc<Parts>,
}

pub(crate) struct Parts {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) jitter: Jitter,
    pub(crate) keeper: KeeperHandle,
    info: Arc<HolderInfo>,
    timing: Timing,
    policy: Policy,
    /// The writers' leases of this coordinator, to notice that it would wait for itself.
    writers: Mutex<HashMap<Name, Vec<Weak<Shared>>>>,
}

impl Coordinator {
    /// A coordinator with default durations and policy, known by host and pid. It asks nothing of
    /// the store yet, and starts no thread before its first lease.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self::builder(backend).build()
    }

    /// Starts to build one.
    #[must_use]
    pub fn builder(backend: Arc<dyn Backend>) -> CoordinatorBuilder {
        CoordinatorBuilder {
            backend,
            clock: Arc::new(SystemClock),
            jitter: Jitter::system(),
            keeper_jitter: Jitter::system(),
            keeper: KeeperMode::default(),
            info: None,
            timing: Timing::default(),
            policy: Policy::default(),
        }
    }

    /// Asks for `name` alone: no writer and no other exclusive. A name that is not valid is told by
    /// [`Acquire::acquire`].
    pub fn exclusive(&self, name: impl AsRef<str>) -> Acquire {
        self.ask(name.as_ref(), Mode::Exclusive)
    }

    /// Asks for `name` beside other writers. A name that is not valid is told by
    /// [`Acquire::acquire`].
    pub fn writer(&self, name: impl AsRef<str>) -> Acquire {
        self.ask(name.as_ref(), Mode::Writer)
    }

    /// Asks for `name` in this mode. A name that is not valid is told by [`Acquire::acquire`].
    pub fn ask(&self, name: impl AsRef<str>, mode: Mode) -> Acquire {
        let parts = &self.parts;
        Acquire::new(
            self.clone(),
            Name::parse(name),
            mode,
            parts.timing,
            parts.policy.clone(),
            parts.info.clone(),
        )
    }

    /// Shows who holds `name`. For people and tools: it may be a little old and proves nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the store did not answer within the call timeout, or
    /// [`Error::Misconfigured`] if it refuses: [`Error::advice`] says what to do.
    ///
    /// # Cancel safety
    ///
    /// Safe: it writes nothing.
    pub async fn status(&self, name: &Name) -> Result<Snapshot> {
        self.bounded(self.parts.backend.inspect(name)).await
    }

    /// Follows what is with `name`: tells each change. For people and tools.
    #[must_use]
    pub fn observe(&self, name: &Name) -> Observation {
        Observation::new(self.clone(), name.clone())
    }

    /// The note of the last time that a lease of `name` was broken: who did it, why and when;
    /// nothing if that never happened.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the store did not answer within the call timeout, or
    /// [`Error::Misconfigured`] if it refuses: [`Error::advice`] says what to do.
    ///
    /// # Cancel safety
    ///
    /// Safe: it writes nothing.
    pub async fn last_break(&self, name: &Name) -> Result<Option<BreakNote>> {
        self.bounded(self.parts.backend.last_break(name)).await
    }

    /// The durations of the leases that say nothing else.
    #[must_use]
    pub fn timing(&self) -> &Timing {
        &self.parts.timing
    }

    /// The names that the store knows, in their order. For people and tools.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the store did not answer within the call timeout, or
    /// [`Error::Misconfigured`] if it refuses: [`Error::advice`] says what to do.
    ///
    /// # Cancel safety
    ///
    /// Safe: it writes nothing.
    pub async fn names(&self) -> Result<Vec<Name>> {
        let mut names = self.bounded(self.parts.backend.names()).await?;
        names.sort();
        Ok(names)
    }

    /// Takes a lease away from its holder: exactly the record with this nonce, as `status` showed.
    ///
    /// The broken holder learns of it at its next renewal or confirm. Of a granted exclusive the
    /// epoch rises, so that a fenced resource turns its late writes away. The name's epoch from now
    /// on is returned. The note is kept for [`last_break`](Self::last_break).
    ///
    /// # Errors
    ///
    /// [`Error::Held`] if no such record is there any more, with who holds instead: nothing
    /// changed, so look again. [`Error::Unavailable`] if the store did not answer within the call
    /// timeout: it may be broken, so look again. [`Error::Misconfigured`] if it refuses: call a
    /// person.
    ///
    /// # Cancel safety
    ///
    /// Safe: it is broken or not; look again.
    pub async fn break_record(&self, name: &Name, nonce: Nonce, note: &BreakNote) -> Result<Epoch> {
        match self.bounded(self.parts.backend.break_record(name, nonce, note)).await? {
            backend::Broken::Broken { epoch } => Ok(epoch),
            backend::Broken::NotThere => {
                let by = Box::new(self.status(name).await?.standing());
                Err(Error::Held { name: name.clone(), by })
            }
        }
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Makes a grant that was asked for at `sent` a lease that is kept, if it may still be believed
    /// in (rules R5, R6).
    pub(crate) fn lease(&self, grant: Grant, timing: Timing, sent: crate::Moment) -> Result<Lease> {
        let parts = &self.parts;
        let until = sent.plus(timing.belief(&parts.backend.capabilities()));
        let now = parts.clock.now();
        if now >= until {
            return Err(Error::Lost {
                name: grant.holding.name,
                epoch: grant.epoch,
                reason: LossReason::Expired,
            });
        }
        let ready_at = if grant.took_over { now.plus(timing.grace()) } else { now };
        let shared = Arc::new(Shared::new(
            grant,
            parts.backend.kind(),
            parts.clock.clone(),
            until,
            ready_at,
        ));
        if shared.mode == Mode::Writer {
            self.remember_writer(&shared);
        }
        let id = parts.keeper.keep(&shared, timing, sent);
        let backend = parts.backend.clone();
        Ok(Lease::new(shared, backend, parts.keeper.clone(), id, timing))
    }

    /// Whether this coordinator itself holds `name` as a writer.
    pub(crate) fn holds_as_writer(&self, name: &Name) -> bool {
        let writers = self.parts.writers.lock().unwrap_or_else(PoisonError::into_inner);
        let live = |shared: &Weak<Shared>| shared.upgrade().is_some_and(|s| s.check().is_ok());
        writers.get(name).is_some_and(|all| all.iter().any(live))
    }

    fn remember_writer(&self, shared: &Arc<Shared>) {
        let mut writers = self.parts.writers.lock().unwrap_or_else(PoisonError::into_inner);
        // Names whose leases are all gone are dropped when the map would have to grow.
        if writers.len() == writers.capacity() {
            writers.retain(|_, all| all.iter().any(|one| one.strong_count() > 0));
        }
        let all = writers.entry(shared.name.clone()).or_default();
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(shared));
    }

    async fn bounded<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        let parts = &self.parts;
        within(&parts.clock, parts.timing.call_timeout(), call).await.unwrap_or_else(|| {
            Err(Error::unclear(parts.backend.kind(), "no answer within the call timeout"))
        })
    }
}

impl fmt::Debug for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator")
            .field("backend", &self.parts.backend.kind())
            .field("timing", &self.parts.timing)
            .finish_non_exhaustive()
    }
}

/// Builds a [`Coordinator`].
#[derive(Debug)]
pub struct CoordinatorBuilder {
    backend: Arc<dyn Backend>,
    clock: Arc<dyn Clock>,
    jitter: Jitter,
    keeper_jitter: Jitter,
    keeper: KeeperMode,
    info: Option<HolderInfo>,
    timing: Timing,
    policy: Policy,
}

impl CoordinatorBuilder {
    /// Sets who holds, for people and tools: by default this process, by host and pid.
    #[must_use]
    pub fn info(mut self, info: HolderInfo) -> Self {
        self.info = Some(info);
        self
    }

    /// Sets the durations of all leases that say nothing else.
    #[must_use]
    pub const fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Sets what may be done about records whose holders seem gone.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the clock, for tests. The machine's by default, suspend included.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Makes nonces and waits repeat themselves for this seed. For simulations only: two
    /// coordinators with one seed in one store take each other's leases.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.jitter = Jitter::seeded(seed);
        self.keeper_jitter = Jitter::seeded(seed.wrapping_add(1));
        self
    }

    /// Sets how renewals are driven: on a thread of their own by default.
    #[must_use]
    pub fn keeper(mut self, mode: KeeperMode) -> Self {
        self.keeper = mode;
        self
    }

    /// The coordinator. It asks nothing of the store yet, and starts no thread before its first
    /// lease.
    #[must_use]
    pub fn build(self) -> Coordinator {
        let keeper = KeeperHandle::new(
            self.backend.clone(),
            self.clock.clone(),
            self.keeper_jitter,
            self.keeper,
        );
        // What a process knows of itself is far below the limit.
        let own = || HolderInfo::of_this_process().build().unwrap_or_default();
        let parts = Parts {
            backend: self.backend,
            clock: self.clock,
            jitter: self.jitter,
            keeper,
            info: Arc::new(self.info.unwrap_or_else(own)),
            timing: self.timing,
            policy: self.policy,
            writers: Mutex::default(),
        };
        Coordinator { parts: Arc::new(parts) }
    }
}

#[cfg(test)]
mod tests;
