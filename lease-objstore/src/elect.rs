//! Create-if-absent on a store that has none: of all who want to create a file one is elected.
//!
//! Whoever wants to create a file writes a candidate beside it, under a name of its own, waits until
//! the store's clock has gone on, and lists: it wants the candidate that the store wrote first, and
//! so do all others who look then. They vote for it in rounds:
//!
//! 1. write which candidate is wanted, and list;
//! 2. if no other is wanted in this round, write that it is agreed, else that it is disputed, and
//!    list;
//! 3. whoever wrote that it is agreed and sees no dispute writes that it is elected. Else go on to the
//!    next round, wanting what was agreed in this one; if nothing was, the lowest of those that were
//!    wanted.
//!
//! Safety is in the listings that follow one's own writes, and in no clock. Of two who each wrote what
//! they want, the one that listed later saw both: so one candidate at the most is agreed in a round.
//! Whoever wrote that it is agreed and then sees no dispute knows that a dispute that comes later is
//! of somebody who will see that it is agreed: all who go on to the next round want the same one, and
//! nothing else is elected ever. This is known as commit-adopt. A listing need only show what was
//! written before it was asked for, not all files as they were at one moment. What the clock is for is
//! that the first round suffices.
//!
//! Where listings do not tell which write of a file they show, each file is looked at besides.
//!
//! A file that is removed is removed with its votes last. Above this layer the files look as on any
//! other store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::stream;
use futures::{StreamExt, TryStreamExt};
use lease_core::{Clock, Jitter};
use object_store::path::Path;
use object_store::{
    Error, ListResult, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
    PutResult, Result,
};

use crate::key::Key;
use crate::memo::DRIFT;
use crate::time::StoreTime;

mod ballot;
mod facade;

use ballot::{
    Ballot, Role, Round, Standing, file_of, folder_of, is_contested, is_timed, place, role, timed,
};

/// How often it is looked again while new elections begin.
const LOOKS: usize = 16;

/// How many files are looked at at a time.
const AT_A_TIME: usize = 16;

/// For how many steps of the store's clock a candidate may be on its way whose time of writing counts.
pub(crate) const STEPS_ON_THE_WAY: u32 = 4;

/// How old votes are that are left of a removal, or that came after it: nobody who cast them waits.
const LEFT_OVER: Duration = Duration::from_secs(60);

/// After so many rounds it is given up. Only who is disturbed in each of them needs a second one.
const ROUNDS: u8 = 32;

/// A store in which files are created by election. Clones are one client of it.
#[derive(Clone, Debug)]
pub(crate) struct Elected {
    inner: Arc<dyn ObjectStore>,
    clock: Arc<dyn Clock>,
    /// The step of the store's clock.
    step: Duration,
    /// Whether elections of others may be finished; else they are only waited for.
    writable: bool,
}

impl Elected {
    pub(crate) fn over(
        inner: Arc<dyn ObjectStore>,
        clock: Arc<dyn Clock>,
        step: Duration,
        writable: bool,
    ) -> Self {
        Self { inner, clock, step, writable }
    }

    async fn create(
        &self,
        path: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        let exists = || Error::AlreadyExists {
            path: path.to_string(),
            source: "another one was elected, or is about to be".into(),
        };
        let before = ballot(&*self.inner, path).await?;
        match before.standing(path, self.within()) {
            Standing::Absent => self.clear_left_over(path, &before).await?,
            Standing::Decided(_) | Standing::Open(_) => return Err(exists()),
        }
        let mine = match is_timed(file_of(path)) {
            true => timed(self.store_time(path).await?),
            false => Jitter::system().nonce(),
        };
        options.mode = PutMode::Overwrite;
        let candidate = place(path, Role::Candidate(mine));
        self.inner.put_opts(&candidate, payload, options).await?;
        // From here on all that were written before, or in the same step of the store's clock, are
        // seen.
        self.wait_a_step().await;
        match self.elect(path).await? {
            Some(meta) if meta.location == candidate => {
                Ok(PutResult { e_tag: meta.e_tag, version: None, extensions: Default::default() })
            }
            Some(_) => Err(exists()),
            // It came too late, or somebody removed it.
            None => {
                self.inner.delete(&candidate).await.ok();
                Err(unclear("a candidate came too late, or was removed during its election"))
            }
        }
    }

