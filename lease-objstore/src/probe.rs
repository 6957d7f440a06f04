//! Trying a store out when it is opened. What it does decides, never what it is called.

use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use lease_core::{Error, Jitter, Result};
use object_store::path::Path;

use crate::connect::mixed;
use crate::error::{is_denied, is_unclear};
use crate::key::Key;
use crate::listing::Seen;
use crate::memo::Wrote;
use crate::objects::{Created, Keep, Put, nonsense};
use crate::options::{Probe, WithoutCreate};
use crate::staging;
use crate::store::ObjStore;

/// How many keys are raced for.
const ROUNDS: usize = 4;

/// How many creates race for each. More of them make the losers on some servers wait for seconds.
const RACERS: usize = 4;

/// How many races must have had a clear end.
const CLEAR: usize = 2;

/// How many probes that somebody was killed over are removed in one go.
const SWEPT: usize = 10;

/// What a store was found to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// Whether creates were raced against each other; where they were before, the marker tells.
    pub raced: bool,
    /// Whether files are created by election, since several may create one here. So they are too
    /// where listings do not tell which write of a file they show.
    pub elected: bool,
    /// Whether files may be deleted. Without that right leases end all the same, but what is left
    /// of them stays, and listings grow.
    pub may_delete: bool,
    /// Whether the store gives each write a version and may keep the old ones: then a rule of its
    /// own has to remove them, for each renewal leaves one.
    pub versioned: bool,
    /// Whether the times that the store shows are whole seconds.
    pub whole_seconds: bool,
}

/// What was seen of a file that was written, created again, listed and deleted.
pub(crate) struct Trace {
    pub(crate) put: Put,
    pub(crate) head: Seen,
    again: Result<Created>,
    /// It, in the listing: once, if the listing is right.
    shown: Vec<Seen>,
    /// Whether the listing shows that somebody began to create by election.
    began: bool,
    pub(crate) may_delete: bool,
}

impl Trace {
    /// The file as the listing shows it, if that can be told from its other writes by all answers.
    pub(crate) fn is_listed(&self, elected: bool, elects: bool) -> Result<&Seen> {
        let [shown] = self.shown.as_slice() else {
            return Err(no_listing("a file that was written is not in the listing"));
        };
        let last = match &self.again {
            Ok(Created::Done(stamp)) => stamp,
            _ => &self.put.stamp,
        };
        let is_told = shown.tagged || (!elected && elects);
        if !is_told || (shown.tagged && shown.stamp != *last) || self.head.stamp != self.put.stamp {
            return Err(no_listing("a file's entity tag is not the same in all answers"));
        }
        Ok(shown)
    }

    /// Whether the file was not created over itself.
    pub(crate) const fn is_kept(&self) -> bool {
        !matches!(self.again, Ok(Created::Done(_)))
    }
}

/// What came of the race for one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Race {
    /// One won, and it is the winner's file that is there.
    Won,
    /// Several won, or the winner's file was overwritten.
    Broken,
    /// Answers were lost, so that nobody can tell.
    Unclear,
}

impl ObjStore {
    /// Writes, reads, lists and deletes a file, which also tells the store's time, and races
    /// creates where that was not done before.
    pub(crate) async fn try_out(
        &self,
        probe: Probe,
        without_create: WithoutCreate,
    ) -> Result<Findings> {
        let trace = self.leave_a_trace().await?;
        let elects = without_create == WithoutCreate::Elect;
        let shown = trace.is_listed(self.elected, elects)?;
        // Somebody found before that this store creates nothing by itself.
        let began = !self.elected && trace.began;
        if began && self.opened().is_some() {
            return Err(mixed());
        }
        let raced =
            !self.elected && !began && (self.opened().is_none() || probe == Probe::EveryTime);
        let is_exact = !self.elected
            && !began
            && shown.tagged
            && trace.is_kept()
            && (!raced || self.race().await?);
        // Those who opened it before without elections trust in it.
        let is_trusted = self.opened().is_some() && !self.elected;
        if !is_exact && (is_trusted || !elects) {
            return Err(no_create());
        }
        Ok(Findings {
            raced,
            elected: !is_exact,
            may_delete: trace.may_delete,
            versioned: trace.put.versioned,
            whole_seconds: trace.head.modified.is_whole_second()
                || shown.modified.is_whole_second(),
        })
    }

