//! Taking a name again that this client was the last to release.

use std::time::Duration;

use lease_core::backend::{Committed, Installed, Taken};
use lease_core::{Claim, Grant, Holding, Name, Result};

use crate::key::{ClaimId, Part};
use crate::listing::{Listing, Mark};
use crate::memo::Left;
use crate::store::ObjStore;

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
        let Some(left) = self.memo.take_left(&claim.name, self.clock.now(), LIKELY) else {
            return Ok(None);
        };
        let genesis = Some(left.genesis.clone());
        let Installed::Here(revision) = self.claim(claim, left.genesis, left.n).await? else {
            self.memo.forget(claim.nonce);
            return Ok(None);
        };
        let mine = Holding::created(claim, revision);
        let seen = self.look_and_judge(&claim.name).await?;
        let is_mine = seen.exclusive.as_ref().is_some_and(|shown| shown.nonce == claim.nonce);
        if !is_mine || self.memo.genesis(&claim.name) != genesis {
            self.take_claim_back(&mine).await?;
            return Ok(None);
        }
        if !seen.writers.is_empty() {
            // The usual way finds the claim, and drains.
            return Ok(None);
        }
        Ok(Some(match self.commit_exclusive(&mine).await? {
            Committed::Granted { epoch, revision } => {
                let holding = Holding { epoch: Some(epoch), revision, ..mine };
                Taken::Granted(Grant { holding, epoch, took_over: false })
            }
            Committed::Lost => Taken::Displaced(seen.epoch),
        }))
    }

    /// Ends a claim that stands below another, as if it had never been made.
    async fn take_claim_back(&self, mine: &Holding) -> Result<()> {
        let n = self.memo.own(mine.nonce).and_then(|own| own.n);
        self.memo.forget(mine.nonce);
        let Some(n) = n else { return Ok(()) };
        self.seal(&mine.name, n, Mark::Void).await?;
        self.mark(&mine.name, ClaimId::Exclusive(n), Part::Released, b"").await
    }

    /// Remembers that nobody held when this client released its claim, if that is so.
    pub(crate) fn left(&self, name: &Name, n: u64, listing: &Listing) {
        let alone = listing.highest() == n && listing.in_the_way().all(|(there, ..)| there == n);
        if let Some(genesis) = listing.genesis().filter(|_| alone) {
            self.memo.set_left(name, Left { genesis, n, at: self.clock.now() });
        }
    }
}