    /// Votes until one is elected; nothing if there is no candidate.
    async fn elect(&self, path: &Path) -> Result<Option<ObjectMeta>> {
        let mut wanted = match ballot(&*self.inner, path).await?.standing(path, self.within()) {
            Standing::Absent => return Ok(None),
            Standing::Decided(meta) => return Ok(Some(meta)),
            Standing::Open(first) => first,
        };
        for round in 0..ROUNDS {
            let said = self.vote(path, Role::Wanted(round, wanted)).await?;
            let agree = said.round(round).wanted.len() == 1;
            let vote = match agree {
                true => Role::Agreed(round, wanted),
                false => Role::Disputed(round, Jitter::system().nonce()),
            };
            let said = self.vote(path, vote).await?;
            match said.standing(path, self.within()) {
                Standing::Absent => return Ok(None),
                Standing::Decided(meta) => return Ok(Some(meta)),
                Standing::Open(_) => {}
            }
            let Round { wanted: all, agreed, disputed } = said.round(round);
            if agree && !disputed {
                self.write_vote(path, Role::Elected(wanted)).await?;
                return Ok(said.candidate(path, wanted));
            }
            wanted = agreed.into_iter().chain(all).next().unwrap_or(wanted);
        }
        Err(unclear("an election came to no end"))
    }

    /// What there is once this was said.
    async fn vote(&self, path: &Path, vote: Role) -> Result<Ballot> {
        self.write_vote(path, vote).await?;
        ballot(&*self.inner, path).await
    }

    async fn write_vote(&self, path: &Path, vote: Role) -> Result<()> {
        let body = PutPayload::from_static(b"vote\n");
        self.inner.put_opts(&place(path, vote), body, PutMode::Overwrite.into()).await.map(drop)
    }

    /// Removes votes that are left without a candidate, once nobody who cast them waits for more. As
    /// long as they are there nobody can be elected.
    async fn clear_left_over(&self, path: &Path, left: &Ballot) -> Result<()> {
        if !left.has_votes() {
            return Ok(());
        }
        if !left.is_left_over(self.store_time(path).await?, LEFT_OVER) {
            return Err(unclear("a file was removed a moment ago, and is not wholly gone"));
        }
        self.delete(left.in_order(path).into_iter()).await
    }

    /// For how long a candidate may be on its way whose time of writing counts.
    fn within(&self) -> Duration {
        self.step * STEPS_ON_THE_WAY
    }

    /// The file itself, or the candidate that is it; nothing if there is none.
    async fn find(&self, path: &Path) -> Result<Option<ObjectMeta>> {
        let ballot = ballot(&*self.inner, path).await?;
        match ballot.standing(path, self.within()) {
            Standing::Absent => Ok(None),
            Standing::Decided(meta) => Ok(Some(meta)),
            // Whoever began it may have been killed over it.
            Standing::Open(_) if self.writable => {
                self.wait_a_step().await;
                self.elect(path).await
            }
            Standing::Open(first) => Ok(ballot.candidate(path, first)),
        }
    }

    /// The time that the store shows, by a file that is written for it beside `path`.
    async fn store_time(&self, path: &Path) -> Result<StoreTime> {
        let probe = Key::Probe(Jitter::system().nonce()).to_string();
        let probe = folder_of(path).join(probe);
        let body = PutPayload::from_static(b"probe\n");
        self.inner.put_opts(&probe, body, PutMode::Overwrite.into()).await?;
        let shown = self.inner.head(&probe).await.map_err(vanished)?;
        if let Err(error) = self.inner.delete(&probe).await {
            tracing::debug!(%error, "a probe could not be deleted");
        }
        Ok(StoreTime::of(&shown))
    }

    async fn wait_a_step(&self) {
        let end = self.clock.now().plus(self.step + self.step / DRIFT);
        self.clock.sleep_until(end).await;
    }

    /// What there is below `prefix`, each file as what it is.
    async fn list_decided(&self, prefix: Option<&Path>) -> Result<ListResult> {
        // Open ones that were seen a step ago.
        let mut waited_for: BTreeSet<Path> = BTreeSet::new();
        for _ in 0..LOOKS {
            let listed = self.inner.list_with_delimiter(prefix).await?;
            let ListResult { common_prefixes, objects, extensions } = listed;
            let (mut objects, ballots) = sorted(objects);
            let mut open = BTreeSet::new();
            for (path, ballot) in ballots {
                let meta = match ballot.standing(&path, self.within()) {
                    Standing::Absent => None,
                    Standing::Decided(meta) => Some(meta),
                    Standing::Open(first) if self.writable => {
                        open.insert(path.clone());
                        ballot.candidate(&path, first)
                    }
                    // Nobody finishes it from here: it will be this one, if its clock goes right.
                    Standing::Open(first) => ballot.candidate(&path, first),
                };
                objects.extend(meta.map(|meta| ObjectMeta { location: path, ..meta }));
            }
            if open.is_empty() {
                let Some(objects) = self.tagged(objects).await? else { continue };
                return Ok(ListResult { common_prefixes, objects, extensions });
            }
            let ready: Vec<_> = open.intersection(&waited_for).cloned().collect();
            if ready.is_empty() {
                waited_for = open;
                self.wait_a_step().await;
            }
            for path in ready {
                self.elect(&path).await?;
            }
        }
        Err(unclear("elections began too fast to see the end of all of them"))
    }

