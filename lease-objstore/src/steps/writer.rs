//! A writer's first step.

use std::sync::Arc;

use lease_core::backend::Registered;
use lease_core::{Claim, LossReason, Result};

use crate::body::Body;
use crate::key::{ClaimId, Part};
use crate::memo::Own;
use crate::objects::{Created, Keep};
use crate::revision::At;
use crate::store::ObjStore;

impl ObjStore {
    pub(crate) async fn register_writer(&self, claim: &Claim) -> Result<Registered> {
        self.objects.writable()?;
        if self.memo.spent(claim.nonce).is_some() {
            return Ok(Registered::Void);
        }
        let genesis = self.genesis(&claim.name).await?;
        let id = ClaimId::Writer(claim.nonce);
        let body = Body::of(claim);
        let own = Own { n: None, beat: 0, info: Arc::clone(&claim.info) };
        self.memo.set_own(claim.nonce, own);
        let path = self.objects.path(&claim.name, id.key(Part::Record));
        let sent = self.clock.now();
        match self.objects.create(&path, body.encode()?, Keep::Loosely).await? {
            Created::Done(stamp) => {
                self.wrote(id, body, &stamp, sent);
                let at = At { genesis: Some(genesis), n: None, stamp };
                Ok(Registered::Here(at.revision()))
            }
            // The name has the nonce in it: whatever is there was written for this attempt.
            Created::Exists => {
                let listing = self.list(&claim.name).await?;
                let files = listing.writers.get(&claim.nonce);
                match files.filter(|files| !files.is_condemned()).and_then(|f| f.unended()) {
                    Some(seen) => {
                        Ok(Registered::Here(listing.at(None, &seen.stamp).revision()))
                    }
                    None => {
                        self.memo.spend(claim.nonce, LossReason::Displaced);
                        Ok(Registered::Void)
                    }
                }
            }
        }
    }
}
