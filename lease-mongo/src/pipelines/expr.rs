//! What the pipelines are made of: the questions that a step asks of a lease document.
//!
//! Each function gives an aggregation expression. Whatever a user has chosen is wrapped in
//! `$literal`, for a string that starts with a dollar is an expression elsewhere. Nonces become
//! field paths, and are 32 hex digits.

use lease_core::{Epoch, Judged, Nonce, Target, Timing};
use mongodb::bson::{Bson, Document, doc};

use crate::record::{self, ODD_REVISION, VERSION};

/// Where a pipeline keeps what it has found out, until its last stage removes it.
pub(crate) const STEP: &str = "leasehold_step";

/// How many removals a name surely remembers (rule R19); at the most twice as many.
pub(super) const REMEMBERED: i32 = 128;

/// What stands for the nonce of an exclusive that has none.
const NO_NONCE: &str = "00000000000000000000000000000000";

/// A document that holds nothing but its name becomes a lease document. Its epoch starts at the
/// server's clock in microseconds, so that one that was erased does not start again below.
pub(crate) fn begin() -> Document {
    let start = doc! { "$multiply": [{ "$toLong": "$$NOW" }, 1000_i64] };
    let empty = || doc! { "$literal": {} };
    doc! { "$replaceWith": { "$cond": [new(), { "$mergeObjects": ["$$ROOT", {
        "v": VERSION, "epoch": start, "freed": 0_i64, "x": null, "w": empty(),
        "spent": { "a": empty(), "b": empty(), "n": 0 },
    }] }, "$$ROOT"] } }
}

/// Whether there is only a name yet. Of most documents the first question says enough, and the second
/// goes through all of them.
fn new() -> Document {
    doc! { "$and": [
        { "$eq": [{ "$type": "$epoch" }, "missing"] },
        { "$eq": [{ "$size": { "$objectToArray": "$$ROOT" } }, 1] },
    ] }
}

/// Whether a step may be taken here at all: on nothing that somebody else keeps.
pub(crate) fn sound() -> Document {
    let is = |field: &str, kind: &str| doc! { "$eq": [{ "$type": field }, kind] };
    doc! { "$and": [
        { "$eq": ["$v", VERSION] },
        is("$epoch", "long"),
        { "$in": [{ "$type": "$x" }, ["object", "null"]] },
        is("$w", "object"),
        is("$spent.a", "object"),
        is("$spent.b", "object"),
        { "$isNumber": "$spent.n" },
        { "$isNumber": "$freed" },
    ] }
}

/// The same in a projection of what was there before the step.
pub(crate) fn was_sound() -> Document {
    doc! { "$or": [sound(), new()] }
}

/// The stage that remembers these findings; later ones may use earlier ones' stages.
pub(crate) fn find_out(what: Document) -> Document {
    let named = what.into_iter().map(|(name, value)| (format!("{STEP}.{name}"), value));
    doc! { "$set": named.collect::<Document>() }
}

/// A finding.
pub(crate) fn found(name: &str) -> String {
    format!("${STEP}.{name}")
}

/// The last stage of each pipeline.
pub(crate) fn end() -> Document {
    doc! { "$unset": STEP }
}

/// How the exclusive stands: `none`, or as [`standing`] says.
pub(crate) fn exclusive() -> Document {
    let nonce = doc! { "$ne": [exclusive_id(), NO_NONCE] };
    doc! { "$cond": [{ "$eq": [{ "$ifNull": ["$x", null] }, null] }, "none",
    standing("$x", Some(nonce), 1)] }
}

/// How a writer's record stands.
pub(crate) fn writer(path: &str) -> Document {
    standing(path, None, 1)
}

/// The same, but `stale` only after this many of its ttls.
pub(crate) fn writer_after(path: &str, ttls: i64) -> Document {
    standing(path, None, ttls)
}