    /// Writes a file, looks at it, tries to create it again, lists and deletes it.
    pub(crate) async fn leave_a_trace(&self) -> Result<Trace> {
        let path = self.probe_path();
        let sent = self.clock.now();
        let put = self.objects.put_versioned(&path, Bytes::from_static(b"probe\n")).await?;
        let wrote = Wrote { sent, acknowledged: self.clock.now() };
        let head =
            self.objects.head(&path).await?.ok_or_else(|| nonsense("a probe was not kept"))?;
        self.memo.sample(head.modified, wrote);
        let again = self.objects.create(&path, Bytes::from_static(b"again\n"), Keep::Loosely).await;
        let listed = self.objects.list_root().await?;
        let began = self.is_elected_in(&listed);
        let (shown, others): (Vec<_>, Vec<_>) =
            listed.into_iter().partition(|(there, _)| *there == path);
        let may_delete = self.sweep_probes(path, &others).await?;
        let shown = shown.into_iter().map(|(_, seen)| seen).collect();
        Ok(Trace { put, head, again, shown, began, may_delete })
    }

    pub(crate) fn probe_path(&self) -> Path {
        let nonce = Jitter::system().nonce();
        self.objects.root.clone().join(Key::Probe(nonce).to_string())
    }

    /// Deletes the probe, and old ones that somebody was killed over. Whether that is allowed:
    /// whoever may create but not delete can still hold leases.
    async fn sweep_probes(&self, path: Path, others: &[(Path, Seen)]) -> Result<bool> {
        let now = self.memo.now(self.clock.now(), Duration::MAX);
        let old = others.iter().filter(|(path, seen)| {
            let file = path.filename().unwrap_or_default();
            matches!(Key::parse(file), Some(Key::Probe(_)))
                && now.is_some_and(|now| now.from.since(seen.modified) >= staging::OLD)
        });
        let old = old.map(|(path, _)| path.clone()).take(SWEPT);
        let group = std::iter::once(path).chain(old).collect();
        match self.objects.delete_in_turn(vec![group]).await {
            Ok(()) => Ok(true),
            Err(error) if is_denied(&error) => {
                tracing::warn!(%error, "nothing may be deleted here: what leases leave stays");
                Ok(false)
            }
            Err(error) => {
                tracing::debug!(%error, "the probe could not be deleted");
                Ok(true)
            }
        }
    }

    /// Lets creates race for some keys. Whether each was won once, as far as can be told.
    pub(crate) async fn race(&self) -> Result<bool> {
        let keys: Vec<_> = (0..ROUNDS).map(|_| self.probe_path()).collect();
        let races = join_all(keys.iter().map(|key| self.race_for(key))).await;
        if let Err(error) = self.objects.delete_in_turn(vec![keys]).await {
            tracing::debug!(%error, "the keys of the races could not be deleted");
        }
        let races = races.into_iter().collect::<Result<Vec<_>>>()?;
        if races.contains(&Race::Broken) {
            return Ok(false);
        }
        let clear = races.iter().filter(|race| **race == Race::Won).count();
        if clear < CLEAR {
            return Err(nonsense("too few of the probe's requests were answered"));
        }
        Ok(true)
    }

    async fn race_for(&self, key: &Path) -> Result<Race> {
        let mark = |racer: usize| Bytes::from(format!("racer {racer}\n"));
        let racers = (0..RACERS).map(|racer| self.objects.create(key, mark(racer), Keep::Loosely));
        let mut winners = Vec::new();
        for (racer, answer) in join_all(racers).await.into_iter().enumerate() {
            match answer {
                Ok(Created::Done(_)) => winners.push(mark(racer)),
                Ok(Created::Exists) => {}
                Err(error) if is_unclear(&error) => {}
                Err(error) => return Err(error),
            }
        }
        // Once more when all is over: some stores refuse a create only while another is under way.
        match self.objects.create(key, mark(RACERS), Keep::Loosely).await {
            Ok(Created::Done(_)) if winners.is_empty() => return Ok(Race::Unclear),
            Ok(Created::Done(_)) => return Ok(Race::Broken),
            Ok(Created::Exists) => {}
            Err(error) if is_unclear(&error) => {}
            Err(error) => return Err(error),
        }
        let there = self.objects.read(key).await.ok().flatten().map(|(_, body)| body);
        Ok(match (winners.as_slice(), there) {
            ([_, _, ..], _) => Race::Broken,
            ([winner], Some(there)) if *winner == there => Race::Won,
            ([_], Some(_)) => Race::Broken,
            // Answers were lost, or all were told of their own first tries.
            ([_], None) | ([], _) => Race::Unclear,
        })
    }
}

pub(crate) fn no_create() -> Error {
    Error::misconfigured(
        "the store creates a file that is there already: two exclusives could hold at once",
        "use a store that honours create-if-absent, and a bucket that never was a versioned one \
         where the store needs that; or an empty prefix, without `without_create=refuse`",
    )
}

fn no_listing(problem: &'static str) -> Error {
    Error::misconfigured(
        format!("leases cannot be told by this store's listings: {problem}"),
        "use a store whose listings show all that was written, with entity tags",
    )
}
