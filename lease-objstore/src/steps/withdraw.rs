//! Releasing, or giving up.

use bytes::Bytes;
use lease_core::backend::Withdrawn;
use lease_core::{Holding, LossReason, Mode, Result};

use crate::error::{after_a_write, is_denied};
use crate::key::{ClaimId, Part};
use crate::lifetime;
use crate::listing::{Listing, Mark};
use crate::revision::At;
use crate::steps::renew::place;
use crate::store::ObjStore;

impl ObjStore {
    pub(crate) async fn withdraw_own(&self, mine: &Holding) -> Result<Withdrawn> {
        self.objects.writable()?;
        let ended = self.memo.spent(mine.nonce).is_some();
        // First of all: a renewal that is still on its way must find it spent.
        self.memo.spend(mine.nonce, LossReason::Released);
        // A folder would be made again that was removed; there a look costs next to nothing.
        if !ended && self.folder.is_none() {
            match self.granted_here(mine) {
                Some((ClaimId::Exclusive(n), at)) => return self.release(mine, n, &at).await,
                Some((id, at)) => return self.release_writer(mine, id, &at).await,
                None => {}
            }
        }
        let listing = self.list(&mine.name).await?;
        match mine.mode {
            Mode::Writer => self.withdraw_writer(mine, &listing).await,
            Mode::Exclusive => {
                let answer = self.withdraw_exclusive(mine, &listing).await?;
                self.clean_up(mine, &listing).await;
                Ok(answer)
            }
        }
    }

    /// One's own claim, if this client was granted it: then it was created, and its fate is sealed.
    fn granted_here(&self, mine: &Holding) -> Option<(ClaimId, At)> {
        let (id, at) = place(mine)?;
        let n = match id {
            ClaimId::Exclusive(n) => Some(n),
            ClaimId::Writer(_) => None,
        };
        let made = self.memo.own(mine.nonce).is_some_and(|own| own.created && own.n == n);
        // What ended it before, if anything did, is not cleared away yet.
        let path = self.objects.path(&mine.name, id.key(Part::Record));
        let lately = self.memo.wrote_within(&path, self.clock.now(), crate::gc::AT_LEAST);
        (made && lately && mine.epoch.is_some()).then_some((id, at))
    }

    /// Deletes a granted writer's file, looking beside it what became of it. Whoever ended it before
    /// left a mark, so a look that shows nothing of it shows that it was just deleted.
    async fn release_writer(&self, mine: &Holding, id: ClaimId, at: &At) -> Result<Withdrawn> {
        let path = self.objects.path(&mine.name, id.key(Part::Record));
        let (deleted, listing) = futures::join!(self.objects.delete(&path), self.list(&mine.name));
        let was_there = match deleted {
            Ok(was_there) => was_there,
            // Whoever may create but not delete ends a claim by a mark. It stays there.
            Err(error) if is_denied(&error) => {
                self.mark_writer(mine, id).await?;
                true
            }
            Err(error) => return Err(error),
        };
        let listing = listing.map_err(after_a_write)?;
        let ended = listing.files(id).is_some_and(|files| files.is_condemned() || files.released);
        let held = was_there && !ended && listing.genesis() == at.genesis;
        Ok(if held { Withdrawn::Removed } else { Withdrawn::NotThere })
    }

    /// Ends a granted claim, looking beside it what became of it: its number is nobody else's ever,
    /// so the end mark hits nobody whatever the look shows.
    async fn release(&self, mine: &Holding, n: u64, at: &At) -> Result<Withdrawn> {
        let id = ClaimId::Exclusive(n);
        let end = self.mark(&mine.name, id, Part::Finished, Bytes::new());
        let (ended, listing) = futures::join!(end, self.list(&mine.name));
        ended?;
        let listing = listing.map_err(after_a_write)?;
        if listing.genesis() != at.genesis {
            // Where its claim went with the state there is nothing that the mark could end.
            let path = self.objects.path(&mine.name, id.key(Part::Finished));
            let there = listing.exclusives.get(&n).is_some_and(|files| files.record.is_some());
            if !there && let Err(error) = self.objects.delete(&path).await {
                tracing::debug!(name = %mine.name, %error, "an end mark could not be deleted");
            }
            return Ok(Withdrawn::NotThere);
        }
        let held = listing.exclusives.get(&n).is_some_and(|files| {
            files.record.is_some()
                && !files.is_condemned()
                && listing.granted().is_none_or(|top| n >= top)
        });
        if held {
            self.left(&mine.name, n, &listing);
        }
        self.clean_up(mine, &listing).await;
        Ok(if held { Withdrawn::Removed } else { Withdrawn::NotThere })
    }