/// `fresh`, `stale`, `newer` where a later version wrote the record, or `odd` where nobody can have
/// written it so. The twin of `record::Kind::of`.
fn standing(path: &str, also: Option<Document>, ttls: i64) -> Document {
    let of = |field: &str| format!("{path}.{field}");
    let longest = record::millis(Timing::MAX_TTL);
    let mut readable = vec![
        doc! { "$eq": [of("v"), VERSION] },
        doc! { "$eq": [{ "$type": of("ttl") }, "long"] },
        doc! { "$eq": [{ "$type": of("beat") }, "long"] },
        doc! { "$eq": [{ "$type": of("at") }, "date"] },
        doc! { "$gt": [of("ttl"), 0] },
        doc! { "$lte": [of("ttl"), longest] },
        doc! { "$lte": [{ "$subtract": [of("at"), "$$NOW"] }, longest] },
    ];
    readable.extend(also);
    let lived = doc! { "$subtract": ["$$NOW", of("at")] };
    let lives = match ttls {
        1 => Bson::String(of("ttl")),
        more => doc! { "$multiply": [of("ttl"), more] }.into(),
    };
    doc! { "$switch": { "branches": [
        { "case": { "$and": [{ "$isNumber": of("v") }, { "$gt": [of("v"), VERSION] }] },
          "then": "newer" },
        { "case": { "$not": [{ "$and": readable }] }, "then": "odd" },
        { "case": { "$gte": [lived, lives] }, "then": "stale" },
    ], "default": "fresh" } }
}

/// The exclusive's nonce, or a stand-in for one that has none.
pub(crate) fn exclusive_id() -> Document {
    let text = doc! { "$cond": [{ "$eq": [{ "$type": "$x.nonce" }, "string"] }, "$x.nonce", ""] };
    let hex = doc! { "$regexMatch": { "input": text, "regex": "^[0-9a-f]{32}$" } };
    doc! { "$cond": [hex, "$x.nonce", NO_NONCE] }
}

/// Whether the exclusive is this one.
pub(crate) fn is_exclusive(nonce: Nonce) -> Document {
    doc! { "$and": [{ "$eq": [{ "$type": "$x" }, "object"] },
    { "$eq": [exclusive_id(), nonce.to_string()] }] }
}

/// Whether this writer is there.
pub(crate) fn is_writer(nonce: Nonce) -> Document {
    doc! { "$ne": [{ "$type": format!("$w.{nonce}") }, "missing"] }
}

/// Whether a record that stands so may be cleared away by somebody with this ttl. What is odd has
/// no ttl of its own, and goes once it has been seen so for that long.
pub(crate) fn has_ended(standing: impl Into<Bson>, asker_ttl: i64) -> Document {
    let standing = standing.into();
    let seen = doc! { "$gte": [{ "$subtract": ["$$NOW", "$odd"] }, asker_ttl] };
    doc! { "$or": [
        { "$eq": [standing.clone(), "stale"] },
        { "$and": [
            { "$eq": [standing, "odd"] }, { "$eq": [{ "$type": "$odd" }, "date"] }, seen,
        ] },
    ] }
}

/// Whether the record at `path` may be removed at this step, on that evidence (rule R9).
pub(crate) fn is_condemned(
    path: &str,
    standing: Document,
    target: &Target,
    judged: Judged,
) -> Document {
    if judged == Judged::ByStore {
        return doc! { "$eq": [standing, "stale"] };
    }
    if target.revision.as_str() == ODD_REVISION {
        return doc! { "$eq": [standing, "odd"] };
    }
    let Some((beat, granted)) = record::parse_revision(&target.revision) else {
        return doc! { "$literal": false };
    };
    let is_granted = doc! { "$ne": [{ "$type": format!("{path}.granted") }, "missing"] };
    doc! { "$and": [
        { "$in": [standing, ["fresh", "stale"]] },
        { "$eq": [format!("{path}.beat"), beat] },
        { "$eq": [is_granted, granted] },
    ] }
}

