//! An exclusive's steps: install and commit.

use std::sync::Arc;

use bytes::Bytes;
use lease_core::backend::{Committed, Installed};
use lease_core::{
    Claim, Epoch, Error, Holding, Judged, LossReason, Name, Result, Snapshot, Target, Unreadable,
};

use crate::body::{Body, GRANTED, VOID};
use crate::error::{after_a_write, is_unclear};
use crate::judge;
use crate::key::{ClaimId, Part};
use crate::listing::{Listing, Mark};
use crate::memo::Own;
use crate::objects::{Created, Keep, nonsense};
use crate::revision::{At, Genesis};
use crate::steps::renew::place;
use crate::store::{CREATES, ObjStore, out_of_epochs};

impl ObjStore {
    pub(crate) async fn install_exclusive(
        &self,
        claim: &Claim,
        seen: &Snapshot,
        over: Option<(&Target, Judged)>,
    ) -> Result<Installed> {
        self.objects.writable()?;
        if self.memo.spent(claim.nonce).is_some() {
            return Ok(Installed::Refused);
        }
        if let Some(again) = self.installed_before(claim, seen).await? {
            return Ok(again);
        }
        if over.is_none() && seen.exclusive.is_some() {
            return Ok(Installed::Refused);
        }
        let anchor = At::of(&seen.anchor).ok_or_else(|| nonsense("a foreign snapshot"))?;
        match (over, anchor.genesis, anchor.n) {
            (None, Some(genesis), Some(highest)) => {
                self.claim(claim, genesis, highest, false).await
            }
            // Over another one, or on a name that nobody used: by a new look.
            (over, ..) => {
                if let Some((target, judged)) = over
                    && !self.end_stale(&claim.name, target, judged).await?
                {
                    return Ok(Installed::Refused);
                }
                let genesis = self.genesis(&claim.name).await?;
                let listing = self.look(&claim.name).await?;
                let shown = self.shown(&claim.name, &listing).await?;
                let taken = shown.iter().any(|shown| matches!(shown.id, ClaimId::Exclusive(_)));
                if taken || listing.genesis() != Some(genesis.clone()) {
                    return Ok(Installed::Refused);
                }
                self.claim(claim, genesis, listing.highest(), false).await
            }
        }
    }

    /// The answer to an install that was asked for before with the same nonce.
    async fn installed_before(&self, claim: &Claim, seen: &Snapshot) -> Result<Option<Installed>> {
        let shown = seen.exclusive.as_ref().filter(|record| record.nonce == claim.nonce);
        let shown = shown.and_then(|record| At::of(&record.revision)?.n);
        let n = self.memo.own(claim.nonce).and_then(|own| own.n).or(shown);
        let Some(n) = n else { return Ok(None) };
        let listing = self.list(&claim.name).await?;
        let id = ClaimId::Exclusive(n);
        let Some(files) = listing.exclusives.get(&n) else { return Ok(None) };
        let Some(record) = &files.record else { return Ok(Some(Installed::Refused)) };
        let Some(known) = self.body(&claim.name, id, record).await? else { return Ok(None) };
        let body = known.body.as_ref().as_ref().ok().filter(|body| body.nonce == claim.nonce);
        // Somebody else's create won; this attempt has no claim yet.
        let Some(body) = body else { return Ok(None) };
        let counts = files.unended().is_some() && !files.is_condemned();
        Ok(Some(if counts {
            let at = At { at_once: body.at_once, ..listing.at(Some(n), &record.stamp) };
            Installed::Here(at.revision())
        } else {
            Installed::Refused
        }))
    }

    /// Creates the claim that follows `highest`: the compare-and-swap of this store, since of all
    /// who saw the same highest claim one creates the next.
    pub(crate) async fn claim(
        &self,
        claim: &Claim,
        genesis: Genesis,
        highest: u64,
        at_once: bool,
    ) -> Result<Installed> {
        let n = Epoch::new(highest).and_then(Epoch::next).ok_or_else(out_of_epochs)?.get();
        let id = ClaimId::Exclusive(n);
        let mut body = Body::of(claim);
        body.at_once = at_once;
        let info = Arc::clone(&claim.info);
        self.memo.set_own(claim.nonce, Own { n: Some(n), created: false, beat: 0, info });
        let path = self.objects.path(&claim.name, id.key(Part::Record));
        let here = |stamp: String| {
            let genesis = Some(genesis.clone());
            Installed::Here(At { genesis, n: Some(n), stamp, at_once }.revision())
        };
        let mut unclear = None;
        for _ in 0..CREATES {
            let sent = self.clock.now();
            match self.objects.create(&path, body.encode()?, Keep::Loosely).await {
                Ok(Created::Done(stamp)) => {
                    self.wrote(id, body, &stamp, sent);
                    self.memo.acknowledge(claim.nonce, 0);
                    return Ok(here(stamp));
                }
                Ok(Created::Exists) => {}
                Err(error) if is_unclear(&error) => unclear = Some(error),
                Err(error) => return Err(error),
            }
            // Neither "exists" nor an error is an answer: it may be one's own.
            match self.objects.get(&path).await {
                Ok(Some(got)) if got.body.as_ref().is_ok_and(|b| b.nonce == claim.nonce) => {
                    self.wrote(id, body, &got.seen.stamp, sent);
                    self.memo.acknowledge(claim.nonce, 0);
                    return Ok(here(got.seen.stamp));
                }
                Ok(Some(_)) => return Ok(Installed::Refused),
                Ok(None) => {}
                Err(error) => return Err(Error::unclear(crate::error::KIND, error)),
            }
        }
        // Where all answers were clear there was one, and it is being cleared away.
        unclear.map_or(Ok(Installed::Refused), Err)
    }

