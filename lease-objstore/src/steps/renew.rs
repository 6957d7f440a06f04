//! Renewing and confirming: write one's own file, *then* look whether it still counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::{BoxFuture, join_all};
use futures::{FutureExt, StreamExt, stream};
use lease_core::backend::{Confirmed, Renewed};
use lease_core::{Error, Holding, LossReason, Mode, Name, Result};

use crate::body::Body;
use crate::error::{KIND, is_unclear};
use crate::judge::{self, Own as Counted};
use crate::key::{ClaimId, Part};
use crate::listing::{Listing, Mark};
use crate::memo::Own;
use crate::objects::nonsense;
use crate::revision::At;
use crate::store::ObjStore;

/// How many heartbeats of one batch are on their way at a time.
const AT_A_TIME: usize = 16;

/// What became of one heartbeat.
enum Beat {
    /// It is written; whether it counts is seen in a listing.
    Written(At),
    /// It is settled without one.
    Settled(Result<Renewed>),
}

impl ObjStore {
    pub(crate) async fn renew_batch(&self, mine: &[Holding]) -> Vec<Result<Renewed>> {
        let mut beats: Vec<BoxFuture<'_, _>> = Vec::with_capacity(mine.len());
        for one in mine {
            beats.push(self.beat(one).boxed());
        }
        let beats: Vec<Beat> = stream::iter(beats).buffered(AT_A_TIME).collect().await;
        // One listing for each name, asked for after all its heartbeats were acknowledged.
        let mut names: BTreeMap<Name, Option<Result<Listing>>> = BTreeMap::new();
        for (one, beat) in mine.iter().zip(&beats) {
            if matches!(beat, Beat::Written(_)) {
                names.insert(one.name.clone(), None);
            }
        }
        let listed = names.into_keys().map(|name| async {
            let listing = self.list(&name).await;
            (name, listing)
        });
        let listings: BTreeMap<_, _> = join_all(listed).await.into_iter().collect();
        let mut answers = Vec::with_capacity(mine.len());
        for (one, beat) in mine.iter().zip(beats) {
            answers.push(match beat {
                Beat::Settled(answer) => answer,
                Beat::Written(at) => match listings.get(&one.name) {
                    Some(Ok(listing)) => Ok(self.checked(one, &at, listing).await),
                    // It may be lost, and its heartbeat is written.
                    Some(Err(error)) => Err(Error::unclear(KIND, error.to_string())),
                    None => Err(nonsense("a name was not listed")),
                },
            });
        }
        answers
    }

    /// Writes one heartbeat.
    async fn beat(&self, mine: &Holding) -> Beat {
        match self.try_beat(mine).await {
            Ok(beat) => beat,
            Err(error) => Beat::Settled(Err(error)),
        }
    }

