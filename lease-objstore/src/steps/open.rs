//! Making a name open to writers again.
//!
//! An exclusive that comes right after another one is granted by the creation of its claim alone: no
//! mark raises the epoch, the claim does. That is right as long as no writer holds, or two writers
//! could hold with different epochs (rule R20). So a writer is granted only where the highest claim
//! is *not* a granted one (rule F11). Where it is, the writer makes another above it that is void and
//! has ended. Of it and the next exclusive's claim, which would have the same number, one is made.

use bytes::Bytes;
use lease_core::{Epoch, Name, Result};

use crate::body::OPEN;
use crate::key::{ClaimId, Part};
use crate::listing::Listing;
use crate::objects::{Created, Keep};
use crate::steps::observe::Shown;
use crate::store::{ObjStore, out_of_epochs};

impl ObjStore {
    /// At a writer's check, and whenever a client looks that has a writer there: opens the name if
    /// nothing else keeps the writer from being granted. Whether one has to look again, since somebody
    /// else's claim came first.
    ///
    /// If a joining writer's own came first it needs no other look: the writer's file was there
    /// before, and every claim above looks for writers after it.
    pub(crate) async fn opens_too_late(
        &self,
        name: &Name,
        listing: &Listing,
        shown: &[Shown<'_>],
    ) -> Result<bool> {
        let mut own = listing.live_writers().map(|(nonce, ..)| nonce);
        let registered =
            own.any(|nonce| self.only == Some(nonce) || self.memo.own(nonce).is_some());
        let taken = shown.iter().any(|shown| matches!(shown.id, ClaimId::Exclusive(_)));
        if !registered || taken || !listing.is_closed() {
            return Ok(false);
        }
        self.memo.forget_left(name);
        let next = Epoch::new(listing.highest()).and_then(Epoch::next).ok_or_else(out_of_epochs)?;
        let path = self.objects.path(name, ClaimId::Exclusive(next.get()).key(Part::Record));
        let made = self.objects.create(&path, Bytes::from_static(OPEN), Keep::Loosely).await?;
        // Whoever does not join wants to see it, for it is the highest claim now.
        Ok(matches!(made, Created::Exists) || self.only.is_none())
    }
}
