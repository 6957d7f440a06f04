//! The client, and what its steps have in common.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use lease_core::{Capabilities, Clock, Epoch, Error, Jitter, Name, Nonce, Result, TimeAuthority};
use object_store::ObjectStore;

use crate::body::Body;
use crate::elect::{Elected, STEPS_ON_THE_WAY};
use crate::judge::Now;
use crate::key::{ClaimId, Key, Part};
use crate::listing::{Listing, Seen};
use crate::memo::{DRIFT, Known, Memo, Wrote};
use crate::objects::{Created, Keep, Objects, nonsense};
use crate::one_go::in_one_go;
use crate::probe::Findings;
use crate::revision::Genesis;

/// How often a create is sent whose answer was unclear and which did not show.
pub(crate) const CREATES: usize = 2;

/// From which resolution on the steps of a store's clock are waited for.
const COARSE: Duration = Duration::from_millis(100);

/// Leases in an object store or a folder. Made by [`connect`](crate::connect); clones are one
/// client.
#[derive(Clone, Debug)]
pub struct ObjStore {
    pub(crate) objects: Objects,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) memo: Arc<Memo>,
    pub(crate) capabilities: Capabilities,
    /// The folder itself, where the store is one.
    pub(crate) folder: Option<PathBuf>,
    /// Which lease folder this is, as its marker says.
    pub(crate) id: Arc<Mutex<Option<Nonce>>>,
    /// What the probe found, if one was made.
    pub(crate) findings: Option<Findings>,
    /// Whether files are created by election.
    pub(crate) elected: bool,
    /// The one writer that looks are for, where the others do not matter.
    pub(crate) only: Option<Nonce>,
}

impl ObjStore {
    /// How many renewals one call may carry: they share a listing for each name.
    const RENEW_BATCH: usize = 64;

    pub(crate) fn new(
        objects: Objects,
        clock: Arc<dyn Clock>,
        resolution: Duration,
        min_ttl: Duration,
        folder: Option<PathBuf>,
    ) -> Self {
        let capabilities = Capabilities::reference()
            .with_min_ttl(min_ttl)
            .with_clock_resolution(resolution)
            .with_time(TimeAuthority::Store)
            .with_push(false)
            .with_epoch_survives_erasure(true)
            .with_renew_batch(Self::RENEW_BATCH);
        let (memo, id) = (Arc::default(), Arc::default());
        let (findings, elected, only) = (None, false, None);
        Self { objects, clock, memo, capabilities, folder, id, findings, elected, only }
    }

    /// From here on files are created by election. An exclusive waits for two of them before it is
    /// granted, each a step of the store's clock long.
    pub(crate) fn elect(&mut self) {
        /// The steps of the clock that are left to believe in a grant, and more.
        const STEPS: u32 = 15;

        if self.elected {
            return;
        }
        let (step, writable) = (self.resolution(), self.objects.writable);
        let over = |store: &Arc<dyn ObjectStore>| -> Arc<dyn ObjectStore> {
            let (store, clock) = (Arc::clone(store), Arc::clone(&self.clock));
            Arc::new(Elected::over(store, clock, step, writable))
        };
        self.objects.loose = over(&self.objects.loose);
        self.objects.durable = over(&self.objects.durable);
        let min_ttl = self.capabilities.min_ttl.max(step * STEPS);
        self.capabilities = self.capabilities.with_min_ttl(min_ttl);
        self.elected = true;
    }

    /// What the store was found to do when it was opened; nothing if it was not tried out.
    #[must_use]
    pub const fn findings(&self) -> Option<Findings> {
        self.findings
    }

    pub(crate) const fn resolution(&self) -> Duration {
        self.capabilities.clock_resolution
    }

