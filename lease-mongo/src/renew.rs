//! Many renewals in one command, and which of them were lost.
//!
//! An `update` command carries a statement for each lease and tells two counts: how many matched,
//! and how many changed something. If both are the number of leases, each was renewed. Otherwise a
//! second request looks at which were: a record that carries this very beat is renewed, and no
//! other.

use std::collections::{BTreeSet, HashMap};

use lease_core::backend::Renewed;
use lease_core::{Error, Holding, LossReason, Mode, Result};
use mongodb::bson::{Bson, Document, doc};

use crate::error::translate_part;
use crate::record::{VERSION, beat, millis, number, revision, says};
use crate::store::{Place, check, concern, first_failure};

/// How many leases go in one command.
pub(crate) const BATCH: usize = 500;

/// Renews each on its own condition; answers in the same order.
pub(crate) async fn renew(place: &Place, mine: &[Holding]) -> Vec<Result<Renewed>> {
    if mine.is_empty() {
        return Vec::new();
    }
    match send(place, mine).await {
        Ok(Sent::All) => mine.iter().map(|one| Ok(renewed(one, false))).collect(),
        Ok(Sent::Some) => match look(place, mine).await {
            Ok(found) => mine.iter().map(|one| Ok(found.answer(one))).collect(),
            Err(error) => fail_each(mine.len(), &error),
        },
        Err(error) => fail_each(mine.len(), &error),
    }
}

/// What a batch came to.
enum Sent {
    /// Each was renewed, and no exclusive waits for any of the writers.
    All,
    /// Something is to be looked at.
    Some,
}

async fn send(place: &Place, mine: &[Holding]) -> Result<Sent> {
    let names: BTreeSet<&str> =
        mine.iter().filter(|one| one.mode == Mode::Writer).map(|one| one.name.as_str()).collect();
    let statements = mine.iter().map(statement).chain(names.into_iter().map(drain_probe));
    let answer = place
        .run(doc! {
            "update": &place.collection,
            "updates": statements.map(Bson::from).collect::<Vec<_>>(),
            // One that fails is no reason not to renew the others.
            "ordered": false,
            "writeConcern": concern(),
            "maxTimeMS": place.max_time(),
        })
        .await?;
    check(&answer)?;
    if let Some(first) = first_failure(&answer) {
        return Err(translate_part(first));
    }
    let all = i64::try_from(mine.len()).ok();
    let counted = |field: &str| number(&answer, field) == all;
    Ok(if counted("n") && counted("nModified") { Sent::All } else { Sent::Some })
}

/// R2, R8: only over one's own last acknowledged write or an unanswered one since; never an upsert.
fn statement(mine: &Holding) -> Document {
    let path = match mine.mode {
        Mode::Exclusive => "x".to_owned(),
        Mode::Writer => format!("w.{}", mine.nonce),
    };
    let of = |field: &str| format!("{path}.{field}");
    let known = beat(mine.acknowledged);
    let mut filter = doc! {
        "_id": mine.name.as_str(),
        "v": VERSION,
        of("beat"): { "$gte": known, "$lt": beat(mine.beat) },
        of("from"): { "$not": { "$gte": known } },
    };
    if mine.mode == Mode::Exclusive {
        filter.insert("x.nonce", mine.nonce.to_string());
    }
    let update = doc! {
        "$set": { of("beat"): beat(mine.beat), of("ttl"): millis(mine.ttl) },
        "$currentDate": { of("at"): true },
    };
    doc! { "q": filter, "u": update }
}

/// Matches, and changes nothing, if an exclusive is there: then the counts differ.
fn drain_probe(name: &str) -> Document {
    doc! {
        "q": { "_id": name, "v": VERSION, "x": { "$type": "object" } },
        "u": { "$set": { "v": VERSION } },
    }
}

/// Looks at the records after the batch was acknowledged.
async fn look(place: &Place, mine: &[Holding]) -> Result<Found> {
    let names: BTreeSet<&str> = mine.iter().map(|one| one.name.as_str()).collect();
    let mut shown = doc! {
        "v": 1, "x.nonce": 1, "x.beat": 1, "x.from": 1, "x.granted": 1,
        "excluded": { "$eq": [{ "$type": "$x" }, "object"] },
    };
    for one in mine.iter().filter(|one| one.mode == Mode::Writer) {
        shown.insert(format!("w.{}.beat", one.nonce), 1);
        shown.insert(format!("w.{}.from", one.nonce), 1);
    }
    let filter = doc! { "_id": { "$in": names.into_iter().collect::<Vec<_>>() } };
    let documents = place.find(filter, shown, "majority").await?;
    let named = documents.into_iter().filter_map(|document| {
        let name = document.get_str("_id").ok()?.to_owned();
        Some((name, document))
    });
    Ok(Found(named.collect()))
}

/// The documents by their names.
struct Found(HashMap<String, Document>);

impl Found {
    fn answer(&self, mine: &Holding) -> Renewed {
        let Some(document) = self.0.get(mine.name.as_str()) else {
            return Renewed::Lost(LossReason::StateGone);
        };
        let nonce = mine.nonce.to_string();
        let own = match mine.mode {
            Mode::Exclusive => document
                .get_document("x")
                .ok()
                .filter(|record| record.get_str("nonce").is_ok_and(|there| there == nonce)),
            Mode::Writer => {
                document.get_document("w").and_then(|writers| writers.get_document(&nonce)).ok()
            }
        };
        let Some(own) = own else { return Renewed::Lost(LossReason::Displaced) };
        if number(own, "from") >= Some(beat(mine.acknowledged)) {
            return Renewed::Lost(LossReason::HandedOver);
        }
        if number(own, "beat") != Some(beat(mine.beat)) {
            return Renewed::Lost(LossReason::Displaced);
        }
        let drain = mine.mode == Mode::Writer && says(document, "excluded");
        match renewed(mine, drain) {
            // The commit whose answer was lost is seen here.
            Renewed::Renewed { .. } if mine.mode == Mode::Exclusive => Renewed::Renewed {
                revision: revision(beat(mine.beat), own.contains_key("granted")),
                drain,
            },
            answer => answer,
        }
    }
}

fn renewed(mine: &Holding, drain: bool) -> Renewed {
    let granted = mine.mode == Mode::Exclusive && mine.epoch.is_some();
    Renewed::Renewed { revision: revision(beat(mine.beat), granted), drain }
}

/// One error for each, as there is one answer for each.
fn fail_each(count: usize, error: &Error) -> Vec<Result<Renewed>> {
    (0..count).map(|_| Err(crate::error::again(error))).collect()
}
