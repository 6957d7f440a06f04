//! Breaking: an operator's removal of the record that was shown.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lease_core::backend::Broken;
use lease_core::{BreakNote, Claim, Epoch, HolderInfo, Jitter, Mode, Name, Nonce, Result};

use crate::body::{Body, encode};
use crate::judge;
use crate::key::{ClaimId, Key, Part};
use crate::lifetime;
use crate::listing::{Listing, Mark};
use crate::objects::{Created, Keep, nonsense};
use crate::store::{ObjStore, out_of_epochs};

/// How often it is tried while claims come and go beside the one to be broken.
const TRIES: usize = 4;

impl ObjStore {
    pub(crate) async fn break_by_nonce(
        &self,
        name: &Name,
        nonce: Nonce,
        note: &BreakNote,
    ) -> Result<Broken> {
        self.objects.writable()?;
        for _ in 0..TRIES {
            let listing = self.look(name).await?;
            let Some((id, ttl)) = self.find_by_nonce(name, nonce, &listing).await? else {
                return Ok(Broken::NotThere);
            };
            let mark = lifetime::of_broken(ttl, note)?;
            let epoch = match id {
                ClaimId::Writer(_) => {
                    self.mark(name, id, Part::Broken, mark).await?;
                    Some(listing.epoch())
                }
                ClaimId::Exclusive(n) => {
                    self.break_exclusive(name, n, &listing, note, mark).await?
                }
            };
            if let Some(epoch) = epoch {
                let path = self.objects.path(name, Key::Broken);
                self.objects.put(&path, encode(note)?).await?;
                return Ok(Broken::Broken { epoch });
            }
        }
        Err(nonsense("claims came and went too fast to break one of them"))
    }

    /// The note of the last break.
    pub(crate) async fn break_note(&self, name: &Name) -> Result<Option<BreakNote>> {
        let read = self.objects.read(&self.objects.path(name, Key::Broken)).await?;
        Ok(read.and_then(|(_, bytes)| serde_json::from_slice(&bytes).ok()))
    }

    /// Which claim was shown under this nonce, among all that count, and its ttl.
    async fn find_by_nonce(
        &self,
        name: &Name,
        nonce: Nonce,
        listing: &Listing,
    ) -> Result<Option<(ClaimId, Duration)>> {
        let writer = listing.live_writers().find(|(writer, ..)| *writer == nonce);
        if let Some((writer, files, seen)) = writer {
            let id = ClaimId::Writer(writer);
            return Ok(self.counted(name, id, files, seen).await?.map(|shown| (id, shown.ttl())));
        }
        for (n, files, seen) in listing.in_the_way() {
            let shown = self.counted(name, ClaimId::Exclusive(n), files, seen).await?;
            if let Some(shown) = shown.filter(|shown| shown.nonce() == nonce) {
                return Ok(Some((shown.id, shown.ttl())));
            }
        }
        Ok(None)
    }

    /// Breaks an exclusive. The epoch from then on; nothing if it has to be looked at again.
    async fn break_exclusive(
        &self,
        name: &Name,
        n: u64,
        listing: &Listing,
        note: &BreakNote,
        mark: Bytes,
    ) -> Result<Option<Epoch>> {
        let sealed = listing.exclusives.get(&n).and_then(|files| files.mark);
        let fate = match sealed {
            Some(fate) => fate,
            None => {
                let path = self.objects.path(name, ClaimId::Exclusive(n).key(Part::Record));
                let Some(got) = self.objects.get(&path).await? else { return Ok(None) };
                let Some(fate) = self.fate(name, n, listing, &got.body).await? else {
                    return Ok(None);
                };
                self.seal(name, n, fate).await?
            }
        };
        if fate == Mark::Void {
            // It never held.
            self.mark(name, ClaimId::Exclusive(n), Part::Broken, mark).await?;
            return Ok(Some(listing.epoch()));
        }
        // The broken holder is fenced by a higher epoch. It is raised while its claim still keeps
        // everybody out, so that no two writers that hold ever carry different ones.
        let next = Epoch::new(listing.highest()).and_then(Epoch::next).ok_or_else(out_of_epochs)?;
        let raise = ClaimId::Exclusive(next.get());
        let path = self.objects.path(name, raise.key(Part::Record));
        match self.objects.create(&path, raising(name, note).encode()?, Keep::Loosely).await? {
            Created::Done(_) => {}
            Created::Exists => return Ok(None),
        }
        if self.seal(name, next.get(), Mark::Granted).await? == Mark::Void {
            return Ok(None);
        }
        self.mark(name, ClaimId::Exclusive(n), Part::Broken, mark).await?;
        self.mark(name, raise, Part::Released, Bytes::new()).await?;
        Ok(Some(next))
    }
}

/// The claim that raises the epoch. It is released at once; if that fails it expires.
fn raising(name: &Name, note: &BreakNote) -> Body {
    let mut info = HolderInfo::default();
    info.label = format!("broken by {}", note.by);
    Body::of(&Claim {
        name: name.clone(),
        nonce: Jitter::system().nonce(),
        mode: Mode::Exclusive,
        ttl: judge::RAISING_TTL,
        info: Arc::new(info),
    })
}
