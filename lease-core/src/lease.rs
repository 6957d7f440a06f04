//! A lease that is held, and kept.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::backend::Confirmed;
use crate::clock::within;
use crate::fence::{Admission, DurableGate, Fence};
use crate::keeper::{KeeperHandle, LeaseId};
use crate::{Backend, Clock, Epoch, Error, LossReason, Mode, Name, Nonce, Result, Timing, Token};

mod leaving;
mod shared;
mod status;
mod ticket;

pub use leaving::Released;
pub(crate) use shared::Shared;
pub use status::Status;
pub use ticket::Ticket;

/// A lease that is held. It is renewed in the background until it is released, dropped or lost.
///
/// Holding it proves nothing by itself: a process may stall at any moment. [`check`](Self::check)
/// tells whether it may still be believed in, without asking anybody; [`guard`](Self::guard) asks
/// the store once more right before a write.
///
/// Dropping it releases it in the background, as well as that goes: the request may be lost when
/// the process ends right after, and then the ttl frees the name. [`release`](Self::release) is the
/// certain way.
#[must_use = "a lease that is dropped is released"]
pub struct Lease {
    shared: Arc<Shared>,
    backend: Arc<dyn Backend>,
    keeper: KeeperHandle,
    id: LeaseId,
    timing: Timing,
}

impl Lease {
    pub(crate) const fn new(
        shared: Arc<Shared>,
        backend: Arc<dyn Backend>,
        keeper: KeeperHandle,
        id: LeaseId,
        timing: Timing,
    ) -> Self {
        Self { shared, backend, keeper, id, timing }
    }

