//! The single steps of the protocol, for whoever goes through the handshake one by one, and those
//! that a holder and an operator take.

use lease_core::{BreakNote, Claim, HolderInfo, Holding, Judged, Mode, Nonce, Target};
use mongodb::bson::{Bson, Document, doc};

use super::expr::{
    REMEMBERED, begin, end, exclusive, exclusive_id, find_out, found, freeing, if_so, is_condemned,
    is_exclusive, is_not_handed_over, is_spent, is_writer, next_epoch, shortened, sound, spending,
    was_sound, writer, writers_but,
};
use crate::record::{VERSION, beat, info_to_bson, millis, new_record};

/// An update of one document, and what is to be told of it.
#[derive(Debug)]
pub(crate) struct Step {
    /// The update.
    pub(crate) pipeline: Vec<Document>,
    /// What is told.
    pub(crate) shown: Document,
    /// Of the document as it was before, or as it is after.
    pub(crate) of: Image,
    /// Whether the document is made if it is not there.
    pub(crate) creates: bool,
}

/// Which state of the document an answer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Image {
    /// What the step found.
    Before,
    /// What it left.
    After,
}

/// Creates a writer's record, whatever else is there.
pub(crate) fn register(claim: &Claim) -> Step {
    let nonce = claim.nonce.to_string();
    let goes = doc! { "$and": [
        sound(), { "$not": [is_writer(claim.nonce)] }, { "$not": [is_spent(claim.nonce)] },
    ] };
    let with = doc! { "$mergeObjects": ["$w", { &nonce: new_record(claim) }] };
    Step {
        pipeline: vec![begin(), doc! { "$set": { "w": { "$cond": [goes, with, "$w"] } } }],
        shown: doc! { "sound": sound(), "v": 1, "own": format!("$w.{nonce}") },
        of: Image::After,
        creates: true,
    }
}

/// Makes the claim the exclusive record, draining.
pub(crate) fn install(claim: &Claim, over: Option<(&Target, Judged)>) -> Step {
    let followed = match over {
        None => doc! { "$literal": false },
        Some((target, judged)) => doc! { "$and": [
            is_exclusive(target.nonce), is_condemned("$x", exclusive(), target, judged),
        ] },
    };
    let mut record = new_record(claim);
    record.insert("nonce", claim.nonce.to_string());
    record.insert("over", doc! { "$gt": [{ "$size": found("gone") }, 0] });
    let occupied = doc! { "$eq": [{ "$type": "$x" }, "object"] };
    let pipeline = vec![
        begin(),
        find_out(doc! { "go": { "$and": [
            sound(),
            { "$not": [is_exclusive(claim.nonce)] },
            { "$not": [is_spent(claim.nonce)] },
            { "$or": [{ "$not": [occupied.clone()] }, followed] },
        ] } }),
        find_out(doc! {
            "gone": if_so(doc! { "$and": [found("go"), occupied] }, exclusive_id()),
        }),
        doc! { "$set": {
            "x": { "$cond": [found("go"), record, "$x"] },
            "spent": { "$cond": [found("go"), spending(found("gone")), "$spent"] },
            "freed": { "$cond": [found("go"), freeing(found("gone")), "$freed"] },
        } },
        end(),
    ];
    let shown = doc! { "sound": sound(), "v": 1, "x": 1 };
    Step { pipeline, shown, of: Image::After, creates: true }
}

/// Grants the exclusive that was installed.
pub(crate) fn commit(mine: &Holding) -> Step {
    let (next, is_there) = next_epoch();
    let own = doc! { "$and": [
        is_exclusive(mine.nonce), is_not_handed_over("$x", beat(mine.acknowledged)),
    ] };
    let goes = doc! { "$and": [
        sound(), own.clone(), { "$eq": [{ "$type": "$x.granted" }, "missing"] }, is_there,
    ] };
    let with = doc! { "$mergeObjects": ["$x", { "granted": next.clone() }] };
    Step {
        pipeline: vec![
            find_out(doc! { "go": goes }),
            doc! { "$set": {
                "epoch": { "$cond": [found("go"), next, "$epoch"] },
                "x": { "$cond": [found("go"), with, "$x"] },
            } },
            end(),
        ],
        shown: doc! { "sound": sound(), "v": 1, "epoch": 1, "x": 1, "own": own },
        of: Image::After,
        creates: false,
    }
}

