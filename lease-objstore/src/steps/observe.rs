//! Looking: a listing, the bodies that it takes to read it, and the store's time to judge it.

use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use lease_core::clock::wall_clock_for_display;
use lease_core::{
    Epoch, Freshness, HolderInfo, Mode, Name, Nonce, Record, Result, Snapshot, State,
};
use object_store::path::Path;

use crate::body::Body;
use crate::judge::{Now, is_over};
use crate::key::{ClaimId, Part};
use crate::listing::{Files, Listing, Seen};
use crate::memo::{DRIFT, Known};
use crate::objects::nonsense;
use crate::revision::At;
use crate::store::{CREATES, ObjStore, same_name};
use crate::time::StoreTime;

/// How many bodies are read at a time.
const AT_A_TIME: usize = 16;

/// How many writers' files one look into a bucket reads. A crowd that was left
/// behind is got through over several looks, each well within a ttl; those that were not read yet
/// count as alive.
const READ_AT_ONCE: usize = 512;

/// How old a sample of the store's clock may be to judge others by, at the least and at the most.
/// Within this time the clock may have been set, and a clock that was set back would make the
/// living look dead.
const SAMPLE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5));

/// One record that counts.
pub(crate) struct Shown<'l> {
    pub(crate) id: ClaimId,
    pub(crate) seen: &'l Seen,
    /// What its file says; nothing if it was not read.
    pub(crate) known: Option<Known>,
}

impl Shown<'_> {
    /// Whose it is; a stand-in made of its number where its file does not tell.
    pub(crate) fn nonce(&self) -> Nonce {
        match (self.id, self.body()) {
            (ClaimId::Writer(nonce), _) => nonce,
            (ClaimId::Exclusive(_), Some(body)) => body.nonce,
            (ClaimId::Exclusive(n), None) => stand_in(n),
        }
    }

    /// The ttl that its file tells; zero where it does not.
    pub(crate) fn ttl(&self) -> Duration {
        self.body().map_or(Duration::ZERO, Body::ttl)
    }

    /// Whether its file says that it is granted by being there.
    fn is_at_once(&self) -> bool {
        self.body().is_some_and(|body| body.at_once)
    }

    /// The epoch that this claim gave, if it is an exclusive's and granted.
    fn epoch(&self, listing: &Listing) -> Option<Epoch> {
        match self.id {
            ClaimId::Exclusive(n) if listing.is_granted(n, self.is_at_once()) => Epoch::new(n),
            _ => None,
        }
    }

    fn body(&self) -> Option<&Body> {
        self.known.as_ref()?.body.as_ref().as_ref().ok()
    }

    fn record(&self, listing: &Listing, now: Option<Now>, resolution: Duration) -> Record {
        let (mode, n) = match self.id {
            ClaimId::Exclusive(n) => (Mode::Exclusive, Some(n)),
            ClaimId::Writer(_) => (Mode::Writer, None),
        };
        let granted = mode == Mode::Writer || self.epoch(listing).is_some();
        let ttl = self.body().map_or(Duration::ZERO, Body::ttl);
        Record {
            nonce: self.nonce(),
            mode,
            state: if granted { State::Granted } else { State::Draining },
            revision: At { at_once: self.is_at_once(), ..listing.at(n, &self.seen.stamp) }
                .revision(),
            ttl,
            age: now.map(|now| now.age(self.seen.modified, resolution)),
            freshness: match (self.body(), now) {
                (Some(_), Some(now)) => now.freshness(self.seen.modified, ttl, resolution),
                _ => Freshness::Unknown,
            },
            info: self.body().map_or_else(HolderInfo::default, |body| body.info.clone()),
            unreadable: self
                .known
                .as_ref()
                .and_then(|known| known.body.as_ref().as_ref().err().cloned()),
        }
    }
}

/// The nonce that an exclusive goes by whose file does not tell it.
fn stand_in(n: u64) -> Nonce {
    let mut bytes = *b"unread: \0\0\0\0\0\0\0\0";
    bytes[8..].copy_from_slice(&n.to_be_bytes());
    Nonce::from_bytes(bytes)
}

impl ObjStore {
    /// The store's time as well as the last sample tells it, if that is not too old: it has drifted
    /// by one step of the store's clock at the most.
    fn recent_now(&self) -> Option<Now> {
        let age = (self.resolution() * DRIFT).clamp(SAMPLE.0, SAMPLE.1);
        self.memo.now(self.clock.now(), age)
    }