    /// The same with the tags that the listing did not tell; nothing if a file went away meanwhile.
    async fn tagged(&self, objects: Vec<ObjectMeta>) -> Result<Option<Vec<ObjectMeta>>> {
        let tag = |mut meta: ObjectMeta| async move {
            if meta.e_tag.is_none() {
                let now = self.inner.head(&meta.location).await?;
                // It may have been written again since.
                meta.last_modified = meta.last_modified.max(now.last_modified);
                meta.e_tag = now.e_tag;
            }
            Ok(meta)
        };
        let tagged = stream::iter(objects).map(tag).buffered(AT_A_TIME);
        match tagged.try_collect().await {
            Ok(objects) => Ok(Some(objects)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes files with all that belongs to their elections.
    async fn remove(&self, paths: Vec<Path>) -> Result<()> {
        let mut steps: [Vec<Path>; 4] = Default::default();
        let mut ballots: BTreeMap<Path, BTreeMap<Path, Ballot>> = BTreeMap::new();
        for path in paths {
            if !is_contested(file_of(&path)) {
                steps[0].push(path);
                continue;
            }
            let folder = folder_of(&path);
            if !ballots.contains_key(&folder) {
                let listed = self.inner.list_with_delimiter(Some(&folder)).await?;
                ballots.insert(folder.clone(), sorted(listed.objects).1);
            }
            let there = ballots.get_mut(&folder).and_then(|there| there.remove(&path));
            for (step, part) in steps.iter_mut().zip(there.unwrap_or_default().in_order(&path)) {
                step.extend(part);
            }
        }
        self.delete(steps.into_iter()).await
    }

    /// Deletes files one group after the other, as far as they are there.
    async fn delete(&self, groups: impl Iterator<Item = Vec<Path>> + Send) -> Result<()> {
        for group in groups.filter(|group| !group.is_empty()) {
            let group = stream::iter(group.into_iter().map(Ok)).boxed();
            let mut removed = self.inner.delete_stream(group);
            while let Some(answer) = removed.next().await {
                match answer {
                    Ok(_) | Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}

/// Whether this is a file of the election of `path`, and not that itself.
pub(crate) fn is_of_election(file: &Path, path: &Path) -> bool {
    let elected = role(file_of(file)).map(|(elected, _)| folder_of(file).join(elected));
    elected.as_ref() == Some(path)
}

/// What is there of the election of `path`.
async fn ballot(store: &dyn ObjectStore, path: &Path) -> Result<Ballot> {
    let listed = store.list_with_delimiter(Some(&folder_of(path))).await?;
    Ok(sorted(listed.objects).1.remove(path).unwrap_or_default())
}

/// Files without an election, and the elections by the file that they are of.
fn sorted(listed: Vec<ObjectMeta>) -> (Vec<ObjectMeta>, BTreeMap<Path, Ballot>) {
    let (mut plain, mut ballots) = (Vec::new(), BTreeMap::<Path, Ballot>::new());
    for meta in listed {
        let file = file_of(&meta.location);
        match role(file) {
            Some((elected, role)) => {
                let path = folder_of(&meta.location).join(elected);
                ballots.entry(path).or_default().add(Some(role), meta);
            }
            None if is_contested(file) => {
                ballots.entry(meta.location.clone()).or_default().add(None, meta);
            }
            None => plain.push(meta),
        }
    }
    (plain, ballots)
}

/// A file went away that was there a moment ago: which is no answer to whoever asked.
fn vanished(error: Error) -> Error {
    match error {
        Error::NotFound { .. } => unclear("a file went away while it was read"),
        error => error,
    }
}

fn unclear(what: &'static str) -> Error {
    Error::Generic { store: "Elected", source: what.into() }
}

#[cfg(test)]
mod tests;
