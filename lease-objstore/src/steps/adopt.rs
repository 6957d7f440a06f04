//! Taking one's own record over from another process.

use std::sync::Arc;

use lease_core::backend::Renewed;
use lease_core::{HolderInfo, Holding, Jitter, LossReason, Result};

use crate::body::{Body, encode};
use crate::error::is_unclear;
use crate::judge;
use crate::key::{ClaimId, Part};
use crate::memo::Own;
use crate::objects::{Created, Keep};
use crate::steps::renew::place;
use crate::store::ObjStore;

impl ObjStore {
    /// Of all who redeem the same write one creates the mark of its adoption. The holder that gave
    /// it away finds the mark at its next check, and so does an adopter that came too late.
    pub(crate) async fn adopt_own(&self, mine: &Holding, info: &HolderInfo) -> Result<Renewed> {
        self.objects.writable()?;
        let lost = Ok(Renewed::Lost(LossReason::HandedOver));
        let Some((id, at)) = place(mine) else { return lost };

        // Exactly the write that the ticket is for, and one that still counts.
        let listing = self.list(&mine.name).await?;
        match judge::own(&listing, mine, &at) {
            Ok(own) if own.seen.stamp == at.stamp => {}
            Ok(_) => return lost,
            Err(how) => return Ok(Renewed::Lost(how)),
        }
        if !self.create_adoption(mine, id).await? {
            return lost;
        }
        // The one that gave it away may have renewed between the look and the mark.
        let listing = self.list(&mine.name).await?;
        let files = listing.files(id);
        let seen = files.filter(|files| !files.is_condemned()).and_then(|files| files.unended());
        if seen.is_none_or(|seen| seen.stamp != at.stamp) {
            return lost;
        }

        // From here on it is renewed as one's own.
        let (n, beat, info) = (at.n, mine.acknowledged, Arc::new(info.clone()));
        self.memo.set_own(mine.nonce, Own { n, created: true, beat, info: Arc::clone(&info) });
        self.memo.revive(mine.nonce);
        let path = self.objects.path(&mine.name, id.key(Part::Record));
        let body = Body::renewed(mine, info.as_ref().clone());
        let sent = self.clock.now();
        let stamp = self.objects.put(&path, body.encode()?).await?;
        self.wrote(id, body, &stamp, sent);
        let listing = self.list(&mine.name).await?;
        let adopted = Holding { acknowledged: mine.beat, ..mine.clone() };
        Ok(match judge::own(&listing, &adopted, &at) {
            Ok(judge::Own { seen, drain }) => {
                self.memo.acknowledge(mine.nonce, mine.beat);
                Renewed::Renewed { revision: at.rewritten(&seen.stamp).revision(), drain }
            }
            Err(how) => {
                self.memo.spend(mine.nonce, how);
                Renewed::Lost(how)
            }
        })
    }

    /// Whether this call is the one that adopts.
    async fn create_adoption(&self, mine: &Holding, id: ClaimId) -> Result<bool> {
        let path = self.objects.path(&mine.name, id.key(Part::Adopted(mine.acknowledged)));
        let adopter = encode(&Jitter::system().nonce())?;
        match self.objects.create(&path, adopter.clone(), Keep::Loosely).await {
            Ok(Created::Done(_)) => Ok(true),
            Ok(Created::Exists) => Ok(false),
            Err(error) if is_unclear(&error) => {
                let found = self.objects.read(&path).await?;
                match found {
                    Some((_, body)) => Ok(body == adopter),
                    None => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }
}
