//! Clearing away what has ended.
//!
//! Two kinds of garbage, with two reasons why it may go. An exclusive's claim below the highest
//! granted one decides nothing: the next number and the epoch come from higher ones, and whoever
//! still owns it finds the higher one at its next check. It may go at once; the last but one stays
//! as well, since a listing of a folder is no snapshot: one that read the names before the highest was
//! granted could otherwise show neither. (Where two were granted since, the first is gone, and then a
//! listing begins anew.) A writer's end mark, and the claim of an exclusive that
//! withdrew before it was granted, is what turns a late heartbeat of its owner away; it stays until
//! four ttls have passed since, and right above the highest granted one until another is granted.

use std::time::Duration;

use lease_core::{Holding, Name, Nonce};
use object_store::path::Path;

use crate::body::{Body, OPEN};
use crate::judge::Now;
use crate::key::{ClaimId, Key, Part};
use crate::lifetime;
use crate::listing::{Files, Listing, Mark};
use crate::one_go::request;
use crate::staging;
use crate::store::ObjStore;

/// How many claims are cleared away in one go.
const AT_ONCE: usize = 10;

/// From how many claims on it is worth a request: each stays in everybody's listings till then.
const WORTH_IT: usize = 4;

/// And in a folder, where to remove a file takes less time than to look at it four times.
const WORTH_IT_IN_A_FOLDER: usize = 1;

/// How many ttls an end mark is kept.
const TTLS: u32 = 4;

/// The shortest time that an end mark is kept.
pub(crate) const AT_LEAST: Duration = Duration::from_secs(60);

/// How long an end mark is kept that does not tell its holder's ttl, and a probe.
const UNTOLD: Duration = Duration::from_secs(3600);

/// The exclusives' claims that decide nothing any more, the lowest first.
fn passed(listing: &Listing) -> Vec<ClaimId> {
    let is_granted = |files: &Files| files.mark == Some(Mark::Granted);
    let granted = listing.exclusives.iter().rev().filter(|(_, files)| is_granted(files));
    let Some((kept, _)) = granted.take(2).nth(1) else { return Vec::new() };
    listing.exclusives.range(..*kept).map(|(n, _)| ClaimId::Exclusive(*n)).collect()
}

/// The claims that ended otherwise and are at least that old.
fn ended(listing: &Listing, now: Now, age: Duration) -> Vec<ClaimId> {
    let is_old = |files: &Files| now.from.since(files.newest) >= age;
    let highest = listing.exclusives.keys().next_back().copied().unwrap_or(0);
    let from = listing.granted().unwrap_or(0);
    // Released by its owner, which therefore has no request on its way that could still grant it.
    let withdrawn = |files: &Files| files.released && files.mark == Some(Mark::Void);
    let claims = listing.exclusives.range(from..).filter(|(n, _)| **n != from && **n < highest);
    // The one right above the highest granted one stays: whoever was about to end it may have taken
    // it for one that its creation granted, and would seal it so once its own mark is gone.
    let claims = claims.filter(|(n, _)| !listing.follows_a_grant(**n));
    let claims = claims.filter(|(_, files)| withdrawn(files) && is_old(files));
    let claims = claims.map(|(n, _)| ClaimId::Exclusive(*n));
    let gone = |files: &Files| files.record.is_none() || files.broken || files.released;
    let writers = listing.writers.iter().filter(|(_, files)| gone(files) && is_old(files));
    claims.chain(writers.map(|(nonce, _)| ClaimId::Writer(*nonce))).collect()
}

/// Probes that somebody was killed over.
fn probes(listing: &Listing, now: Now) -> Vec<Nonce> {
    let old = listing.probes.iter().filter(|(_, at)| now.from.since(*at) >= UNTOLD);
    old.map(|(nonce, _)| *nonce).collect()
}

