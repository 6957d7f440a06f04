//! The exclusive's handshake in one update: install or renew, drain, and commit if drained.

use lease_core::{Claim, Holding, Policy, ProcessId, Takeover};
use mongodb::bson::{Bson, Document, doc};

use super::expr::{
    begin, end, exclusive, exclusive_id, find_out, found, freeing, has_ended, if_so, is_exclusive,
    is_not_handed_over, is_spent, next_epoch, sound, spending, writer, writers_array,
    writers_without,
};
use crate::record::{beat, info_to_bson, millis, new_record};

/// The part of a first round that is the usual one: granted if nobody is there, draining if all who
/// are there are writers that live; and else nothing is changed. It costs the server a third of the
/// whole, which most of it spends on reading.
pub(crate) fn take_if_free(claim: &Claim) -> Vec<Document> {
    let empty = doc! { "$eq": ["$w", { "$literal": {} }] };
    let (next, is_there) = next_epoch();
    let lives = doc! { "$map": { "input": { "$objectToArray": "$w" },
    "in": { "$eq": [writer("$$this.v"), "fresh"] } } };
    let goes = doc! { "$and": [
        sound(),
        { "$eq": [{ "$type": "$x" }, "null"] },
        // What is odd is for the whole to look at, and so is what is odd no longer.
        { "$eq": [{ "$type": "$odd" }, "missing"] },
        { "$not": [is_spent(claim.nonce)] },
        is_there,
        { "$or": [empty.clone(), { "$allElementsTrue": [lives] }] },
    ] };
    let mut record = new_record(claim);
    record.insert("nonce", claim.nonce.to_string());
    record.insert("over", false);
    record.insert("granted", doc! { "$cond": [empty, next, "$$REMOVE"] });
    // R20: the epoch rises at the commit, which this is if there is no writer. No grant that was there
    // before is above it. The document is not put together anew, for most of it is what is remembered of
    // those that were released.
    let grants = doc! { "$and": [
        { "$eq": ["$x.nonce", claim.nonce.to_string()] },
        { "$eq": [{ "$type": "$epoch" }, "long"] },
        { "$gt": ["$x.granted", "$epoch"] },
    ] };
    vec![
        begin(),
        doc! { "$set": { "x": { "$cond": [goes, record, "$x"] } } },
        doc! { "$set": { "epoch": { "$cond": [grants, "$x.granted", "$epoch"] } } },
    ]
}

/// One round. `round` is one's own record with the beat of this round; the first has none.
pub(crate) fn take(claim: &Claim, round: Option<&Holding>, policy: &Policy) -> Vec<Document> {
    let mut stages = Vec::new();
    if round.is_none() {
        stages.push(begin());
    }
    stages.extend([
        find_out(doc! { "sound": sound() }),
        find_out(standings(claim)),
        find_out(verdicts(claim, round, policy)),
        find_out(doc! { "stuck": is_stuck() }),
        find_out(doc! {
            "take": { "$and": [found("may_take"), { "$not": [found("stuck")] }] },
            "leave": { "$and": [found("holds"), found("stuck")] },
            "got": { "$and": [
                { "$or": [found("may_take"), found("holds")] }, { "$not": [found("stuck")] },
            ] },
        }),
        find_out(doc! { "gone": removed(claim) }),
        doc! { "$set": {
            "x": exclusive_after(claim, round),
            "w": { "$cond": [clears_writers(), writers_without(found("ended")), "$w"] },
            "spent": spending_if_sound(),
            "freed": { "$cond": [found("sound"), freeing(found("gone")), "$freed"] },
        } },
        commit(),
        doc! { "$set": { "odd": odd_since() } },
        end(),
    ]);
    stages
}