    pub(crate) async fn commit_exclusive(&self, mine: &Holding) -> Result<Committed> {
        self.objects.writable()?;
        let Some((id @ ClaimId::Exclusive(n), at)) = place(mine) else {
            return Ok(Committed::Lost);
        };
        if self.memo.spent(mine.nonce).is_some() || !self.is_mine(mine, id).await? {
            return Ok(Committed::Lost);
        }
        if let Some(genesis) = &at.genesis {
            self.first_step_is_over(genesis).await;
        }
        // X3: the claim's fate, sealed by whoever creates it first. Whoever ends a claim that has none
        // seals it as void before, so the look need not come after it. What it is for: a claim below
        // another never holds (its create was asked for long ago, and that other one was there when
        // it came), nor one whose state was erased. Live writers need no look: those that were
        // granted were there before this claim was, and the drain saw them; those that came later
        // see this claim and leave.
        let seal = self.seal(&mine.name, n, Mark::Granted);
        let (fate, listing) = match self.elected {
            // It would find the election under way, and wait for it.
            true => (seal.await, self.list(&mine.name).await),
            false => futures::join!(seal, self.list(&mine.name)),
        };
        let (granted, listing) = (fate? == Mark::Granted, listing.map_err(after_a_write)?);
        let own = judge::own(&listing, mine, &at);
        if granted && let Ok(own) = own {
            let epoch = Epoch::new(n).ok_or_else(out_of_epochs)?;
            let revision = at.rewritten(&own.seen.stamp).revision();
            return Ok(Committed::Granted { epoch, revision });
        }
        // It never held, and its fate is sealed: nothing speaks against ending it at once.
        self.memo.spend(mine.nonce, own.err().unwrap_or(LossReason::Displaced));
        if listing.exclusives.get(&n).is_some_and(|files| files.unended().is_some()) {
            self.mark(&mine.name, id, Part::Released, Bytes::new()).await.ok();
        }
        Ok(Committed::Lost)
    }

    /// The fate that whoever ends another's claim seals for it, by what its file says; nothing if it
    /// has ended. One that cannot be read may be one that is granted by being there.
    pub(crate) async fn fate(
        &self,
        name: &Name,
        n: u64,
        listing: &Listing,
        body: &Result<Body, Unreadable>,
    ) -> Result<Option<Mark>> {
        let at_once = body.as_ref().map_or(true, |body| body.at_once);
        // A listing of no one moment may show the claim that came after it, and not its release
        // before.
        if at_once && listing.is_passed(n) {
            let now = self.list(name).await?;
            if now.exclusives.get(&n).is_none_or(|files| files.unended().is_none()) {
                return Ok(None);
            }
        }
        let is_granted = listing.is_granted(n, at_once);
        Ok(Some(if is_granted { Mark::Granted } else { Mark::Void }))
    }

    /// Decides the fate of a claim, or finds it decided. Retried until it is clear which.
    pub(crate) async fn seal(&self, name: &Name, n: u64, fate: Mark) -> Result<Mark> {
        let path = self.objects.path(name, ClaimId::Exclusive(n).key(Part::Mark));
        let (body, keep) = match fate {
            Mark::Granted => (GRANTED, Keep::Durably),
            Mark::Void => (VOID, Keep::Loosely),
        };
        let mut unclear = None;
        for _ in 0..CREATES {
            match self.objects.create(&path, Bytes::from_static(body), keep).await {
                Ok(Created::Done(_)) => return Ok(fate),
                Ok(Created::Exists) => {}
                Err(error) if is_unclear(&error) => unclear = Some(error),
                Err(error) => return Err(error),
            }
            match self.objects.head(&path).await {
                Ok(Some(seen)) => return Ok(Mark::of_size(seen.size)),
                Ok(None) => {}
                Err(error) => return Err(Error::unclear(crate::error::KIND, error)),
            }
        }
        Err(unclear.unwrap_or_else(|| nonsense("a mark exists and cannot be found")))
    }

    /// Writes one of a claim's end marks, whoever else did so before.
    pub(crate) async fn mark(
        &self,
        name: &Name,
        id: ClaimId,
        part: Part,
        body: Bytes,
    ) -> Result<()> {
        let path = self.objects.path(name, id.key(part));
        self.objects.put(&path, body).await?;
        Ok(())
    }
}