    /// What is held.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.shared.name
    }

    /// How it is held.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.shared.mode
    }

    /// The epoch that it was granted under.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.shared.epoch
    }

    /// The fencing token, to be announced at the resource and sent along with each write.
    #[must_use]
    pub fn token(&self) -> Token {
        Token::new(self.mode(), self.epoch())
    }

    /// The identity of this grant, as `status` shows it.
    #[must_use]
    pub fn nonce(&self) -> Nonce {
        self.shared.nonce
    }

    /// The durations by which it is kept.
    #[must_use]
    pub const fn timing(&self) -> &Timing {
        &self.timing
    }

    /// The belief itself, for the simulation's judge: looking at it changes nothing.
    #[cfg(feature = "sim")]
    pub(crate) fn belief(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    /// How long it may still be believed in if no renewal gets through; zero once it is lost. It
    /// falls while nothing is renewed, and rises with each renewal to at most [`Timing::belief`].
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.shared.remaining()
    }

    /// Whether it is held, doubtful or lost.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.status()
    }

    /// Tells each change of the [status](Self::status), as the keeper learns of it. Of the end it tells
    /// once the [token](Self::cancellation) is cancelled.
    #[must_use]
    pub fn status_changes(&self) -> watch::Receiver<Status> {
        self.shared.status_changes()
    }

    /// Proves by this process's own clock that the lease may still be believed in. Asks nobody,
    /// takes no lock and allocates nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`]: stop the protected work. It stays lost for this lease.
    pub fn check(&self) -> Result<Fence> {
        self.shared.check()
    }

    /// Asks the store whether the lease is still ours, with a read that cannot be stale. It waits
    /// for the answer for one call timeout ([`Timing::call_timeout`]), and no longer than the
    /// belief lasts.
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`] if it is not, or the belief ended meanwhile: stop the protected work.
    /// - [`Error::Unavailable`] if the store did not answer: the lease may well be held. Try again,
    ///   or wait for [`lost`](Self::lost).
    /// - [`Error::Misconfigured`] if the store refuses to answer, as after a right was taken away:
    ///   call a person. Renewals are refused as well then, and the lease ends with its belief.
    ///
    /// # Cancel safety
    ///
    /// Safe: it changes nothing.
    pub async fn confirm(&self) -> Result<Fence> {
        self.check()?;
        let holding = self.shared.holding();
        let budget = self.timing.call_timeout().min(self.remaining());
        let answer = within(self.shared.clock(), budget, self.backend.confirm(&holding)).await;
        match answer.unwrap_or_else(|| Err(self.unanswered()))? {
            // R23: the answer may have taken longer than the belief lasts.
            Confirmed::Held { drain } => {
                self.shared.set_drain(drain);
                self.check()
            }
            Confirmed::Lost(reason) => {
                self.shared.end(reason);
                self.check()
            }
        }
    }

    /// Ends once the lease is lost, for whichever reason, and then at once on every call. At the
    /// latest when the belief runs out by this process's clock, whatever the store does.
    ///
    /// # Cancel safety
    ///
    /// Safe: it takes nothing, and the next call goes on waiting.
    pub async fn lost(&self) -> LossReason {
        self.shared.lost().await
    }

    /// A token that is cancelled once the lease is lost, for code that takes one. To cancel it does
    /// not end the lease. Once it is cancelled, [`status`](Self::status) says why.
    ///
    /// The keeper cancels it. Where the keeper itself cannot run, only [`lost`](Self::lost) and
    /// [`check`](Self::check) tell in time.
    #[must_use]
    pub fn cancellation(&self) -> CancellationToken {
        self.shared.cancellation()
    }

    /// Waits out the grace after a takeover, in which the last writes of the holder before may still
    /// arrive ([`Timing::grace`]). Ends at once where there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if the lease was lost meanwhile: do not begin the protected work.
    ///
    /// # Cancel safety
    ///
    /// Safe: the grace goes by, waited for or not, and the next call waits for the rest of it.
    pub async fn ready(&self) -> Result<Fence> {
        self.run_while_held(self.clock().sleep_until(self.shared.ready_at())).await?;
        self.check()
    }

    /// Runs `work` for as long as the lease is held, and drops it when the lease is lost.
    ///
    /// It asks nothing of the store: before a write that must not be late use
    /// [`guard`](Self::guard) inside. Work that blocks its thread cannot be dropped meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if the lease was lost before `work` had ended: it was dropped at its last
    /// await, and what it had sent by then may have landed.
    ///
    /// # Cancel safety
    ///
    /// As safe as `work`.
    pub async fn run_while_held<W: Future>(&self, work: W) -> Result<W::Output> {
        self.check()?;
        tokio::select! {
            biased;
            _ = self.lost() => Err(self.shared.lost_error()),
            output = work => Ok(output),
        }
    }

    /// Ends once an exclusive waits for this writer to end; never for an exclusive.
    ///
    /// A writer may go on as long as it needs. It learns of the wait with its next renewal.
    ///
    /// # Cancel safety
    ///
    /// Safe: it takes nothing, and the next call ends at once while the exclusive waits.
    pub async fn drain_requested(&self) {
        self.shared.drain_requested().await;
    }

    /// Runs a write under the lease: the proof is made at the last moment before it.
    ///
    /// In order: the belief stands; the grace after a takeover is over; the store confirms; the
    /// belief stands still (rule R23). Then `write` runs with the [`Fence`], and its output is
    /// returned as it is. What `write` has sent when the belief ends may still land, so the
    /// resource should look at the token; see also [`guard_bounded`](Self::guard_bounded).
    ///
    /// # Errors
    ///
    /// `write` was not called.
    ///
    /// - [`Error::Lost`]: stop the protected work.
    /// - [`Error::NotYet`]: try again after the rest of the grace, which it tells.
    /// - [`Error::Unavailable`] or [`Error::Misconfigured`] if the store did not confirm: as of
    ///   [`confirm`](Self::confirm).
    ///
    /// # Cancel safety
    ///
    /// As safe as `write`: before that is called nothing is changed.
    pub async fn guard<F, W>(&self, write: F) -> Result<W::Output>
    where
        F: FnOnce(Fence) -> W,
        W: Future,
    {
        let fence = self.commit_point().await?;
        Ok(write(fence).await)
    }

    /// Runs a write as [`guard`](Self::guard) does, and drops it when the belief ends first.
    ///
    /// # Errors
    ///
    /// As of [`guard`](Self::guard); [`Error::Lost`] also if the write was dropped half-way. What
    /// it had sent by then may have landed.
    ///
    /// # Cancel safety
    ///
    /// As safe as `write`.
    pub async fn guard_bounded<F, W>(&self, write: F) -> Result<W::Output>
    where
        F: FnOnce(Fence) -> W,
        W: Future,
    {
        let fence = self.commit_point().await?;
        self.run_while_held(write(fence)).await
    }

    /// Announces this lease at a resource, then proves that it is still held (rule R22).
    ///
    /// Each new holder, of either mode, does this before its first write. Otherwise a write of the
    /// superseded holder that is on its way is let in between the grant and that first write.
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`] if the resource has seen a later holder or the store says that the lease
    ///   is gone: stop the protected work.
    /// - [`Error::Unavailable`] if either did not answer: announce again before anything is
    ///   written.
    /// - [`Error::Misconfigured`] if either refuses access: call a person.
    ///
    /// # Cancel safety
    ///
    /// Safe: the resource has seen the token or has not, as after an error. Announce again.
    pub async fn announce(&self, gate: &dyn DurableGate) -> Result<Fence> {
        self.check()?;
        // No longer than the belief: after that the answer would be worth nothing.
        let admission = within(self.shared.clock(), self.remaining(), gate.admit(self.token()));
        match admission.await.unwrap_or_else(|| Err(self.unanswered()))? {
            Admission::Admitted => self.confirm().await,
            Admission::Refused { .. } => {
                self.shared.end(LossReason::Displaced);
                self.check()
            }
        }
    }

    /// Changes the durations of a lease that is held: it is renewed at once with the new ttl.
    ///
    /// The belief is cut to the shorter of both when that renewal is sent (rule R17).
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] if the store cannot keep such a lease: nothing is changed, and the
    /// lease is held as before. Use the durations that it names.
    pub fn retime(&mut self, timing: Timing) -> Result<()> {
        timing.fits(&self.backend.capabilities())?;
        self.timing = timing;
        self.keeper.retime(self.id, timing);
        Ok(())
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        self.shared.clock()
    }

    async fn commit_point(&self) -> Result<Fence> {
        self.check()?;
        self.shared.ready()?;
        let (backend, name, epoch) = (self.backend.kind(), self.name(), self.epoch());
        let span = tracing::debug_span!("lease.guard", backend, %name, %epoch);
        self.confirm().instrument(span).await
    }

    fn unanswered(&self) -> Error {
        Error::unclear(self.backend.kind(), "no answer in time")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // After `release` or `into_ticket` the keeper does not know the lease any more.
        self.keeper.abandon(self.id, &self.shared);
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("name", self.name())
            .field("mode", &self.mode())
            .field("epoch", &self.epoch())
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