/// Every record's standing, and whether we have been here before.
fn standings(claim: &Claim) -> Document {
    let one = doc! { "k": "$$this.k", "is": writer("$$this.v") };
    let each = doc! { "$map": { "input": { "$objectToArray": "$w" }, "in": one } };
    doc! {
        "x": exclusive(),
        "mine": is_exclusive(claim.nonce),
        "spent": is_spent(claim.nonce),
        "writers": { "$cond": [found("sound"), each, []] },
    }
}

fn verdicts(claim: &Claim, round: Option<&Holding>, policy: &Policy) -> Document {
    let ttl = millis(claim.ttl);
    let free = doc! { "$eq": [found("x"), "none"] };
    let may_take = match round {
        // R12: over exactly what is stale, or nothing, at this very step.
        None => doc! { "$and": [
            found("sound"), { "$not": [found("mine")] }, { "$not": [found("spent")] },
            { "$or": [free, may_follow(policy, ttl)] },
        ] },
        Some(_) => doc! { "$literal": false },
    };
    let holds = match round {
        None => doc! { "$and": [found("sound"), found("mine")] },
        Some(mine) => doc! { "$and": [found("sound"), found("mine"),
            { "$gte": ["$x.beat", beat(mine.acknowledged)] },
            { "$lte": ["$x.beat", beat(mine.beat)] },
            is_not_handed_over("$x", beat(mine.acknowledged)),
        ] },
    };
    let ended = match policy.writers {
        Takeover::Expired => has_ended("$$this.is", ttl),
        Takeover::Refuse => doc! { "$literal": false },
    };
    let some = |is: Document| doc! { "$filter": { "input": found("writers"), "cond": is } };
    doc! {
        "may_take": may_take,
        "holds": holds,
        "ended": { "$map": { "input": some(ended.clone()), "in": "$$this.k" } },
        "left": some(doc! { "$not": [ended] }),
    }
}

/// Whether the exclusive that is there may be followed without asking anybody.
pub(super) fn may_follow(policy: &Policy, ttl: i64) -> Document {
    let own_name = |name: &str| {
        let same = doc! { "$eq": ["$x.info.stable", { "$literal": name }] };
        doc! { "$and": [same, { "$eq": [found("x"), "stale"] }] }
    };
    match (policy.exclusive, &policy.readopt) {
        (Takeover::Expired, _) => has_ended(found("x"), ttl),
        (Takeover::Refuse, Some(name)) => own_name(name),
        (Takeover::Refuse, None) => doc! { "$literal": false },
    }
}

/// Whether only expired writers are left, which the policy leaves to an operator: while we waited
/// for them the others would be kept out for nothing.
fn is_stuck() -> Document {
    let others = doc! { "$ne": ["$$this.is", "stale"] };
    let others = doc! { "$filter": { "input": found("left"), "cond": others } };
    doc! { "$and": [
        { "$gt": [{ "$size": found("left") }, 0] }, { "$eq": [{ "$size": others }, 0] },
    ] }
}

fn clears_writers() -> Document {
    doc! { "$and": [found("got"), { "$gt": [{ "$size": found("ended") }, 0] }] }
}

/// The nonces whose records this round removes.
fn removed(claim: &Claim) -> Document {
    let followed = doc! { "$and": [found("take"), { "$ne": [found("x"), "none"] }] };
    doc! { "$concatArrays": [
        if_so(followed, exclusive_id()),
        if_so(found("leave"), claim.nonce.to_string()),
        { "$cond": [found("got"), found("ended"), []] },
    ] }
}

fn spending_if_sound() -> Document {
    doc! { "$cond": [found("sound"), spending(found("gone")), "$spent"] }
}

