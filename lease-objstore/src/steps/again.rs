//! Taking a name again that this client was the last to release.

use std::time::Duration;

use bytes::Bytes;
use lease_core::backend::{Draining, Installed, Taken};
use lease_core::{Claim, Epoch, Grant, Holding, LossReason, Name, Result, Standing};

use crate::error::after_a_write;
use crate::judge;
use crate::key::{ClaimId, Part};
use crate::listing::{Listing, Mark};
use crate::memo::Left;
use crate::steps::renew::place;
use crate::store::{ObjStore, out_of_epochs};

/// For how long it is likely that nobody else has been there since. To be wrong costs four requests,
/// to be right saves one.
const LIKELY: Duration = Duration::from_secs(60);

impl ObjStore {
    /// Creates the claim that follows the one that this client released last, and only then looks.
    /// Nothing if somebody has been there since: then the usual way is as good as it was.
    ///
    /// The first look of the usual way decides nothing: it tells which number comes next. Whoever is
    /// wrong about it finds the number taken, or finds a higher claim at the look that follows.
    pub(crate) async fn take_again(&self, claim: &Claim) -> Result<Option<Taken>> {
        self.objects.writable()?;
        if self.memo.spent(claim.nonce).is_some() {
            return Ok(None);
        }
        let Some(left) = self.memo.take_left(&claim.name, self.clock.now(), LIKELY) else {
            return Ok(None);
        };
        // In a folder the mark costs next to nothing, and it is the only file that is flushed.
        let at_once = self.folder.is_none();
        let Installed::Here(revision) = self.claim(claim, left.genesis, left.n, at_once).await?
        else {
            self.memo.forget(claim.nonce);
            return Ok(None);
        };
        let mine = Holding::created(claim, revision);
        let Some((id @ ClaimId::Exclusive(n), at)) = place(&mine) else { return Ok(None) };
        let listing = self.look(&claim.name).await.map_err(after_a_write)?;
        let writers = listing.live_writers().count();
        // A claim that is granted by being there does not wait for writers: none of these holds yet,
        // or they left their files behind. The usual way finds out.
        let at_once_no_more = at_once && (writers > 0 || !listing.is_granted(n, at_once));
        if judge::own(&listing, &mine, &at).is_err() || at_once_no_more {
            self.take_claim_back(&mine, n).await?;
            return Ok(None);
        }
        if writers > 0 {
            let waiting_for = Standing { epoch: listing.epoch(), holder: None, writers };
            let draining = Draining { holding: mine, took_over: false, waiting_for };
            return Ok(Some(Taken::Draining(draining)));
        }
        // That look came after the claim, so it is the one that a commit would make.
        if !at_once && self.seal(&claim.name, n, Mark::Granted).await? == Mark::Void {
            self.memo.spend(mine.nonce, LossReason::Displaced);
            self.mark(&claim.name, id, Part::Released, Bytes::new()).await.ok();
            return Ok(Some(Taken::Displaced(listing.epoch())));
        }
        let epoch = Epoch::new(n).ok_or_else(out_of_epochs)?;
        let holding = Holding { epoch: Some(epoch), ..mine };
        Ok(Some(Taken::Granted(Grant { holding, epoch, took_over: false })))
    }

    /// Ends a claim that did not hold, as if it had never been made. As void though it may have been
    /// seen as granted: if it raised the epoch, a writer that is about to open the name below it
    /// could be overtaken by claim after claim.
    async fn take_claim_back(&self, mine: &Holding, n: u64) -> Result<()> {
        self.memo.forget(mine.nonce);
        self.seal(&mine.name, n, Mark::Void).await?;
        self.mark(&mine.name, ClaimId::Exclusive(n), Part::Released, Bytes::new()).await
    }

    /// Remembers that nobody held when this client released its claim, if that is so.
    pub(crate) fn left(&self, name: &Name, n: u64, listing: &Listing) {
        let alone = listing.highest() == n && listing.in_the_way().all(|(there, ..)| there == n);
        if let Some(genesis) = listing.genesis().filter(|_| alone) {
            self.memo.set_left(name, Left { genesis, n, at: self.clock.now() });
        }
    }
}