    pub(crate) async fn look_and_judge(&self, name: &Name) -> Result<Snapshot> {
        let mut listing = self.look(name).await?;
        let mut shown = self.shown(name, &listing).await?;
        let mut tries = 0..CREATES;
        while self.opens_too_late(name, &listing, &shown).await? {
            tries.next().ok_or_else(|| nonsense("a claim is there that no listing shows"))?;
            drop(shown);
            listing = self.look(name).await?;
            shown = self.shown(name, &listing).await?;
        }
        let mut now = self.recent_now();
        let resolution = self.resolution();
        // A probe is written only if the last sample is old, or leaves it open whether somebody is
        // stale. What one has just written oneself is such a sample. One's own record is judged
        // like any other: it may be that of an earlier attempt, which nobody renews any more.
        let open = |shown: &Shown<'_>| {
            let Some(now) = now else { return true };
            let ttl = shown.body().map_or(Duration::MAX, Body::ttl);
            now.is_close(shown.seen.modified, ttl, resolution)
        };
        if self.objects.writable && shown.iter().any(open) {
            now = Some(self.probe(name).await?);
        }
        Ok(self.snapshot(&listing, &shown, now))
    }

    /// The same without a write. A folder's files carry the machine's own time, or nearly: good
    /// enough to show.
    pub(crate) async fn look_only(&self, name: &Name) -> Result<Snapshot> {
        let listing = self.list(name).await?;
        if listing.genesis.is_none() {
            self.same_store().await?;
        }
        let shown = self.shown(name, &listing).await?;
        let now = self.recent_now().or_else(|| {
            self.folder.as_ref()?;
            let wall = StoreTime::from_system(wall_clock_for_display());
            Some(Now { from: wall, to: wall })
        });
        Ok(self.snapshot(&listing, &shown, now))
    }

    fn snapshot(&self, listing: &Listing, shown: &[Shown<'_>], now: Option<Now>) -> Snapshot {
        let record = |shown: &Shown<'_>| shown.record(listing, now, self.resolution());
        let is_writer = |shown: &&Shown<'_>| matches!(shown.id, ClaimId::Writer(_));
        let granted = shown.iter().filter_map(|shown| shown.epoch(listing));
        let epoch = granted.fold(listing.epoch(), Epoch::max);
        let used = listing.genesis.is_some() || listing.has_claims();
        Snapshot {
            epoch: if used { epoch } else { Epoch::default() },
            anchor: listing.at(Some(listing.highest()), "").revision(),
            exclusive: shown.iter().find(|shown| !is_writer(shown)).map(record),
            writers: shown.iter().filter(is_writer).map(record).collect(),
        }
    }

    /// All that counts: the highest exclusive that has not ended, and the writers.
    ///
    /// Of several exclusives the *highest* is the one that holds, if any does. A lower one comes of
    /// a create that was asked for long ago and came late, or of an erasure; its owner does not see
    /// itself here and gives up, at the latest when it commits. So two never both go on, and since
    /// the highest does not wait for a lower one, neither waits for the other.
    pub(crate) async fn shown<'l>(
        &self,
        name: &Name,
        listing: &'l Listing,
    ) -> Result<Vec<Shown<'l>>> {
        let mut all = Vec::new();
        for (n, files, seen) in listing.in_the_way() {
            let id = ClaimId::Exclusive(n);
            if let Some(shown) = self.counted(name, id, files, seen).await? {
                all.push(shown);
                break;
            }
        }
        let wanted = |nonce| self.only.is_none_or(|only| only == nonce);
        let mut claims: Vec<_> =
            listing.live_writers().filter(|(nonce, ..)| wanted(*nonce)).collect();
        // The oldest first: it is they that may be over.
        claims.sort_by_key(|(.., seen)| seen.modified);
        let readable = if self.folder.is_some() { usize::MAX } else { READ_AT_ONCE };
        let unread = claims.split_off(claims.len().min(readable));
        let mut writers: Vec<BoxFuture<'_, _>> = Vec::new();
        for (nonce, files, seen) in claims {
            writers.push(self.counted(name, ClaimId::Writer(nonce), files, seen).boxed());
        }
        let writers: Vec<_> = stream::iter(writers).buffered(AT_A_TIME).try_collect().await?;
        all.extend(writers.into_iter().flatten());
        all.extend(unread.into_iter().map(|(nonce, _, seen)| {
            let id = ClaimId::Writer(nonce);
            let known = self.memo.body(&self.record_path(name, id));
            Shown { id, seen, known: known.filter(|known| known.stamp == seen.stamp) }
        }));
        Ok(all)
    }

    fn record_path(&self, name: &Name, id: ClaimId) -> Path {
        self.objects.path(name, id.key(Part::Record))
    }

    /// One claim with its body, unless it is over or gone after all.
    pub(crate) async fn counted<'l>(
        &self,
        name: &Name,
        id: ClaimId,
        files: &'l Files,
        seen: &'l Seen,
    ) -> Result<Option<Shown<'l>>> {
        let known = match self.recent(name, id, seen, files) {
            Some(known) => known,
            None => match self.body(name, id, seen).await? {
                Some(known) => known,
                None => return Ok(None),
            },
        };
        // A later write may have another ttl than the one that was condemned: then it counts.
        if let (Some(killed), Ok(body)) = (&files.killed, known.body.as_ref())
            && known.stamp == seen.stamp
            && is_over(seen, killed, body.ttl(), self.resolution())
        {
            return Ok(None);
        }
        if let Ok(body) = known.body.as_ref() {
            same_name(name, &body.name)?;
        }
        Ok(Some(Shown { id, seen, known: Some(known) }))
    }

    /// What an earlier write of the same claim said, if that is good enough: the owner of a claim
    /// never changes, and a ttl that was changed since matters only once the claim is old.
    fn recent(&self, name: &Name, id: ClaimId, seen: &Seen, files: &Files) -> Option<Known> {
        let known = self.memo.body(&self.record_path(name, id))?;
        if known.stamp == seen.stamp {
            return Some(known);
        }
        let body = known.body.as_ref().as_ref().ok()?;
        let now = self.recent_now()?;
        let young = now.to.since(seen.modified) < body.ttl() / 2;
        // An adopted claim has another holder to show, a killed one is judged exactly.
        (young && files.killed.is_none() && files.adopted.is_empty()).then_some(known)
    }
}
