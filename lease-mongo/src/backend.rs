//! The contract of a backend, each step of it one request.

use async_trait::async_trait;
use futures::TryStreamExt;
use lease_core::backend::{
    Broken, Committed, Confirmed, Draining, Evicted, Installed, Joined, Registered, Renewed, Taken,
    Watch, Withdrawn,
};
use lease_core::clock::within;
use lease_core::{
    Backend, BreakNote, Capabilities, Claim, Epoch, Error, HolderInfo, Holding, Judged, LossReason,
    Mode, Name, Nonce, Policy, Result, Revision, Snapshot, Target,
};
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::{CollectionOptions, ReadConcern, ReadPreference, SelectionCriteria};

use crate::error::{KIND, nonsense, translate};
use crate::pipelines::{self, Step};
use crate::record::{Lease, beat, break_note, damaged, epoch, is_sound, number, revision, says};
use crate::renew::renew;
use crate::store::Mongo;
use crate::watch::Changes;

#[async_trait]
impl Backend for Mongo {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities
    }

    async fn observe(&self, name: &Name) -> Result<Snapshot> {
        snapshot(name, self.read_fresh(name, whole()).await?.as_ref())
    }

    async fn inspect(&self, name: &Name) -> Result<Snapshot> {
        snapshot(name, self.place().read(name, whole(), "local").await?.as_ref())
    }

    async fn register(&self, claim: &Claim) -> Result<Registered> {
        let shown = self.shown(&claim.name, pipelines::register(claim)).await?;
        Ok(match shown.get("own") {
            None => Registered::Void,
            Some(own) => Registered::Here(own_revision(&claim.name, own)?),
        })
    }

    async fn install(
        &self,
        claim: &Claim,
        _seen: &Snapshot,
        over: Option<(&Target, Judged)>,
    ) -> Result<Installed> {
        let shown = self.shown(&claim.name, pipelines::install(claim, over)).await?;
        match shown.get("x") {
            Some(x) if is_mine(x, claim.nonce) => {
                Ok(Installed::Here(own_revision(&claim.name, x)?))
            }
            _ => Ok(Installed::Refused),
        }
    }

    async fn commit(&self, mine: &Holding) -> Result<Committed> {
        let Some(shown) = self.looked(&mine.name, pipelines::commit(mine)).await? else {
            return Ok(Committed::Lost);
        };
        let granted = match shown.get_document("x") {
            Ok(x) if says(&shown, "own") => x.contains_key("granted"),
            _ => false,
        };
        if !granted {
            return Ok(Committed::Lost);
        }
        let revision = own_revision(&mine.name, shown.get("x").unwrap_or(&Bson::Null))?;
        Ok(Committed::Granted { epoch: epoch(&mine.name, &shown)?, revision })
    }

    async fn renew(&self, mine: &[Holding]) -> Vec<Result<Renewed>> {
        renew(self.place(), mine).await
    }

    async fn confirm(&self, mine: &Holding) -> Result<Confirmed> {
        let shown = doc! {
            "v": 1, "sound": pipelines::sound(), "x.nonce": 1, "x.from": 1,
            "excluded": { "$eq": [{ "$type": "$x" }, "object"] },
            format!("w.{}.v", mine.nonce): 1, format!("w.{}.from", mine.nonce): 1,
        };
        let Some(found) = self.read_fresh(&mine.name, shown).await? else {
            return Ok(Confirmed::Lost(LossReason::StateGone));
        };
        is_sound(&mine.name, &found)?;
        let own = match mine.mode {
            Mode::Exclusive => found.get("x").filter(|x| is_mine(x, mine.nonce)),
            Mode::Writer => {
                found.get_document("w").ok().and_then(|w| w.get(mine.nonce.to_string()))
            }
        };
        let Some(own) = own else { return Ok(Confirmed::Lost(LossReason::Displaced)) };
        let from = own.as_document().and_then(|own| number(own, "from"));
        if from >= Some(beat(mine.acknowledged)) {
            return Ok(Confirmed::Lost(LossReason::HandedOver));
        }
        let excluded = says(&found, "excluded");
        Ok(Confirmed::Held { drain: mine.mode == Mode::Writer && excluded })
    }

    async fn withdraw(&self, mine: &Holding) -> Result<Withdrawn> {
        // What it does not find so is told and remembered by the second.
        if self.place().update(pipelines::leave(mine)).await? {
            return Ok(Withdrawn::Removed);
        }
        let shown = self.looked(&mine.name, pipelines::withdraw(mine)).await?;
        Ok(match shown {
            Some(shown) if says(&shown, "there") => Withdrawn::Removed,
            _ => Withdrawn::NotThere,
        })
    }

    async fn evict(&self, name: &Name, target: &Target, judged: Judged) -> Result<Evicted> {
        let shown = self.looked(name, pipelines::evict(target, judged)).await?;
        Ok(match shown {
            Some(shown) if says(&shown, "condemned") => Evicted::Condemned,
            _ => Evicted::Kept,
        })
    }

    async fn break_record(&self, name: &Name, nonce: Nonce, note: &BreakNote) -> Result<Broken> {
        let shown = self.looked(name, pipelines::break_record(nonce, note)).await?;
        let Some(shown) = shown.filter(|shown| says(shown, "hit")) else {
            return Ok(Broken::NotThere);
        };
        let before = epoch(name, &shown)?;
        let epoch = if says(&shown, "raised") { before.next() } else { Some(before) };
        Ok(Broken::Broken { epoch: epoch.unwrap_or(before) })
    }

    async fn last_break(&self, name: &Name) -> Result<Option<BreakNote>> {
        let shown = self.place().read(name, doc! { "broken": 1 }, "local").await?;
        Ok(shown.as_ref().and_then(break_note))
    }

    async fn adopt(&self, mine: &Holding, info: &HolderInfo) -> Result<Renewed> {
        let Some(shown) = self.looked(&mine.name, pipelines::adopt(mine, info)).await? else {
            return Ok(Renewed::Lost(LossReason::StateGone));
        };
        if says(&shown, "exact") {
            let granted = mine.mode == Mode::Exclusive && says(&shown, "granted");
            return Ok(Renewed::Renewed {
                revision: revision(beat(mine.beat), granted),
                drain: mine.mode == Mode::Writer && says(&shown, "excluded"),
            });
        }
        let there = says(&shown, "there");
        let reason = if there { LossReason::HandedOver } else { LossReason::Displaced };
        Ok(Renewed::Lost(reason))
    }

    async fn names(&self) -> Result<Vec<Name>> {
        let place = self.place();
        let options = CollectionOptions::builder()
            .read_concern(ReadConcern::local())
            .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
            .build();
        let collection =
            place.database.collection_with_options::<Document>(&place.collection, options);
        let listed = async {
            let filter = doc! { "v": { "$exists": true } };
            let found = collection.find(filter).projection(doc! { "_id": 1 }).await?;
            found.try_collect::<Vec<Document>>().await
        };
        let listed = within(&place.clock, place.timeout * 4, listed).await;
        let listed = listed.ok_or_else(|| nonsense("the server did not list the names in time"))?;
        let named = listed.map_err(translate)?.into_iter().filter_map(|found| {
            // What is no name is somebody else's document.
            Name::parse(found.get_str("_id").ok()?).ok()
        });
        Ok(named.collect())
    }

    async fn watch(&self, name: &Name) -> Result<Box<dyn Watch>> {
        if !self.inner.capabilities.push {
            return Err(Error::Unsupported { backend: KIND, feature: "watch" });
        }
        let changes: Changes = self.watch_name(name).await?;
        Ok(Box::new(changes))
    }

    async fn join(&self, claim: &Claim, policy: &Policy) -> Result<Joined> {
        self.join_at_once(claim, policy).await
    }

    async fn take(
        &self,
        claim: &Claim,
        draining: Option<&Draining>,
        policy: &Policy,
    ) -> Result<Taken> {
        self.take_a_round(claim, draining, policy).await
    }
}

