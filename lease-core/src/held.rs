//! The leases of a process that holds many.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::lease::Released;
use crate::{Epoch, Error, Fence, Lease, LossReason, Mode, Name, Result, Status};

/// The leases that one process holds, by name.
///
/// Each is kept by the keeper of the coordinator that it came from, all of them together, in
/// batches. All methods may be called from any thread.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), lease_core::Error> {
/// # use std::sync::Arc;
/// # use lease_core::{Coordinator, HeldLeases, Name, memory::Memory};
/// let leases = Coordinator::new(Arc::new(Memory::new()));
/// let held = HeldLeases::new();
/// held.hold(leases.exclusive("shard-7").acquire().await?);
///
/// let shard = Name::parse("shard-7")?;
/// assert!(held.is_held(&shard));
/// held.settle(&shard, |fence| async move { fence.token() }).await?;
/// assert!(!held.is_held(&shard));
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct HeldLeases {
    leases: Mutex<BTreeMap<Name, Arc<Lease>>>,
}

/// One of the leases that a process holds, at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HeldLease {
    /// What is held.
    pub name: Name,
    /// How.
    pub mode: Mode,
    /// The epoch that it was granted under.
    pub epoch: Epoch,
    /// Whether it still is.
    pub status: Status,
    /// How long it may be believed in if no renewal gets through.
    pub remaining: Duration,
}

impl HeldLeases {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a lease here. One of the same name that was here before is returned; dropping it
    /// releases it.
    pub fn hold(&self, lease: Lease) -> Option<Arc<Lease>> {
        self.lock().insert(lease.name().clone(), Arc::new(lease))
    }

    /// Whether this process holds `name`, by its own clock.
    #[must_use]
    pub fn is_held(&self, name: &Name) -> bool {
        self.get(name).is_some_and(|lease| lease.check().is_ok())
    }

    /// Proves by this process's clock that `name` is held.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if it is not, also if it never was.
    pub fn check(&self, name: &Name) -> Result<Fence> {
        self.expect(name)?.check()
    }

    /// Asks the store whether `name` is still ours. See [`Lease::confirm`].
    ///
    /// # Errors
    ///
    /// As [`Lease::confirm`]; [`Error::Lost`] also if it never was ours.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn confirm(&self, name: &Name) -> Result<Fence> {
        self.expect(name)?.confirm().await
    }

    /// Finishes the work on `name` under its lease, then releases it. See [`Lease::guard`].
    ///
    /// # Errors
    ///
    /// As [`Lease::guard`], and then the lease is still here; [`Error::Lost`] also if it never was
    /// ours. A release that fails after the work is done is not an error: the ttl frees the name.
    ///
    /// # Cancel safety
    ///
    /// As safe as `work`.
    pub async fn settle<F, W>(&self, name: &Name, work: F) -> Result<W::Output>
    where
        F: FnOnce(Fence) -> W,
        W: Future,
    {
        let lease = self.expect(name)?;
        let output = lease.guard(work).await?;
        self.forget(&lease);
        if let Some(lease) = Arc::into_inner(lease)
            && let Err(error) = lease.release().await
        {
            tracing::debug!(%name, %error, "a settled lease was left to its ttl");
        }
        Ok(output)
    }

    /// Releases `name` without any work. See [`Lease::release`].
    ///
    /// # Errors
    ///
    /// As [`Lease::release`].
    ///
    /// # Cancel safety
    ///
    /// Safe: the release goes on in the background.
    pub async fn release(&self, name: &Name) -> Result<Released> {
        let lease = self.lock().remove(name);
        match lease.and_then(Arc::into_inner) {
            Some(lease) => lease.release().await,
            // Another call is at work with it; its end drops the lease, which releases it.
            None => Ok(Released::NotHeld),
        }
    }

    /// All of them, in the order of their names, those found lost included.
    #[must_use]
    pub fn snapshot(&self) -> Vec<HeldLease> {
        let leases = self.lock();
        let show = |lease: &Arc<Lease>| HeldLease {
            name: lease.name().clone(),
            mode: lease.mode(),
            epoch: lease.epoch(),
            status: lease.status(),
            remaining: lease.remaining(),
        };
        leases.values().map(show).collect()
    }

    /// Forgets the leases that are lost, and says which and why.
    pub fn drop_lost(&self) -> Vec<(Name, LossReason)> {
        let mut lost = Vec::new();
        self.lock().retain(|name, lease| match lease.status() {
            Status::Lost(reason) => {
                lost.push((name.clone(), reason));
                false
            }
            Status::Held | Status::Doubtful => true,
        });
        lost
    }

    fn get(&self, name: &Name) -> Option<Arc<Lease>> {
        self.lock().get(name).cloned()
    }

    fn expect(&self, name: &Name) -> Result<Arc<Lease>> {
        self.get(name).ok_or_else(|| Error::Lost {
            name: name.clone(),
            epoch: Epoch::default(),
            reason: LossReason::Released,
        })
    }

    /// Takes exactly this lease out, not one that was taken under its name since.
    fn forget(&self, lease: &Arc<Lease>) {
        let mut leases = self.lock();
        if leases.get(lease.name()).is_some_and(|there| Arc::ptr_eq(there, lease)) {
            leases.remove(lease.name());
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Name, Arc<Lease>>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
