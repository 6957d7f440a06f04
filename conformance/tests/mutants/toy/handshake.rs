//! Handshakes whose steps are in the wrong order, or left out.

use lease_core::backend::{Committed, Draining, Evicted, Installed, Joined, Registered, Taken};
use lease_core::{
    Backend, Claim, Error, Freshness, Grant, Holding, Policy, Result, Snapshot, Standing, handshake,
};

use super::Toy;
use crate::mutants::Fault;

pub(crate) async fn join(toy: &Toy, claim: &Claim, policy: &Policy) -> Result<Joined> {
    match toy.store.fault {
        // R1: it checks, and only then inserts.
        Some(Fault::WritersCheckBeforeTheyInsert) => {
            let seen = toy.observe(&claim.name).await?;
            if seen.exclusive.is_some() {
                return Ok(Joined::Refused(seen.standing()));
            }
            let mine = registers(toy, claim).await?;
            Ok(granted(mine, &seen))
        }
        // R11: a stale exclusive counts as none.
        Some(Fault::StaleExclusivesDoNotBlock) => {
            let lives = |seen: &Snapshot| {
                seen.exclusive.as_ref().is_some_and(|x| x.freshness != Freshness::Stale)
            };
            let seen = toy.observe(&claim.name).await?;
            if lives(&seen) {
                return Ok(Joined::Refused(seen.standing()));
            }
            let mine = registers(toy, claim).await?;
            let seen = toy.observe(&claim.name).await?;
            if lives(&seen) {
                toy.withdraw(&mine).await?;
                return Ok(Joined::Refused(seen.standing()));
            }
            Ok(granted(mine, &seen))
        }
        // R24: it inserts without a look. And a refusal that stays behind.
        Some(Fault::WritersInsertBeforeTheyLook | Fault::ARefusedWriterStays) => {
            let mine = registers(toy, claim).await?;
            let seen = toy.observe(&claim.name).await?;
            if seen.exclusive.is_none() {
                return Ok(granted(mine, &seen));
            }
            if toy.store.fault == Some(Fault::WritersInsertBeforeTheyLook) {
                toy.withdraw(&mine).await?;
            }
            Ok(Joined::Refused(seen.standing()))
        }
        _ => handshake::join(toy, claim, policy).await,
    }
}

pub(crate) async fn take(
    toy: &Toy,
    claim: &Claim,
    draining: Option<&Draining>,
    policy: &Policy,
) -> Result<Taken> {
    let (ignores, blind, skips) = match toy.store.fault {
        // R10: stale writers are left out of the count.
        Some(Fault::StaleWritersAreIgnored) => (true, false, false),
        // R15: what was evicted counts as gone.
        Some(Fault::DrainsDoNotLookAgain) => (false, true, false),
        // It does not drain at all.
        Some(Fault::ExclusivesDoNotDrain) => (false, false, true),
        _ => return handshake::take(toy, claim, draining, policy).await,
    };
    let mine = match draining {
        Some(draining) => {
            let mine = draining.holding.next_beat();
            toy.renew(std::slice::from_ref(&mine)).await.pop().unwrap()?;
            mine.acknowledged(mine.revision.clone())
        }
        None => {
            let seen = toy.observe(&claim.name).await?;
            match toy.install(claim, &seen, None).await? {
                Installed::Here(revision) => Holding::created(claim, revision),
                Installed::Refused => return Ok(Taken::Refused(seen.standing())),
            }
        }
    };
    let seen = toy.observe(&claim.name).await?;
    let fresh = |record: &&lease_core::Record| record.freshness != Freshness::Stale;
    let waits = match (ignores, blind, skips) {
        (.., true) => false,
        _ => seen.writers.iter().any(|writer| fresh(&writer)),
    };
    if waits {
        let waiting_for = seen.standing();
        return Ok(Taken::Draining(Draining { holding: mine, took_over: false, waiting_for }));
    }
    if blind {
        for writer in &seen.writers {
            let judged = lease_core::Judged::ByStore;
            let _: Evicted = toy.evict(&claim.name, &writer.target(), judged).await?;
        }
    }
    match toy.commit(&mine).await? {
        Committed::Granted { epoch, revision } => {
            let holding = Holding { epoch: Some(epoch), revision, ..mine };
            Ok(Taken::Granted(Grant { holding, epoch, took_over: blind }))
        }
        Committed::Lost => Ok(Taken::Displaced(seen.epoch)),
    }
}

/// Who is in the way, as the asker is told.
pub(crate) fn told(toy: &Toy, mut by: Standing, claim: &Claim) -> Standing {
    if toy.store.fault == Some(Fault::RefusalsNameTheAsker) {
        by.holder = by.holder.map(|there| lease_core::Record {
            info: lease_core::HolderInfo::clone(&claim.info),
            nonce: claim.nonce,
            ..there
        });
    }
    by
}

async fn registers(toy: &Toy, claim: &Claim) -> Result<Holding> {
    match toy.register(claim).await? {
        Registered::Here(revision) => Ok(Holding::created(claim, revision)),
        Registered::Void => Err(Error::unclear("toy", "spent")),
    }
}

fn granted(mine: Holding, seen: &Snapshot) -> Joined {
    let holding = Holding { epoch: Some(seen.epoch), ..mine };
    Joined::Granted(Grant { holding, epoch: seen.epoch, took_over: false })
}
