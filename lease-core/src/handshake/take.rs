//! The exclusive's half: install, drain, commit.

use super::{found, is_unclear};
use crate::backend::{Committed, Draining, Installed, Renewed, Taken};
use crate::record::{Grant, Holding, State};
use crate::{Backend, Claim, Error, Policy, Result};

/// One round of an exclusive's handshake over the primitive steps. See [`Backend::take`].
///
/// # Errors
///
/// Those of the backend. After one that is unclear the record may be there. After a first round:
/// withdraw the nonce and start again with a fresh one, for a belief that counts from a second call
/// would outlive a record that the first one wrote. After a later one: go on with
/// [`Draining::after_a_failed_round`], or withdraw.
///
/// # Cancel safety
///
/// As after an unclear error.
pub async fn take<B>(
    backend: &B,
    claim: &Claim,
    draining: Option<&Draining>,
    policy: &Policy,
) -> Result<Taken>
where
    B: Backend + ?Sized,
{
    let (mut mine, mut took_over) = match draining {
        Some(draining) => match keep(backend, draining).await? {
            Some(holding) => (holding, draining.took_over),
            None => return displaced(backend, claim).await,
        },
        None => match install(backend, claim, policy).await? {
            Ok(installed) => installed,
            Err(refused) => return Ok(refused),
        },
    };

    // X2: drain. R15: after evicting, list again; done only when a listing shows no writer at all.
    let mut evicted = false;
    loop {
        let seen = backend.observe(&claim.name).await?;
        let Some(shown) = seen.exclusive.as_ref().filter(|x| x.nonce == claim.nonce) else {
            // It may stand behind another one, where the store keeps more than one for a while.
            backend.withdraw(&mine).await.ok();
            return Ok(Taken::Displaced(seen.epoch));
        };
        // The answer to an earlier commit may have been lost.
        if shown.state == State::Granted {
            mine.epoch = Some(seen.epoch);
            return Ok(Taken::Granted(Grant { holding: mine, epoch: seen.epoch, took_over }));
        }
        if seen.writers.is_empty() {
            break;
        }
        let judged: Vec<_> = seen.writers.iter().map(|w| (w, policy.judge(w, claim.ttl))).collect();
        let waiting_for = || crate::Standing { holder: most_telling(&seen), ..seen.standing() };
        if judged.iter().all(|(writer, verdict)| verdict.is_none() && is_respected(writer)) {
            // Only an operator can end these; while we waited, writers would be kept out for nothing.
            backend.withdraw(&mine).await?;
            return Ok(Taken::Refused(waiting_for()));
        }
        // One pass of evictions a round: what a store ends later, a later round finds ended.
        if evicted || judged.iter().all(|(_, verdict)| verdict.is_none()) {
            return Ok(Taken::Draining(Draining {
                holding: mine,
                took_over,
                waiting_for: waiting_for(),
            }));
        }
        // R10: stale writers are removed, never ignored. R9: only if stale at that very step.
        for (writer, verdict) in judged {
            if let Some(verdict) = verdict {
                backend.evict(&claim.name, &writer.target(), verdict).await?;
            }
        }
        (evicted, took_over) = (true, true);
    }

    // X3: commit. An unclear answer is looked up by the next round, which finds us granted.
    match backend.commit(&mine).await? {
        Committed::Granted { epoch, revision } => {
            let holding = Holding { epoch: Some(epoch), revision, ..mine };
            Ok(Taken::Granted(Grant { holding, epoch, took_over }))
        }
        Committed::Lost => displaced(backend, claim).await,
    }
}

/// X1: installs the record, over a stale one if the policy allows (rule R12).
async fn install<B>(
    backend: &B,
    claim: &Claim,
    policy: &Policy,
) -> Result<std::result::Result<(Holding, bool), Taken>>
where
    B: Backend + ?Sized,
{
    let seen = backend.observe(&claim.name).await?;
    // An earlier call with this nonce may have got through without an answer, over whomever.
    if let Some(mine) = found(claim, &seen) {
        return Ok(Ok((mine, true)));
    }
    let over = match &seen.exclusive {
        None => None,
        Some(exclusive) => match policy.judge(exclusive, claim.ttl) {
            Some(judged) => Some((exclusive.target(), judged)),
            None => return Ok(Err(Taken::Refused(seen.standing()))),
        },
    };
    let over_ref = over.as_ref().map(|(target, judged)| (target, *judged));
    let unclear = match backend.install(claim, &seen, over_ref).await {
        Ok(Installed::Here(revision)) => {
            return Ok(Ok((Holding::created(claim, revision), over.is_some())));
        }
        Ok(Installed::Refused) => None,
        Err(error) if is_unclear(&error) => Some(error),
        Err(error) => return Err(error),
    };
    let seen = backend.observe(&claim.name).await?;
    match (found(claim, &seen), unclear) {
        (Some(mine), _) => Ok(Ok((mine, over.is_some()))),
        (None, None) => Ok(Err(Taken::Refused(seen.standing()))),
        (None, Some(error)) => Err(error),
    }
}

/// Renews the record while it drains; nothing if it is not ours any more.
async fn keep<B: Backend + ?Sized>(backend: &B, draining: &Draining) -> Result<Option<Holding>> {
    let mine = draining.holding.next_beat();
    let answer = backend.renew(std::slice::from_ref(&mine)).await.pop();
    match answer.unwrap_or_else(|| Err(no_answer(backend)))? {
        Renewed::Renewed { revision, .. } => Ok(Some(mine.acknowledged(revision))),
        Renewed::Lost(_) => Ok(None),
    }
}

async fn displaced<B: Backend + ?Sized>(backend: &B, claim: &Claim) -> Result<Taken> {
    Ok(Taken::Displaced(backend.observe(&claim.name).await?.epoch))
}

/// Which of the writers is told of: one that has expired, if there is one, since the grace counts for
/// whoever saw it.
fn most_telling(seen: &crate::Snapshot) -> Option<crate::Record> {
    let expired = seen.writers.iter().find(|writer| is_respected(writer));
    expired.or(seen.writers.first()).cloned()
}

/// Whether the policy leaves this writer to an operator though it has expired.
fn is_respected(writer: &crate::Record) -> bool {
    matches!(writer.freshness, crate::Freshness::Stale)
}

fn no_answer<B: Backend + ?Sized>(backend: &B) -> Error {
    Error::unclear(backend.kind(), "the backend answered fewer renewals than it was asked for")
}