/// Removes one's own record, by nonce, if it is there and its nonce can be remembered without making
/// room: the usual end of a lease, in operators that cost the server a fraction of [`withdraw`].
pub(crate) fn leave(mine: &Holding) -> Leaving {
    let nonce = mine.nonce.to_string();
    let is = |kind: &str| doc! { "$type": kind };
    // As `sound` asks it.
    let mut filter = doc! {
        "_id": mine.name.as_str(), "v": VERSION, "epoch": is("long"), "w": is("object"),
        "spent.a": is("object"), "spent.b": is("object"),
        "spent.n": { "$type": "number", "$lt": REMEMBERED }, "freed": is("number"),
    };
    let short = format!("spent.a.{}", shortened(mine.nonce));
    let mut update = doc! { "$set": { short: true }, "$inc": { "spent.n": 1, "freed": 1_i64 } };
    match mine.mode {
        Mode::Exclusive => {
            filter.insert("x", is("object"));
            filter.insert("x.nonce", nonce);
            if let Ok(set) = update.get_document_mut("$set") {
                set.insert("x", Bson::Null);
            }
        }
        Mode::Writer => {
            filter.insert("x", doc! { "$type": ["object", "null"] });
            let own = format!("w.{nonce}");
            filter.insert(&own, doc! { "$exists": true });
            update.insert("$unset", doc! { own: "" });
        }
    }
    Leaving { filter, update }
}

/// An update that is made if the document is just so, and else is not.
#[derive(Debug)]
pub(crate) struct Leaving {
    /// How the document must be.
    pub(crate) filter: Document,
    /// The update, in operators.
    pub(crate) update: Document,
}

/// Removes one's own record, by nonce. One that is not there is spent all the same, for its
/// creation may still be on its way.
pub(crate) fn withdraw(mine: &Holding) -> Step {
    let nonce = mine.nonce.to_string();
    let pipeline = vec![
        begin(),
        find_out(doc! { "sound": sound() }),
        find_out(doc! {
            "x": { "$and": [found("sound"), is_exclusive(mine.nonce)] },
            "w": { "$and": [found("sound"), is_writer(mine.nonce)] },
            "spent": is_spent(mine.nonce),
        }),
        find_out(doc! {
            "gone": if_so(doc! { "$or": [found("x"), found("w")] }, nonce.as_str()),
            "new": if_so(
                doc! { "$and": [found("sound"), { "$not": [found("spent")] }] }, nonce.as_str(),
            ),
        }),
        doc! { "$set": {
            "x": { "$cond": [found("x"), null, "$x"] },
            "w": { "$cond": [found("w"), writers_but(mine.nonce), "$w"] },
            "spent": { "$cond": [found("sound"), spending(found("new")), "$spent"] },
            "freed": { "$cond": [found("sound"), freeing(found("gone")), "$freed"] },
        } },
        end(),
    ];
    let there = doc! { "$or": [is_exclusive(mine.nonce), is_writer(mine.nonce)] };
    let shown = doc! { "sound": was_sound(), "v": 1, "there": there };
    Step { pipeline, shown, of: Image::Before, creates: true }
}

/// Removes somebody's record on that evidence.
pub(crate) fn evict(target: &Target, judged: Judged) -> Step {
    let nonce = target.nonce;
    let condemned = match target.mode {
        Mode::Exclusive => doc! { "$and": [
            sound(), is_exclusive(nonce), is_condemned("$x", exclusive(), target, judged),
        ] },
        Mode::Writer => {
            let path = format!("$w.{nonce}");
            let condemned = is_condemned(&path, writer(&path), target, judged);
            doc! { "$and": [sound(), is_writer(nonce), condemned] }
        }
    };
    let removal = match target.mode {
        Mode::Exclusive => doc! { "x": { "$cond": [found("go"), null, "$x"] } },
        Mode::Writer => doc! { "w": { "$cond": [found("go"), writers_but(nonce), "$w"] } },
    };
    let pipeline =
        vec![find_out(doc! { "go": condemned.clone() }), removing(nonce, removal), end()];
    let shown = doc! { "sound": was_sound(), "v": 1, "condemned": condemned };
    Step { pipeline, shown, of: Image::Before, creates: false }
}

