//! The leases of a process that holds many.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::RwLock;

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
    leases: Mutex<BTreeMap<Name, Arc<Kept>>>,
}

#[derive(Debug)]
struct Kept {
    lease: Lease,
    /// Read while work goes on under the lease; written to end it.
    work: RwLock<()>,
}

impl Kept {
    /// Releases the lease once no work goes on under it any more.
    async fn end(&self) -> Result<Released> {
        let _nobody_works = self.work.write().await;
        self.lease.release_in_place().await
    }

    /// Releases the lease; in the background what takes longer than one call may.
    async fn end_soon(&self) {
        self.lease.release_soon().await;
    }
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

    /// Keeps a lease here. One of the same name that was here before, and so is over or was held
    /// beside this one as a writer, is released in the background once no work goes on under it.
    ///
    /// Only their names tell leases apart here, so those of different stores belong into different
    /// `HeldLeases`.
    pub fn hold(&self, lease: Lease) {
        let kept = Arc::new(Kept { lease, work: RwLock::new(()) });
        self.lock().insert(kept.lease.name().clone(), kept);
    }

    /// Whether this process holds `name`, by its own clock.
    #[must_use]
    pub fn is_held(&self, name: &Name) -> bool {
        self.get(name).is_some_and(|kept| kept.lease.check().is_ok())
    }

    /// Proves by this process's clock that `name` is held.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if it is not: stop the protected work. Also if it never was; its epoch is
    /// zero then.
    pub fn check(&self, name: &Name) -> Result<Fence> {
        self.expect(name)?.lease.check()
    }

    /// Asks the store whether `name` is still ours. See [`Lease::confirm`].
    ///
    /// # Errors
    ///
    /// As of [`Lease::confirm`], [`Error::Misconfigured`] included; [`Error::Lost`] also if it
    /// never was ours.
    ///
    /// # Cancel safety
    ///
    /// Safe: it changes nothing.
    pub async fn confirm(&self, name: &Name) -> Result<Fence> {
        self.expect(name)?.lease.confirm().await
    }

    /// Finishes the work on `name` under its lease, then releases it. See [`Lease::guard`].
    ///
    /// # Errors
    ///
    /// As of [`Lease::guard`], [`Error::Misconfigured`] included, and then the lease is still here;
    /// [`Error::Lost`] also if it never was ours. A release that fails after the work is done is
    /// not an error: the ttl frees the name.
    ///
    /// # Cancel safety
    ///
    /// As safe as `work` while that runs; after it the output waits for the release, for no longer
    /// than one call timeout, and is lost if the future is dropped meanwhile.
    pub async fn settle<F, W>(&self, name: &Name, work: F) -> Result<W::Output>
    where
        F: FnOnce(Fence) -> W,
        W: Future,
    {
        let kept = self.expect(name)?;
        let output = {
            let _at_work = kept.work.read().await;
            kept.lease.guard(work).await?
        };
        // Where other work goes on under it, the last of it releases it by dropping it.
        if self.forget(&kept)
            && let Ok(_nobody_works) = kept.work.try_write()
        {
            kept.end_soon().await;
        }
        Ok(output)
    }

    /// Releases `name`, after the work that goes on under it. See [`Lease::release`].
    ///
    /// From the call on it is not held here any more, so that no new work begins. Not to be awaited
    /// by that work itself, which would wait for its own end.
    ///
    /// # Errors
    ///
    /// As of [`Lease::release`]. That it is not held here is none: [`Released::NotHeld`].
    ///
    /// # Cancel safety
    ///
    /// Safe: it is released in the background once no work goes on under it.
    pub async fn release(&self, name: &Name) -> Result<Released> {
        let kept = self.lock().remove(name);
        match kept {
            Some(kept) => kept.end().await,
            None => Ok(Released::NotHeld),
        }
    }

    /// All of them, in the order of their names, those found lost included.
    #[must_use]
    pub fn snapshot(&self) -> Vec<HeldLease> {
        let leases = self.lock();
        let show = |Kept { lease, .. }: &Kept| HeldLease {
            name: lease.name().clone(),
            mode: lease.mode(),
            epoch: lease.epoch(),
            status: lease.status(),
            remaining: lease.remaining(),
        };
        leases.values().map(Arc::as_ref).map(show).collect()
    }

    /// Forgets the leases that are lost, and says which and why.
    pub fn drop_lost(&self) -> Vec<(Name, LossReason)> {
        let mut lost = Vec::new();
        self.lock().retain(|name, kept| match kept.lease.status() {
            Status::Lost(reason) => {
                lost.push((name.clone(), reason));
                false
            }
            Status::Held | Status::Doubtful => true,
        });
        lost
    }

    fn get(&self, name: &Name) -> Option<Arc<Kept>> {
        self.lock().get(name).cloned()
    }

    fn expect(&self, name: &Name) -> Result<Arc<Kept>> {
        self.get(name).ok_or_else(|| Error::Lost {
            name: name.clone(),
            epoch: Epoch::default(),
            reason: LossReason::Released,
        })
    }

    /// Takes exactly this lease out, not one that was taken under its name since; whether it did.
    fn forget(&self, kept: &Arc<Kept>) -> bool {
        let mut leases = self.lock();
        let name = kept.lease.name();
        let same = leases.get(name).is_some_and(|there| Arc::ptr_eq(there, kept));
        if same {
            leases.remove(name);
        }
        same
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Name, Arc<Kept>>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