    /// Runs a step: in one go where that saves the way to the disk for each of its requests, and
    /// where no step waits for a coarse clock in the middle of it.
    pub(crate) async fn step<T: Send + 'static>(
        &self,
        step: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        match self.folder.is_some() && self.resolution() < COARSE {
            true => in_one_go(step).await,
            false => step.await,
        }
    }

    /// One listing, with what it teaches.
    pub(crate) async fn list(&self, name: &Name) -> Result<Listing> {
        let listing = Listing::of(self.objects.list(name).await?);
        let id = |id: ClaimId, seen| (self.objects.path(name, id.key(Part::Record)), seen);
        let claims = listing.exclusives.iter().map(|(n, files)| (ClaimId::Exclusive(*n), files));
        let writers = listing.writers.iter().map(|(w, files)| (ClaimId::Writer(*w), files));
        let records = claims.chain(writers);
        self.memo.look_for_own(
            records.filter_map(|(claim, files)| Some(id(claim, files.record.as_ref()?))),
        );
        self.memo.set_genesis(name, listing.genesis());
        if !listing.strays.is_empty() && self.memo.is_news(name) {
            tracing::debug!(%name, strays = ?listing.strays, "files that are no leases are ignored");
        }
        Ok(listing)
    }

    /// A listing to decide by: that of the right folder, and of a name with its `genesis`.
    pub(crate) async fn look(&self, name: &Name) -> Result<Listing> {
        let listing = self.list(name).await?;
        if listing.genesis.is_some() {
            return Ok(listing);
        }
        self.same_store().await?;
        // Somebody deleted a part by hand. The new `genesis` is later than all that was granted.
        if listing.has_claims() && self.objects.writable {
            self.create_genesis(name).await?;
            return self.list(name).await;
        }
        Ok(listing)
    }

    /// The name's `genesis`, made if it is not there.
    pub(crate) async fn genesis(&self, name: &Name) -> Result<Genesis> {
        match self.memo.genesis(name) {
            Some(genesis) => Ok(genesis),
            None => self.create_genesis(name).await,
        }
    }

    async fn create_genesis(&self, name: &Name) -> Result<Genesis> {
        let path = self.objects.path(name, Key::Genesis);
        let body = crate::body::encode(&crate::names::Origin::of(name))?;
        let mut found = None;
        for _ in 0..CREATES {
            // Whoever made it: what counts is which it is.
            match self.objects.create(&path, body.clone(), Keep::Durably).await {
                Ok(Created::Done(_) | Created::Exists) => {}
                Err(error) if crate::error::is_unclear(&error) => {}
                Err(error) => return Err(error),
            }
            found = self.objects.head(&path).await?;
            if found.is_some() {
                break;
            }
        }
        let seen = found.ok_or_else(|| nonsense("the first file of the name was not kept"))?;
        let genesis = Genesis::of(seen);
        Epoch::new(genesis.micros).ok_or_else(out_of_epochs)?;
        self.memo.set_genesis(name, Some(genesis.clone()));
        Ok(genesis)
    }

    /// Waits until the store's clock has gone on since the name was first used.
    ///
    /// Its epochs start at that moment, as coarse as the store tells it. A name that is granted,
    /// erased and granted again within one step of a coarse clock would start twice at the same
    /// number. So nothing is granted in the first step: then an erasure that takes an epoch away
    /// comes in a later one. A fine clock has gone on before anybody can erase.
    pub(crate) async fn first_step_is_over(&self, genesis: &Genesis) {
        // An election leaves it open for some steps more whose first file it is.
        let step = match self.elected {
            true => self.resolution() * (1 + STEPS_ON_THE_WAY),
            false => self.resolution(),
        };
        if step < COARSE {
            return;
        }
        let here = self.clock.now();
        let over =
            genesis.micros.saturating_add(u64::try_from(step.as_micros()).unwrap_or(u64::MAX));
        let now = self.memo.now(here, Duration::MAX).map_or(0, |now| now.from.micros());
        let left = step.min(Duration::from_micros(over.saturating_sub(now)));
        if !left.is_zero() {
            self.clock.sleep_until(here.plus(left + left / DRIFT)).await;
        }
    }

    /// The store's time, from a sample that is at most `age` old, else by a probe.
    pub(crate) async fn now(&self, name: &Name, age: Duration) -> Result<Now> {
        match self.memo.now(self.clock.now(), age) {
            Some(now) => Ok(now),
            None => self.probe(name).await,
        }
    }

    /// The store's time by a file that is written for it.
    pub(crate) async fn probe(&self, name: &Name) -> Result<Now> {
        let path = self.objects.path(name, Key::Probe(Jitter::system().nonce()));
        let sent = self.clock.now();
        self.objects.put(&path, Bytes::from_static(b"probe\n")).await?;
        let wrote = Wrote { sent, acknowledged: self.clock.now() };
        let seen = self.objects.head(&path).await?;
        if let Err(error) = self.objects.delete(&path).await {
            tracing::debug!(%name, %error, "a probe could not be deleted");
        }
        let seen = seen.ok_or_else(|| nonsense("a probe was not kept"))?;
        self.memo.sample(seen.modified, wrote);
        let now = self.memo.now(self.clock.now(), Duration::MAX);
        now.ok_or_else(|| nonsense("a probe told no time"))
    }

    /// What stands in a claim's file at the write that was seen, or at a later one; nothing if the
    /// file is gone.
    pub(crate) async fn body(
        &self,
        name: &Name,
        id: ClaimId,
        seen: &Seen,
    ) -> Result<Option<Known>> {
        let path = self.objects.path(name, id.key(Part::Record));
        if let Some(known) = self.memo.body(&path).filter(|known| known.stamp == seen.stamp) {
            return Ok(Some(known));
        }
        let Some(got) = self.objects.get(&path).await? else { return Ok(None) };
        if let Ok(body) = &got.body {
            same_name(name, &body.name)?;
        }
        let body = Arc::new(got.body);
        self.memo.learn(path, got.seen.stamp.clone(), Arc::clone(&body));
        Ok(Some(Known::new(got.seen.stamp, body)))
    }

    /// Remembers an acknowledged write of one's own.
    pub(crate) fn wrote(&self, id: ClaimId, body: Body, stamp: &str, sent: lease_core::Moment) {
        let path = self.objects.path(&body.name, id.key(Part::Record));
        let wrote = Wrote { sent, acknowledged: self.clock.now() };
        self.memo.wrote(path, stamp.to_owned(), body, wrote);
    }
}

pub(crate) fn out_of_epochs() -> Error {
    Error::misconfigured(
        "the epochs of this name have run out, or the store's clock is set beyond the year 2110",
        "set the store's clock, and delete the name's folder once nobody holds it",
    )
}

/// Refuses a folder that holds the files of another name: it was copied or renamed by hand.
pub(crate) fn same_name(asked: &Name, found: &Name) -> Result<()> {
    if asked == found {
        return Ok(());
    }
    Err(Error::misconfigured(
        format!(
            "the folder of a lease holds the files of another, asked=`{asked}` found=`{found}`"
        ),
        "move that folder out of the lease folder: it was copied or renamed by hand",
    ))
}