impl ObjStore {
    /// Clears away some of what has ended. As well as it goes: the next one goes on.
    pub(crate) async fn clean_up(&self, mine: &Holding, listing: &Listing) {
        let name = &mine.name;
        let mut garbage = passed(listing);
        let worth_it = if self.folder.is_some() { WORTH_IT_IN_A_FOLDER } else { WORTH_IT };
        if garbage.len() < worth_it {
            garbage.clear();
        }
        let mut old_probes = Vec::new();
        if let Some(now) = self.memo.now(self.clock.now(), Duration::MAX) {
            let age = AT_LEAST.max(mine.ttl.saturating_mul(TTLS));
            for id in ended(listing, now, age).into_iter().take(AT_ONCE) {
                if self.is_kept_long_enough(name, id, listing, now).await {
                    garbage.push(id);
                }
            }
            old_probes = probes(listing, now);
        }
        garbage.truncate(AT_ONCE);
        old_probes.truncate(AT_ONCE);
        if !garbage.is_empty() || !old_probes.is_empty() {
            let mut groups = self.in_order(name, listing, &garbage);
            groups
                .push(old_probes.iter().map(|p| self.objects.path(name, Key::Probe(*p))).collect());
            if let Err(error) = self.objects.delete_in_turn(groups).await {
                tracing::debug!(%name, %error, "what has ended could not be cleared away");
            }
        }
        self.sweep_staging(name).await;
    }

    /// The claim first and its end marks last: an end mark without a claim ends nothing, a claim
    /// without its end mark would count.
    fn in_order(&self, name: &Name, listing: &Listing, garbage: &[ClaimId]) -> Vec<Vec<Path>> {
        let pick = |wanted: fn(&Part) -> bool| {
            let files = garbage.iter().filter_map(|id| Some((*id, listing.files(*id)?)));
            // Votes without a file are in no listing, and go with the file's name.
            let unseen: &[Part] = if self.elected { &[Part::Record, Part::Mark] } else { &[] };
            let parts = files.flat_map(|(id, files)| {
                let unseen = unseen.iter().filter(|part| !files.parts.contains(part));
                let parts = files.parts.iter().chain(unseen);
                parts.filter(|part| wanted(part)).map(move |part| id.key(*part))
            });
            parts.map(|key| self.objects.path(name, key)).collect()
        };
        vec![
            pick(|part| *part == Part::Record),
            pick(|part| *part == Part::Mark),
            pick(|part| !matches!(part, Part::Record | Part::Mark)),
        ]
    }

    /// Whether four of the holder's own ttls have passed, as its file or its end mark tells.
    async fn is_kept_long_enough(
        &self,
        name: &Name,
        id: ClaimId,
        listing: &Listing,
        now: Now,
    ) -> bool {
        let Some(files) = listing.files(id) else { return false };
        let age = now.from.since(files.newest);
        let ttl = match &files.record {
            Some(seen) if seen.size == OPEN.len() as u64 => None,
            Some(seen) => {
                let known = self.body(name, id, seen).await.ok().flatten();
                known.and_then(|known| known.body.as_ref().as_ref().ok().map(Body::ttl))
            }
            None => self.told_by_marks(name, id, files).await,
        };
        age >= ttl.map_or(UNTOLD, |ttl| ttl.saturating_mul(TTLS))
    }

    /// The longest ttl that the marks of a claim tell whose file is gone; nothing if one of them tells
    /// none or cannot be read, for that may be the longest.
    async fn told_by_marks(&self, name: &Name, id: ClaimId, files: &Files) -> Option<Duration> {
        let mut longest = None;
        for part in [Part::Killed, Part::Broken, Part::Released] {
            if files.parts.contains(&part) {
                let path = self.objects.path(name, id.key(part));
                let (_, body) = self.objects.read(&path).await.ok().flatten()?;
                longest = longest.max(Some(lifetime::told(&body)?));
            }
        }
        longest
    }

    /// Removes staging files of killed writers, from time to time.
    async fn sweep_staging(&self, name: &Name) {
        let Some(folder) = &self.folder else { return };
        let here = self.clock.now();
        if !self.memo.is_due(name, here, staging::OLD) {
            return;
        }
        let (folder, now) = (folder.join(name.portable()), self.memo.now(here, staging::OLD));
        let swept = request(move || Ok(staging::sweep(&folder, now))).await;
        if let Ok(Ok(files @ 1..)) = swept {
            tracing::debug!(%name, files, "staging files were left behind");
        }
    }
}
