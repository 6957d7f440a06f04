//! The insert-then-check protocol, written once over the primitive steps of a [`Backend`].
//!
//! The two halves meet at the store: a writer inserts its record and *then* looks for an exclusive;
//! an exclusive installs its record and *then* looks for writers. Whoever inserts second sees the
//! other, so at most one of them goes on. Each rule is named where it is kept; `docs/PROTOCOL.md`
//! tells what happens without it.
//!
//! [`Backend`]: crate::Backend

mod join;
mod take;

pub use join::join;
pub use take::take;

use crate::backend::Evicted;
use crate::record::{Holding, Record, Revision, Snapshot};
use crate::{Backend, Claim, Error, Policy, Result};

/// Clears the stale exclusive in `seen` if the policy allows and the store agrees (rule R13); whether
/// it did. One that was renewed since lives after all.
async fn clear<B>(backend: &B, claim: &Claim, seen: &Record, policy: &Policy) -> Result<bool>
where
    B: Backend + ?Sized,
{
    let Some(judged) = policy.judge(seen, claim.ttl) else { return Ok(false) };
    let evicted = backend.evict(&claim.name, &seen.target(), judged).await?;
    Ok(evicted == Evicted::Condemned)
}

/// One's own record as a snapshot shows it, when the answer to its creation was lost.
fn found(claim: &Claim, seen: &Snapshot) -> Option<Holding> {
    let record = seen.record(claim.nonce)?;
    Some(Holding::created(claim, record.revision.clone()))
}

/// The placeholder revision of a record whose creation was never answered: enough to withdraw it.
fn unanswered(claim: &Claim) -> Holding {
    Holding::created(claim, Revision::new(""))
}

/// Whether the request that failed so may have taken place.
fn is_unclear(error: &Error) -> bool {
    matches!(error, Error::Unavailable { effect: crate::Effect::Unknown, .. })
}
