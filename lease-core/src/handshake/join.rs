//! The writer's half: look, insert, then check.

use super::{clear, found, is_unclear, unanswered};
use crate::backend::{Joined, Registered};
use crate::record::{Grant, Holding};
use crate::{Backend, Claim, Error, Policy, Result};

/// A writer's whole handshake over the primitive steps. See [`Backend::join`].
///
/// # Errors
///
/// Those of the backend. After one that is unclear the record may be there: withdraw it and start
/// again with a fresh nonce.
///
/// # Cancel safety
///
/// As after an unclear error.
pub async fn join<B>(backend: &B, claim: &Claim, policy: &Policy) -> Result<Joined>
where
    B: Backend + ?Sized,
{
    // R24: look first. A writer that inserts while an exclusive waits looks alive to its drain, and
    // writers that retry would keep it waiting for ever.
    let mut took_over = false;
    let seen = backend.observe(&claim.name).await?;
    if let Some(exclusive) = &seen.exclusive {
        if !clear(backend, claim, exclusive, policy).await? {
            return Ok(Joined::Refused(seen.standing()));
        }
        took_over = true;
    }

    // R1: insert ...
    let registered = match backend.register(claim).await {
        Ok(Registered::Here(revision)) => Some(Holding::created(claim, revision)),
        Ok(Registered::Void) => return Err(spent(backend)),
        // The look below tells whether it got through.
        Err(error) if is_unclear(&error) => None,
        Err(error) => return Err(error),
    };

    // ... and only then check.
    let seen = match backend.observe(&claim.name).await {
        Ok(seen) => seen,
        Err(error) => return Err(give_up(backend, claim, error).await),
    };
    let Some(shown) = found(claim, &seen) else {
        return Err(give_up(backend, claim, spent(backend)).await);
    };

    // R11: a stale exclusive blocks as well. The next try clears it at its look, if it may.
    if seen.exclusive.is_some() {
        backend.withdraw(&shown).await.map_err(|error| unclear(backend, error))?;
        return Ok(Joined::Refused(seen.standing()));
    }
    let holding = Holding { epoch: Some(seen.epoch), ..registered.unwrap_or(shown) };
    Ok(Joined::Granted(Grant { holding, epoch: seen.epoch, took_over }))
}

/// Withdraws what may have been registered, as well as it goes, and passes `error` on as unclear.
async fn give_up<B: Backend + ?Sized>(backend: &B, claim: &Claim, error: Error) -> Error {
    match backend.withdraw(&unanswered(claim)).await {
        Ok(_) => error,
        Err(_) => unclear(backend, error),
    }
}

/// `error`, marked so that the caller knows that its record may still be there.
fn unclear<B: Backend + ?Sized>(backend: &B, error: Error) -> Error {
    Error::unclear(backend.kind(), error)
}

fn spent<B: Backend + ?Sized>(backend: &B) -> Error {
    Error::unclear(backend.kind(), "the record was removed before it was granted")
}