/// Whether the record at `path` still belongs to a process that knows of this beat, and was not
/// handed to another since.
pub(crate) fn is_not_handed_over(path: &str, acknowledged: i64) -> Document {
    doc! { "$lt": [{ "$ifNull": [format!("{path}.from"), -1_i64] }, acknowledged] }
}

/// Whether this nonce was removed here before (rule R19).
pub(crate) fn is_spent(nonce: Nonce) -> Document {
    let short = shortened(nonce);
    let known =
        |half: &str| doc! { "$ne": [{ "$type": format!("$spent.{half}.{short}") }, "missing"] };
    doc! { "$or": [known("a"), known("b")] }
}

/// How much of a spent nonce is kept. Another nonce that starts with the same 64 bits is taken for
/// spent as well, and its attempt starts again with the next.
const SHORT: usize = 16;

/// What is kept of a spent nonce.
pub(super) fn shortened(nonce: Nonce) -> String {
    nonce.to_string()[..SHORT].to_owned()
}

/// What `spent` and `freed` become when the records of these nonces are removed.
///
/// Two halves take turns: when one is full the other is forgotten. So what is kept is bounded, and
/// adding to it does not go through all of it.
pub(crate) fn spending(nonces: impl Into<Bson>) -> Document {
    let short = i32::try_from(SHORT).unwrap_or(i32::MAX);
    let entry = doc! { "k": { "$substrCP": ["$$this", 0, short] }, "v": true };
    let added = doc! { "$arrayToObject": { "$map": { "input": "$$gone", "in": entry } } };
    let count = doc! { "$add": ["$spent.n", "$$count"] };
    doc! { "$let": { "vars": { "gone": nonces.into() }, "in": { "$let": {
        "vars": { "count": { "$size": "$$gone" } },
        "in": { "$switch": { "branches": [
            { "case": { "$eq": ["$$count", 0] }, "then": "$spent" },
            { "case": { "$gt": [count.clone(), REMEMBERED] },
              "then": { "a": added.clone(), "b": "$spent.a", "n": "$$count" } },
        ], "default": {
            "a": { "$mergeObjects": ["$spent.a", added] }, "b": "$spent.b", "n": count,
        } } },
    } } } }
}

/// The counter that wakes waiters: it moves when something is removed, and with nothing else.
pub(crate) fn freeing(nonces: impl Into<Bson>) -> Document {
    doc! { "$let": { "vars": { "gone": { "$size": nonces.into() } },
    "in": { "$cond": [{ "$eq": ["$$gone", 0] }, "$freed", { "$add": ["$freed", "$$gone"] }] } } }
}

/// An array with this in it, or nothing in it.
pub(crate) fn if_so(is: impl Into<Bson>, nonce: impl Into<Bson>) -> Document {
    doc! { "$cond": [is.into(), [nonce.into()], []] }
}

/// The epoch after this one, and whether there is one.
pub(crate) fn next_epoch() -> (Document, Document) {
    let last = i64::try_from(Epoch::MAX.get()).unwrap_or(i64::MAX);
    (doc! { "$add": ["$epoch", 1_i64] }, doc! { "$lt": ["$epoch", last] })
}

/// The writers without these.
pub(crate) fn writers_without(keys: impl Into<Bson>) -> Document {
    let stays = doc! { "$not": [{ "$in": ["$$this.k", keys.into()] }] };
    doc! { "$arrayToObject": { "$filter": { "input": { "$objectToArray": "$w" }, "cond": stays } } }
}

/// The writers without this one.
pub(crate) fn writers_but(nonce: Nonce) -> Document {
    let field = doc! { "$literal": nonce.to_string() };
    doc! { "$setField": { "field": field, "input": "$w", "value": "$$REMOVE" } }
}

/// The writers as an array, also of a document that is not a lease's.
pub(crate) fn writers_array() -> Document {
    let is = doc! { "$eq": [{ "$type": "$w" }, "object"] };
    doc! { "$cond": [is, { "$objectToArray": "$w" }, []] }
}