/// Removes exactly the record of this nonce, and raises the epoch above a granted exclusive's. Of
/// one that cannot be read nobody knows whether it was granted: it is fenced too.
pub(crate) fn break_record(nonce: Nonce, note: &BreakNote) -> Step {
    let exclusive_hit = doc! { "$and": [sound(), is_exclusive(nonce)] };
    let writer_hit = doc! { "$and": [sound(), is_writer(nonce)] };
    let granted = doc! { "$or": [
        { "$ne": [{ "$type": "$x.granted" }, "missing"] },
        { "$in": [exclusive(), ["odd", "newer"]] },
    ] };
    let (next, is_there) = next_epoch();
    let raises = doc! { "$and": [exclusive_hit.clone(), granted, is_there] };
    let hit = doc! { "$or": [exclusive_hit.clone(), writer_hit.clone()] };
    let note = doc! {
        "by": { "$literal": &note.by }, "why": { "$literal": &note.why },
        "at_ms": i64::try_from(note.at_ms).unwrap_or(i64::MAX),
        "nonce": nonce.to_string(), "at": "$$NOW",
    };
    let pipeline = vec![
        find_out(doc! {
            "x": exclusive_hit, "w": writer_hit, "go": hit.clone(), "raise": raises.clone(),
        }),
        removing(
            nonce,
            doc! {
                "x": { "$cond": [found("x"), null, "$x"] },
                "w": { "$cond": [found("w"), writers_but(nonce), "$w"] },
                "epoch": { "$cond": [found("raise"), next, "$epoch"] },
                "broken": { "$cond": [found("go"), note, "$broken"] },
            },
        ),
        end(),
    ];
    let shown = doc! { "sound": was_sound(), "v": 1, "epoch": 1, "hit": hit, "raised": raises };
    Step { pipeline, shown, of: Image::Before, creates: false }
}

/// Hands one's own record to another process, from exactly the acknowledged beat.
pub(crate) fn adopt(mine: &Holding, info: &HolderInfo) -> Step {
    let path = own_path(mine);
    let there = is_own(mine);
    let exact = doc! { "$and": [
        sound(), there.clone(),
        { "$eq": [format!("{path}.beat"), beat(mine.acknowledged)] },
        is_not_handed_over(&path, beat(mine.acknowledged)),
    ] };
    let adopted = doc! { "$mergeObjects": [path, {
        "from": beat(mine.acknowledged), "beat": beat(mine.beat), "ttl": millis(mine.ttl),
        "at": "$$NOW", "info": { "$literal": info_to_bson(info) },
    }] };
    let change = match mine.mode {
        Mode::Exclusive => doc! { "x": { "$cond": [found("go"), adopted, "$x"] } },
        Mode::Writer => {
            let with = doc! { "$mergeObjects": ["$w", { mine.nonce.to_string(): adopted }] };
            doc! { "w": { "$cond": [found("go"), with, "$w"] } }
        }
    };
    let pipeline = vec![find_out(doc! { "go": exact.clone() }), doc! { "$set": change }, end()];
    let shown = doc! {
        "sound": was_sound(), "v": 1, "there": there, "exact": exact,
        "granted": { "$ne": [{ "$type": "$x.granted" }, "missing"] },
        "excluded": { "$eq": [{ "$type": "$x" }, "object"] },
    };
    Step { pipeline, shown, of: Image::Before, creates: false }
}

/// The path of one's own record.
fn own_path(mine: &Holding) -> String {
    match mine.mode {
        Mode::Exclusive => "$x".to_owned(),
        Mode::Writer => format!("$w.{}", mine.nonce),
    }
}

fn is_own(mine: &Holding) -> Document {
    match mine.mode {
        Mode::Exclusive => is_exclusive(mine.nonce),
        Mode::Writer => is_writer(mine.nonce),
    }
}

/// A stage that makes this change and remembers that the nonce was removed, if `go` was found.
fn removing(nonce: Nonce, mut change: Document) -> Document {
    let gone = if_so(found("go"), nonce.to_string());
    change.insert("spent", doc! { "$cond": [found("go"), spending(gone.clone()), "$spent"] });
    change.insert("freed", doc! { "$cond": [found("go"), freeing(gone), "$freed"] });
    doc! { "$set": change }
}
