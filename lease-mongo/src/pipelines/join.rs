//! The writer's handshake in one update: granted, or refused with nothing left behind.

use lease_core::{Claim, Nonce, Policy, Takeover};
use mongodb::bson::{Document, doc};

use super::expr::{
    begin, end, exclusive, exclusive_id, find_out, found, freeing, if_so, is_spent, sound,
    spending, writer_after, writers_array, writers_without,
};
use super::take::may_follow;
use crate::record::{millis, new_record};

/// After how many of its ttls a writer that fell silent is swept up by whoever joins: the document
/// of a name that is never taken exclusively would grow for ever.
const SWEPT_AFTER: i64 = 4;

/// How long nobody sweeps again: it goes through all writers.
const SWEPT_EVERY_MS: i64 = 10_000;

/// Whether this attempt goes through the whole handshake in any case: one in sixteen does, so that
/// what has fallen silent is swept up.
pub(crate) fn is_sweeper(nonce: Nonce) -> bool {
    nonce.to_string().starts_with('0')
}

/// The part of the handshake that is the usual one: granted if no exclusive is there, and else nothing
/// is changed. It costs the server half of the whole, which most of it spends on reading.
pub(crate) fn join_if_free(claim: &Claim) -> Vec<Document> {
    let nonce = claim.nonce.to_string();
    let goes = doc! { "$and": [
        sound(),
        { "$eq": [{ "$type": "$x" }, "null"] },
        { "$ne": [{ "$type": format!("$w.{nonce}.epoch") }, "long"] },
        { "$not": [is_spent(claim.nonce)] },
    ] };
    let mut record = new_record(claim);
    record.insert("epoch", "$epoch");
    record.insert("over", false);
    let with = doc! { "$mergeObjects": ["$w", { nonce: record }] };
    vec![begin(), doc! { "$set": { "w": { "$cond": [goes, with, "$w"] } } }]
}

/// The whole handshake.
pub(crate) fn join(claim: &Claim, policy: &Policy) -> Vec<Document> {
    let nonce = claim.nonce.to_string();
    // Only a grant has an epoch: a record without one was never checked for an exclusive.
    let granted = doc! { "$eq": [{ "$type": format!("$w.{nonce}.epoch") }, "long"] };
    let free = doc! { "$eq": [found("x"), "none"] };
    let follows = doc! { "$and": [found("go"), { "$ne": [found("x"), "none"] }] };
    let gone = doc! { "$concatArrays": [
        if_so(follows.clone(), exclusive_id()), { "$cond": [found("sweeps"), silent(), []] },
    ] };
    let mut record = new_record(claim);
    record.insert("epoch", "$epoch");
    record.insert("over", follows.clone());
    let others = doc! { "$cond": [
        { "$gt": [{ "$size": found("gone") }, 0] }, writers_without(found("gone")), "$w",
    ] };
    vec![
        begin(),
        find_out(doc! { "sound": sound() }),
        find_out(doc! { "x": exclusive(), "granted": granted, "spent": is_spent(claim.nonce) }),
        // R11, R13: a stale exclusive blocks until it is cleared, which is this step or nothing.
        find_out(doc! { "go": { "$and": [
            found("sound"), { "$not": [found("granted")] }, { "$not": [found("spent")] },
            { "$or": [free, may_follow(policy, millis(claim.ttl))] },
        ] } }),
        find_out(doc! { "sweeps": { "$and": [found("go"), is_due(policy)] } }),
        find_out(doc! { "gone": gone }),
        doc! { "$set": {
            "x": { "$cond": [follows, null, "$x"] },
            "w": { "$cond": [
                found("go"), { "$mergeObjects": [others, { nonce: record }] }, "$w",
            ] },
            "spent": { "$cond": [found("go"), spending(found("gone")), "$spent"] },
            "freed": { "$cond": [found("go"), freeing(found("gone")), "$freed"] },
            "odd": odd_since(),
            "swept": { "$cond": [found("sweeps"), "$$NOW", "$swept"] },
        } },
        end(),
    ]
}

/// Whether it is time to sweep, for somebody whose policy allows it.
fn is_due(policy: &Policy) -> Document {
    if policy.writers == Takeover::Refuse {
        return doc! { "$literal": false };
    }
    let dated = doc! { "$eq": [{ "$type": "$swept" }, "date"] };
    let since = doc! { "$subtract": ["$$NOW", "$swept"] };
    doc! { "$cond": [dated, { "$gte": [since, SWEPT_EVERY_MS] }, true] }
}

/// The writers that are swept up.
fn silent() -> Document {
    let silent = doc! { "$eq": [writer_after("$$this.v", SWEPT_AFTER), "stale"] };
    let silent = doc! { "$filter": { "input": { "$objectToArray": "$w" }, "cond": silent } };
    doc! { "$map": { "input": silent, "in": "$$this.k" } }
}

/// Since when the exclusive is seen to be one that nobody can have written so.
fn odd_since() -> Document {
    let seen = doc! { "$and": [found("sound"), { "$eq": [found("x"), "odd"] }] };
    doc! { "$cond": [seen, { "$ifNull": ["$odd", "$$NOW"] }, "$odd"] }
}

/// What is to be known of the document afterwards.
pub(crate) fn shown(claim: &Claim) -> Document {
    doc! {
        "sound": sound(), "v": 1, "epoch": 1, "x": 1, "odd": 1, "now": "$$NOW",
        // Whoever is granted need not know.
        "count": { "$cond": [
            { "$eq": [{ "$type": "$x" }, "object"] }, { "$size": writers_array() }, 0,
        ] },
        "own": format!("$w.{}", claim.nonce),
    }
}
