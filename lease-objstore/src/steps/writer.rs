//! A writer's first step.

use std::sync::Arc;

use lease_core::backend::Registered;
use lease_core::{Claim, LossReason, Name, Nonce, Result};

use crate::body::Body;
use crate::key::{ClaimId, Part};
use crate::listing::Files;
use crate::memo::Own;
use crate::objects::{Created, Keep};
use crate::revision::At;
use crate::store::{CREATES, ObjStore};

impl ObjStore {
    pub(crate) async fn register_writer(&self, claim: &Claim) -> Result<Registered> {
        self.objects.writable()?;
        if self.memo.spent(claim.nonce).is_some() {
            return Ok(Registered::Void);
        }
        // A registration that comes again, when its record may have been removed since.
        if self.memo.own(claim.nonce).is_some_and(|own| own.created) {
            return self.registered_before(claim).await;
        }
        let genesis = self.genesis(&claim.name).await?;
        let id = ClaimId::Writer(claim.nonce);
        let body = Body::of(claim);
        let info = Arc::clone(&claim.info);
        self.memo.set_own(claim.nonce, Own { n: None, created: false, beat: 0, info });
        let path = self.objects.path(&claim.name, id.key(Part::Record));
        let sent = self.clock.now();
        for _ in 0..CREATES {
            match self.objects.create(&path, body.encode()?, Keep::Loosely).await? {
                Created::Done(stamp) => {
                    self.wrote(id, body, &stamp, sent);
                    self.memo.acknowledge(claim.nonce, 0);
                    let at = At { genesis: Some(genesis), n: None, stamp, at_once: false };
                    return Ok(Registered::Here(at.revision()));
                }
                // The name has the nonce in it: whatever is there was written for this attempt.
                Created::Exists if self.objects.head(&path).await?.is_some() => break,
                // A store that was busy with this key says so too (409), and did nothing.
                Created::Exists if !self.has_trace(&claim.name, claim.nonce).await? => {}
                Created::Exists => break,
            }
        }
        self.registered_before(claim).await
    }

    /// Whether there is anything of this writer, an end mark too.
    async fn has_trace(&self, name: &Name, nonce: Nonce) -> Result<bool> {
        Ok(self.list(name).await?.writers.contains_key(&nonce))
    }

    async fn registered_before(&self, claim: &Claim) -> Result<Registered> {
        let listing = self.list(&claim.name).await?;
        let files = listing.writers.get(&claim.nonce).filter(|files| !files.is_condemned());
        Ok(match files.and_then(Files::unended) {
            Some(seen) => {
                self.memo.acknowledge(claim.nonce, 0);
                Registered::Here(listing.at(None, &seen.stamp).revision())
            }
            None => {
                self.memo.spend(claim.nonce, LossReason::Displaced);
                Registered::Void
            }
        })
    }
}
