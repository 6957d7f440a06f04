//! Ending what is stale: condemn it, look again, and only then is it over.

use std::time::Duration;

use lease_core::backend::Evicted;
use lease_core::{Judged, Name, Result, Target, Unreadable};
use serde::{Deserialize, Serialize};

use crate::body::{Body, VERSION, encode};
use crate::judge::is_over;
use crate::key::{ClaimId, Part};
use crate::listing::{Listing, Seen};
use crate::objects::Got;
use crate::revision::At;
use crate::store::ObjStore;

/// How old a sample of the store's clock may be to end somebody's lease by.
const SAMPLE: Duration = Duration::from_secs(1);

/// What stands in a `.kil`, and in the `.brk` of one that was proven dead.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Verdict {
    v: u64,
    pub(crate) why: String,
    /// The ttl of the holder that it ends, in milliseconds, where that could be read.
    pub(crate) ttl_ms: u64,
}

impl Verdict {
    fn of(got: &Got, judged: Judged) -> Self {
        let ttl = got.body.as_ref().map_or(Duration::ZERO, Body::ttl);
        let why = match (&got.body, judged) {
            (Err(problem), _) => format!("it could not be read: {problem:?}"),
            (Ok(_), Judged::DeadProcess) => "its process is dead".to_owned(),
            (Ok(_), _) => "it expired".to_owned(),
        };
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        Self { v: VERSION, why, ttl_ms }
    }
}

impl ObjStore {
    pub(crate) async fn evict_other(
        &self,
        name: &Name,
        target: &Target,
        judged: Judged,
    ) -> Result<Evicted> {
        self.objects.writable()?;
        let ended = self.end_stale(name, target, judged).await?;
        Ok(if ended { Evicted::Condemned } else { Evicted::Kept })
    }

    /// Ends a record on that evidence. Whether it is over.
    pub(crate) async fn end_stale(
        &self,
        name: &Name,
        target: &Target,
        judged: Judged,
    ) -> Result<bool> {
        let Some(at) = At::of(&target.revision) else { return Ok(false) };
        let id = match at.n {
            Some(n) => ClaimId::Exclusive(n),
            None => ClaimId::Writer(target.nonce),
        };
        let path = self.objects.path(name, id.key(Part::Record));
        let listing = match id {
            ClaimId::Exclusive(_) => Some(self.list(name).await?),
            // After a crash of many they are ended one by one.
            ClaimId::Writer(_) => None,
        };
        if self.is_ended(name, id, listing.as_ref()).await? {
            return Ok(false);
        }
        let Some(got) = self.objects.get(&path).await? else { return Ok(false) };
        if !self.is_condemnable(name, &got, target, judged, &at).await? {
            return Ok(false);
        }

        // First its fate, if nobody has sealed it: an owner that wakes up must not be granted a
        // claim that has ended, or writers beside each other would carry two epochs.
        if let (ClaimId::Exclusive(n), Some(listing)) = (id, &listing) {
            let Some(fate) = self.fate(name, n, listing, &got.body).await? else {
                return Ok(false);
            };
            self.seal(name, n, fate).await?;
        }
        // Now condemn it. From here on its owner's next check fails.
        let kill = self.objects.path(name, id.key(Part::Killed));
        let verdict = encode(&Verdict::of(&got, judged))?;
        self.objects.put(&kill, verdict.clone()).await?;
        // And look again: a renewal that was on its way keeps it for one more ttl.
        let (record, killed) = (self.objects.head(&path).await?, self.objects.head(&kill).await?);
        let (Some(record), Some(killed)) = (record, killed) else { return Ok(true) };
        if !self.has_ended(&got, judged, &record, &killed) {
            return Ok(false);
        }
        // It is over for good: a heartbeat that still lands finds that it does not count. Without
        // this one it would keep everybody else out for another ttl.
        self.objects.put(&self.objects.path(name, id.key(Part::Broken)), verdict).await?;
        // A writer's file is of no use any more. An exclusive's stays: the highest number must be
        // seen.
        if let ClaimId::Writer(_) = id
            && let Err(error) = self.objects.delete(&path).await
        {
            tracing::debug!(%name, %error, "an expired record could not be deleted");
        }
        Ok(true)
    }

    /// Whether the evidence holds at this step (rule R9).
    async fn is_condemnable(
        &self,
        name: &Name,
        got: &Got,
        target: &Target,
        judged: Judged,
        at: &At,
    ) -> Result<bool> {
        let exact = got.seen.stamp == at.stamp;
        match &got.body {
            // It may mean what this version does not know.
            Err(Unreadable::NewerVersion(_)) => Ok(false),
            Err(_) => Ok(exact && judged != Judged::ByStore),
            Ok(body) if body.nonce != target.nonce => Ok(false),
            Ok(body) if judged == Judged::ByStore => {
                let resolution = self.resolution();
                let (modified, ttl) = (got.seen.modified, body.ttl());
                let mut now = self.now(name, SAMPLE).await?;
                if now.is_close(modified, ttl, resolution) {
                    now = self.probe(name).await?;
                }
                Ok(now.age(modified, resolution) >= ttl)
            }
            Ok(_) => Ok(exact),
        }
    }

    /// Whether nobody needs to end it any more.
    async fn is_ended(&self, name: &Name, id: ClaimId, listing: Option<&Listing>) -> Result<bool> {
        match (id, listing) {
            (ClaimId::Exclusive(n), Some(listing)) => {
                Ok(!listing.in_the_way().any(|(there, ..)| there == n))
            }
            _ => {
                let path = self.objects.path(name, id.key(Part::Broken));
                Ok(self.objects.head(&path).await?.is_some())
            }
        }
    }

    /// Whether a condemned record is over, by a look at it that came after the `.kil`.
    fn has_ended(&self, got: &Got, judged: Judged, record: &Seen, killed: &Seen) -> bool {
        // Renewed since: it may have another ttl, or another process by now.
        let unchanged = record.stamp == got.seen.stamp;
        match &got.body {
            Ok(body) if judged != Judged::DeadProcess => {
                unchanged && is_over(record, killed, body.ttl(), self.resolution())
            }
            // A dead process renews nothing, and nobody renews what is no record.
            _ => unchanged,
        }
    }
}