impl Mongo {
    /// Takes a step that leaves a document to show, and looks whether it is a lease's.
    pub(crate) async fn shown(&self, name: &Name, step: Step) -> Result<Document> {
        let shown = self.looked(name, step).await?;
        shown.ok_or_else(|| nonsense("the server showed no document after an upsert"))
    }

    /// Takes a step, and looks whether the document is a lease's; nothing if there is none.
    async fn looked(&self, name: &Name, step: Step) -> Result<Option<Document>> {
        let shown = self.place().step(name, step).await?;
        if let Some(shown) = &shown {
            is_sound(name, shown)?;
        }
        Ok(shown)
    }
}

/// All of a document, and the server's time.
fn whole() -> Document {
    doc! {
        "v": 1, "epoch": 1, "freed": 1, "x": 1, "w": 1, "odd": 1,
        "sound": pipelines::sound(), "now": "$$NOW",
    }
}

fn snapshot(name: &Name, document: Option<&Document>) -> Result<Snapshot> {
    match document {
        Some(document) => Lease::read(name, document)?.snapshot(),
        None => Ok(Snapshot {
            epoch: Epoch::default(),
            anchor: Revision::new("never used"),
            exclusive: None,
            writers: Vec::new(),
        }),
    }
}

fn is_mine(exclusive: &Bson, nonce: Nonce) -> bool {
    let there = exclusive.as_document().and_then(|record| record.get_str("nonce").ok());
    there.is_some_and(|there| there == nonce.to_string())
}

/// The revision of one's own record.
fn own_revision(name: &Name, record: &Bson) -> Result<Revision> {
    let record = record.as_document().ok_or_else(|| damaged(name))?;
    let at = number(record, "beat").ok_or_else(|| damaged(name))?;
    Ok(revision(at, record.contains_key("granted")))
}