    async fn withdraw_writer(&self, mine: &Holding, listing: &Listing) -> Result<Withdrawn> {
        let id = ClaimId::Writer(mine.nonce);
        let Some(files) = listing.writers.get(&mine.nonce) else {
            // A registration that was never answered may still come: it must find its nonce spent.
            if mine.epoch.is_none() && listing.genesis.is_some() {
                self.mark_writer(mine, id).await?;
                // On a name without exclusives nobody else ever would.
                self.clean_up(mine, listing).await;
            }
            return Ok(Withdrawn::NotThere);
        };
        if files.record.is_none() {
            return Ok(Withdrawn::NotThere);
        }
        let lived = files.unended().is_some() && !files.is_condemned();
        // Another process made it and may still renew it: it must find that it has ended.
        if lived && self.memo.own(mine.nonce).is_none() {
            self.mark_writer(mine, id).await?;
        }
        let path = self.objects.path(&mine.name, id.key(Part::Record));
        let was_there = match self.objects.delete(&path).await {
            Ok(was_there) => was_there,
            // Whoever may create but not delete ends a claim by a mark. It stays there.
            Err(error) if is_denied(&error) => {
                self.mark_writer(mine, id).await?;
                true
            }
            Err(error) => return Err(error),
        };
        Ok(if lived && was_there { Withdrawn::Removed } else { Withdrawn::NotThere })
    }

    /// Ends a writer's claim by a mark, which may stay when the claim's file is gone.
    async fn mark_writer(&self, mine: &Holding, id: ClaimId) -> Result<()> {
        self.mark(&mine.name, id, Part::Released, lifetime::of(mine.ttl)?).await
    }

    async fn withdraw_exclusive(&self, mine: &Holding, listing: &Listing) -> Result<Withdrawn> {
        let Some(n) = self.find(mine, listing).await? else { return Ok(Withdrawn::NotThere) };
        let Some(files) = listing.exclusives.get(&n) else { return Ok(Withdrawn::NotThere) };
        let ended = files.unended().is_none() || listing.granted().is_some_and(|top| n < top);
        if ended {
            return Ok(Withdrawn::NotThere);
        }
        // Nothing of one's own may be on its way that could still seal the fate: then a released
        // claim would raise the epoch beside writers that hold.
        if files.mark.is_none() {
            let fate = if mine.epoch.is_some() { Mark::Granted } else { Mark::Void };
            self.seal(&mine.name, n, fate).await?;
        }
        self.mark(&mine.name, ClaimId::Exclusive(n), Part::Released, Bytes::new()).await?;
        Ok(if files.is_condemned() { Withdrawn::NotThere } else { Withdrawn::Removed })
    }

    /// The number of one's own claim: as the revision says if that is of the state that is there,
    /// else the claim that carries the nonce.
    async fn find(&self, mine: &Holding, listing: &Listing) -> Result<Option<u64>> {
        if let Some((id @ ClaimId::Exclusive(n), at)) = place(mine)
            && at.genesis == listing.genesis()
            && self.is_mine(mine, id).await?
        {
            return Ok(Some(n));
        }
        for (n, _, seen) in listing.in_the_way() {
            let known = self.body(&mine.name, ClaimId::Exclusive(n), seen).await?;
            let is_mine = known
                .is_some_and(|known| matches!(known.body.as_ref(), Ok(b) if b.nonce == mine.nonce));
            if is_mine {
                return Ok(Some(n));
            }
        }
        Ok(None)
    }
}