fn exclusive_after(claim: &Claim, round: Option<&Holding>) -> Document {
    // Also what is to be remembered if this answer is lost.
    let over = doc! { "$gt": [{ "$size": found("gone") }, 0] };
    let mut record = new_record(claim);
    record.insert("nonce", claim.nonce.to_string());
    record.insert("over", over.clone());
    let mut kept = doc! { "over": { "$or": [{ "$eq": ["$x.over", true] }, over] } };
    if let Some(mine) = round {
        // The same round again counts from when it was first there.
        let again = doc! { "$eq": ["$x.beat", beat(mine.beat)] };
        kept.insert("at", doc! { "$cond": [again, "$x.at", "$$NOW"] });
        kept.insert("beat", beat(mine.beat));
        kept.insert("ttl", millis(mine.ttl));
    }
    doc! { "$switch": { "branches": [
        { "case": found("take"), "then": record },
        { "case": found("leave"), "then": null },
        { "case": found("got"), "then": { "$mergeObjects": ["$x", kept] } },
    ], "default": "$x" } }
}

/// R20: the epoch rises here and nowhere earlier; and only when no writer at all is left.
fn commit() -> Document {
    let (next, is_there) = next_epoch();
    let grants = doc! { "$and": [
        found("got"),
        { "$eq": [{ "$size": found("left") }, 0] },
        { "$eq": [{ "$type": "$x.granted" }, "missing"] },
        is_there,
    ] };
    doc! { "$set": {
        "epoch": { "$cond": [grants.clone(), next.clone(), "$epoch"] },
        "x": { "$cond": [grants, { "$mergeObjects": ["$x", { "granted": next }] }, "$x"] },
    } }
}

/// Since when records are seen that nobody can have written so: they have no age of their own.
fn odd_since() -> Document {
    let odd = doc! { "$eq": ["$$this.is", "odd"] };
    let writers = doc! { "$filter": { "input": found("left"), "cond": odd } };
    let exclusive = doc! { "$and": [{ "$eq": [found("x"), "odd"] }, { "$not": [found("take")] }] };
    let any = doc! { "$or": [exclusive, { "$gt": [{ "$size": writers }, 0] }] };
    let since = doc! { "$cond": [any, { "$ifNull": ["$odd", "$$NOW"] }, "$$REMOVE"] };
    doc! { "$cond": [found("sound"), since, "$odd"] }
}

/// What is to be known of the document afterwards. `here` is this machine, whose dead processes
/// need not be waited for.
pub(crate) fn shown(here: Option<&ProcessId>) -> Document {
    // An expired one is told of first: the grace counts for whoever saw it.
    let is_expired = doc! { "$eq": [writer("$$this.v"), "stale"] };
    let expired = doc! { "$filter": { "input": writers_array(), "cond": is_expired } };
    let in_turn = doc! { "$concatArrays": [expired.clone(), writers_array()] };
    let mut fields = shown_if_free(here);
    fields.insert("first", doc! { "$arrayElemAt": [in_turn, 0] });
    let some_live = doc! { "$gt": [{ "$size": writers_array() }, { "$size": expired }] };
    fields.insert("some_live", some_live);
    fields
}

/// The same after [`take_if_free`]: where that leaves nothing to decide, no writer has expired. The
/// server takes longer to read such questions than to answer them.
pub(crate) fn shown_if_free(here: Option<&ProcessId>) -> Document {
    let mut fields = doc! {
        "sound": sound(), "v": 1, "epoch": 1, "x": 1, "odd": 1, "now": "$$NOW",
        "count": { "$size": writers_array() },
        "first": { "$arrayElemAt": [writers_array(), 0] },
    };
    if let Some(here) = here {
        let process = info_to_bson_process(here);
        let same = |field: &str| {
            let wanted = process.get(field).cloned().unwrap_or(Bson::Null);
            doc! { "$eq": [format!("$$this.v.info.process.{field}"), { "$literal": wanted }] }
        };
        let cond = doc! { "$and": [same("boot"), same("namespace")] };
        fields.insert("here", doc! { "$filter": { "input": writers_array(), "cond": cond } });
    }
    fields
}

fn info_to_bson_process(process: &ProcessId) -> Document {
    let mut info = lease_core::HolderInfo::default();
    info.process = Some(process.clone());
    info_to_bson(&info).get_document("process").cloned().unwrap_or_default()
}