    async fn try_beat(&self, mine: &Holding) -> Result<Beat> {
        self.objects.writable()?;
        if let Some(how) = self.memo.spent(mine.nonce) {
            return Ok(Beat::Settled(Ok(Renewed::Lost(how))));
        }
        // Without a revision nothing was ever acknowledged: there is nothing to renew.
        let Some((id, at)) = place(mine) else {
            return Ok(Beat::Settled(Ok(Renewed::Lost(LossReason::Displaced))));
        };
        let mut own = self.own(mine, id).await?;
        if own.as_ref().is_some_and(|own| own.beat < mine.acknowledged) {
            // It was renewed by another client, if it was.
            self.memo.forget(mine.nonce);
            own = self.own(mine, id).await?;
        }
        let Some(own) = own else {
            return Ok(Beat::Settled(Ok(self.gone(mine, &at).await?)));
        };
        // R2, R8: only over one's own last acknowledged write or an unanswered one since.
        if mine.beat < own.beat || own.beat < mine.acknowledged {
            return Ok(Beat::Settled(Ok(Renewed::Lost(LossReason::Displaced))));
        }
        // The same write again: it counts once, from when it was first there.
        if mine.beat == own.beat {
            return Ok(Beat::Written(at));
        }
        let path = self.objects.path(&mine.name, id.key(Part::Record));
        let body = Body::renewed(mine, own.info.as_ref().clone());
        let sent = self.clock.now();
        match self.objects.put(&path, body.encode()?).await {
            Ok(stamp) => self.wrote(id, body, &stamp, sent),
            Err(error) if is_unclear(&error) => {
                // R8: finding one's nonce proves nothing; this very write has to be there.
                let got = self.objects.get(&path).await.ok().flatten();
                let there = got.as_ref().and_then(|got| got.body.as_ref().ok());
                if !there.is_some_and(|b| b.nonce == mine.nonce && b.beat == mine.beat) {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
        Ok(Beat::Written(at))
    }

    /// What is known of one's own claim; by its file if another client made it.
    async fn own(&self, mine: &Holding, id: ClaimId) -> Result<Option<Own>> {
        let n = match id {
            ClaimId::Exclusive(n) => Some(n),
            ClaimId::Writer(_) => None,
        };
        if let Some(own) = self.memo.own(mine.nonce).filter(|own| own.created && own.n == n) {
            return Ok(Some(own));
        }
        let path = self.objects.path(&mine.name, id.key(Part::Record));
        let Some(got) = self.objects.get(&path).await? else { return Ok(None) };
        let Some(body) = got.body.ok().filter(|body| body.nonce == mine.nonce) else {
            return Ok(None);
        };
        let own = Own { n, created: true, beat: body.beat, info: Arc::new(body.info) };
        self.memo.set_own(mine.nonce, own.clone());
        Ok(Some(own))
    }

    /// Whether this claim carries one's own nonce.
    pub(crate) async fn is_mine(&self, mine: &Holding, id: ClaimId) -> Result<bool> {
        Ok(self.own(mine, id).await?.is_some())
    }

    /// How a claim was lost that has no file.
    async fn gone(&self, mine: &Holding, at: &At) -> Result<Renewed> {
        let listing = self.list(&mine.name).await?;
        let how = judge::own(&listing, mine, at).err().unwrap_or(LossReason::Displaced);
        self.memo.spend(mine.nonce, how);
        Ok(Renewed::Lost(how))
    }

    /// Whether the heartbeat counts, by a listing that was asked for after it.
    ///
    /// It counts only if the answer reaches its holder before the belief ends that it prolongs: the
    /// keeper sees to that.
    async fn checked(&self, mine: &Holding, at: &At, listing: &Listing) -> Renewed {
        match judge::own(listing, mine, at) {
            Ok(Counted { seen, drain }) => {
                self.memo.acknowledge(mine.nonce, mine.beat);
                let revision = at.rewritten(&seen.stamp).revision();
                Renewed::Renewed { revision, drain }
            }
            Err(how) => {
                self.memo.spend(mine.nonce, how);
                self.take_back(mine, listing, how).await;
                Renewed::Lost(how)
            }
        }
    }

    /// Removes what a heartbeat brought back, and what of one's own nobody is protected by. As well
    /// as it goes: it ends by its ttl otherwise.
    async fn take_back(&self, mine: &Holding, listing: &Listing, how: LossReason) {
        let Some((id, at)) = place(mine) else { return };
        if listing.files(id).is_none_or(|files| files.unended().is_none()) {
            return;
        }
        let never_held = mine.mode == Mode::Exclusive && mine.epoch.is_none();
        let erased = how == LossReason::StateGone && judge::is_resurrected(listing, mine, &at);
        if !never_held && !erased {
            return;
        }
        let path = self.objects.path(&mine.name, id.key(Part::Record));
        let done = match id {
            ClaimId::Writer(_) => self.objects.delete(&path).await.map(drop),
            ClaimId::Exclusive(n) => match self.seal(&mine.name, n, Mark::Void).await {
                Ok(_) => self.mark(&mine.name, id, Part::Released, Bytes::new()).await,
                Err(error) => Err(error),
            },
        };
        if let Err(error) = done {
            tracing::debug!(name = %mine.name, %error, "a lost record is left to expire");
        }
    }

    pub(crate) async fn confirm_own(&self, mine: &Holding) -> Result<Confirmed> {
        if let Some(how) = self.memo.spent(mine.nonce) {
            return Ok(Confirmed::Lost(how));
        }
        let Some((id, at)) = place(mine) else {
            return Ok(Confirmed::Lost(LossReason::Displaced));
        };
        let listing = self.list(&mine.name).await?;
        let lost = match judge::own(&listing, mine, &at) {
            Ok(Counted { drain, .. }) if self.is_mine(mine, id).await? => {
                return Ok(Confirmed::Held { drain });
            }
            Ok(_) => LossReason::Displaced,
            Err(how) => how,
        };
        self.memo.spend(mine.nonce, lost);
        Ok(Confirmed::Lost(lost))
    }
}

/// Which claim is one's own, and what it stands on; nothing where its creation was never answered.
pub(crate) fn place(mine: &Holding) -> Option<(ClaimId, At)> {
    let at = At::of(&mine.revision)?;
    let id = match mine.mode {
        Mode::Writer => ClaimId::Writer(mine.nonce),
        Mode::Exclusive => ClaimId::Exclusive(at.n?),
    };
    Some((id, at))
}
