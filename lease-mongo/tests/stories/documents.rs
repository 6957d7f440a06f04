//! Documents of every version, documents that somebody else put there, and names and nonces that look
//! like something else.

use std::sync::Arc;
use std::time::Duration;

use lease_core::backend::{Joined, Renewed, Taken, Withdrawn};
use lease_core::clock::SystemClock;
use lease_core::{
    Backend, BreakNote, Claim, Clock, Error, HolderInfo, Holding, Jitter, Mode, Name, Nonce,
    Policy, Revision, State,
};
use lease_mongo::Mongo;
use mongodb::Collection;
use mongodb::bson::{DateTime, Document, doc};
use rstest::rstest;

use crate::support::wire::claim;
use crate::support::{connected, fresh_database, shell, url};

async fn by_hand(database: &str) -> Collection<Document> {
    let shell = shell(&url(database).replace("&timeoutMS=10000", "")).await;
    shell.database(database).collection("leases")
}

/// What the first version wrote, field by field: every later one must read it. A writer was broken, and
/// then an exclusive was granted, handed on and renewed.
fn golden(at: DateTime, broken: DateTime, epoch: i64) -> Document {
    doc! {
        "_id": "stores/7/repo", "v": 1, "epoch": epoch, "freed": 1_i64,
        "x": {
            "v": 1, "nonce": "abababababababababababababababab", "ttl": 15_000_i64,
            "beat": 3_i64, "at": at, "granted": epoch, "over": false, "from": 2_i64,
            "info": { "label": "ann", "host": "h1", "since": DateTime::from_millis(1_790_000_000_000) },
        },
        "w": {},
        "spent": { "a": { "cdcdcdcdcdcdcdcd": true }, "b": {}, "n": 1 },
        "broken": {
            "by": "op", "why": "it hangs", "at_ms": 1_790_000_000_000_i64,
            "nonce": "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd", "at": broken,
        },
    }
}

/// And of a writer, in the same.
fn golden_writer(at: DateTime, epoch: i64) -> Document {
    doc! {
        "v": 1, "ttl": 15_000_i64, "beat": 0_i64, "at": at, "epoch": epoch, "over": false,
        "info": { "label": "ann", "host": "h1", "since": DateTime::from_millis(1_790_000_000_000) },
    }
}

/// An attempt that always looks the same.
fn same(byte: u8, mode: Mode) -> Claim {
    let mut info = HolderInfo::default();
    (info.label, info.host) = ("ann".to_owned(), "h1".to_owned());
    info.since_ms = 1_790_000_000_000;
    let ttl = std::time::Duration::from_secs(15);
    let nonce = Nonce::from_bytes([byte; 16]);
    Claim { nonce, ttl, info: Arc::new(info), ..claim("stores/7/repo", mode) }
}

fn hung() -> BreakNote {
    let mut note = BreakNote::new("op", "it hangs");
    note.at_ms = 1_790_000_000_000;
    note
}

/// What is written is as the first version wrote it.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_written_as_ever() {
    let database = fresh_database();
    let mongo = connected(&database).await;
    let leases = by_hand(&database).await;
    let there = async || {
        let found = leases.find_one(doc! { "_id": "stores/7/repo" }).await;
        found.expect("an answer").expect("there")
    };
    let policy = Policy::expired();
    let writer = same(0xcd, Mode::Writer);
    mongo.join(&writer, &policy).await.expect("an answer");
    let document = there().await;
    let epoch = document.get_i64("epoch").expect("an epoch");
    let writers = document.get_document("w").expect("writers");
    let written = writers.get_document(writer.nonce.to_string()).expect("the writer");
    let at = *written.get_datetime("at").expect("a time");
    assert_eq!(*written, golden_writer(at, epoch));

    mongo.break_record(&writer.name, writer.nonce, &hung()).await.expect("an answer");
    let exclusive = same(0xab, Mode::Exclusive);
    let Ok(Taken::Granted(grant)) = mongo.take(&exclusive, None, &policy).await else {
        panic!("it is free");
    };
    let mut mine = grant.holding;
    for _ in 0..2 {
        mine = renewed(&mongo, &mine).await;
    }
    let adopted = mongo.adopt(&mine.next_beat(), &exclusive.info).await.expect("an answer");
    assert!(matches!(adopted, Renewed::Renewed { .. }), "{adopted:?}");
    let document = there().await;
    let x = document.get_document("x").expect("an exclusive");
    let at = *x.get_datetime("at").expect("a time");
    let broken = document.get_document("broken").and_then(|note| note.get_datetime("at"));
    assert_eq!(document, golden(at, *broken.expect("a time"), epoch + 1));
}

async fn renewed(mongo: &Mongo, mine: &Holding) -> Holding {
    let next = mine.next_beat();
    match mongo.renew(std::slice::from_ref(&next)).await.remove(0).expect("an answer") {
        Renewed::Renewed { revision, .. } => next.acknowledged(revision),
        other => panic!("it is held: {other:?}"),
    }
}

/// And what the first version wrote is read, and goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_of_the_first_version_is_read() {
    let database = fresh_database();
    let mongo = connected(&database).await;
    let (now, epoch) = (DateTime::now(), 1_790_000_000_000_007);
    by_hand(&database).await.insert_one(golden(now, now, epoch)).await.expect("an answer");

    let exclusive = same(0xab, Mode::Exclusive);
    let seen = mongo.observe(&exclusive.name).await.expect("an answer");
    assert_eq!(i64::try_from(seen.epoch.get()), Ok(epoch));
    let x = seen.exclusive.as_ref().expect("it is held");
    assert_eq!((x.nonce, x.state, x.ttl), (exclusive.nonce, State::Granted, exclusive.ttl));
    assert_eq!(x.info, *exclusive.info);
    assert_eq!(mongo.last_break(&exclusive.name).await.expect("an answer"), Some(hung()));

    let mut mine = Holding::created(&exclusive, x.revision.clone());
    (mine.epoch, mine.beat, mine.acknowledged) = (Some(seen.epoch), 3, 3);
    let mine = renewed(&mongo, &mine).await;
    assert_eq!(mongo.withdraw(&mine).await.expect("an answer"), Withdrawn::Removed);
    // The writer that was broken stays spent.
    let late = mongo.register(&same(0xcd, Mode::Writer)).await.expect("an answer");
    assert_eq!(late, lease_core::backend::Registered::Void);
}

/// A document of another kind has the lease's name. It is told, and stays as it is.
#[rstest]
#[case::of_another_program(doc! { "total": 7, "w": { "a": 1 } })]
#[case::with_a_number_for_its_version(doc! { "v": 1, "total": 7 })]
#[case::with_broken_parts(doc! { "v": 1, "epoch": "many", "x": null, "w": {}, "freed": 0_i64 })]
#[case::with_writers_that_are_none(
    doc! { "v": 1, "epoch": 1_i64, "x": null, "w": [], "freed": 0_i64,
        "spent": { "a": {}, "b": {}, "n": 0 } }
)]
#[case::of_a_newer_version(doc! { "v": 2, "epoch": 1_i64, "x": null, "w": {} })]
#[tokio::test(flavor = "multi_thread")]
async fn a_document_of_another_kind_is_told_and_left_alone(#[case] mut document: Document) {
    let database = fresh_database();
    let mongo = connected(&database).await;
    let leases = by_hand(&database).await;
    document.insert("_id", "a");
    leases.insert_one(&document).await.expect("an answer");

    let name = Name::parse("a").expect("a name");
    let (writer, exclusive) = (claim("a", Mode::Writer), claim("a", Mode::Exclusive));
    let mine = Holding::created(&exclusive, Revision::new("0.0"));
    let note = BreakNote::new("me", "why not");
    let policy = Policy::expired();
    let answers = [
        ("join", mongo.join(&writer, &policy).await.err()),
        ("take", mongo.take(&exclusive, None, &policy).await.err()),
        ("register", mongo.register(&writer).await.err()),
        ("observe", mongo.observe(&name).await.err()),
        ("inspect", mongo.inspect(&name).await.err()),
        ("withdraw", mongo.withdraw(&mine).await.err()),
        ("commit", mongo.commit(&mine).await.err()),
        ("break", mongo.break_record(&name, mine.nonce, &note).await.err()),
        ("adopt", mongo.adopt(&mine.next_beat(), &exclusive.info).await.err()),
        ("confirm", mongo.confirm(&mine).await.err()),
    ];
    for (step, answer) in answers {
        assert!(matches!(answer, Some(Error::Misconfigured { .. })), "{step}: {answer:?}");
    }
    let renewed = mongo.renew(&[mine.next_beat()]).await.remove(0);
    assert!(matches!(renewed, Ok(Renewed::Lost(_)) | Err(_)), "{renewed:?}");
    let after = leases.find_one(doc! { "_id": "a" }).await.expect("an answer").expect("there");
    let mut before = doc! { "_id": "a" };
    before.extend(document.into_iter().filter(|(key, _)| key != "_id"));
    let sorted = |document: Document| {
        let mut fields: Vec<_> = document.into_iter().collect();
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        fields
    };
    assert_eq!(sorted(after), sorted(before), "somebody else's document must be left alone");
}

/// A nonce of digits alone is a field name, and never an index.
#[tokio::test(flavor = "multi_thread")]
async fn a_nonce_may_look_like_a_number() {
    let mongo = connected(&fresh_database()).await;
    for (i, bytes) in [[0_u8; 16], [0x11; 16], [0x90; 16]].into_iter().enumerate() {
        // The first one stands for "no nonce" elsewhere; an attempt has it once in 2^128.
        let nonce = Nonce::from_bytes(bytes);
        let name = format!("n{i}");
        for mode in [Mode::Writer, Mode::Exclusive] {
            if mode == Mode::Exclusive && bytes == [0; 16] {
                continue;
            }
            let name = format!("{name} {mode}");
            whole_life(&mongo, Claim { nonce, ..claim(&name, mode) }).await;
        }
    }
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn names_that_mean_something_to_mongo_are_names(
    #[values("$x", "$$NOW", "x.y", "w.$", "_id", "{$gt: \"\"}", "a/\u{1F980}", "$literal")]
    name: &str,
) {
    let mongo = connected(&fresh_database()).await;
    for mode in [Mode::Writer, Mode::Exclusive] {
        whole_life(&mongo, claim(name, mode)).await;
    }
    let names = mongo.names().await.expect("an answer");
    assert_eq!(names, [Name::parse(name).expect("a name")]);
}

async fn whole_life(mongo: &Mongo, claim: Claim) {
    let policy = Policy::expired();
    let grant = match claim.mode {
        Mode::Writer => match mongo.join(&claim, &policy).await {
            Ok(Joined::Granted(grant)) => grant,
            other => panic!("it is free: {other:?}"),
        },
        Mode::Exclusive => match mongo.take(&claim, None, &policy).await {
            Ok(Taken::Granted(grant)) => grant,
            other => panic!("it is free: {other:?}"),
        },
    };
    let renewed = mongo.renew(&[grant.holding.next_beat()]).await.remove(0).expect("an answer");
    assert!(matches!(renewed, Renewed::Renewed { .. }), "{renewed:?}");
    mongo.confirm(&grant.holding).await.expect("an answer");
    let seen = mongo.observe(&claim.name).await.expect("an answer");
    assert_eq!(seen.record(claim.nonce).expect("held").info, *claim.info);
    assert_eq!(mongo.withdraw(&grant.holding).await.expect("an answer"), Withdrawn::Removed);
}

/// What people write beside a lease is kept as they wrote it, and never evaluated: who broke it and why,
/// and all that a holder tells of itself, also the name by which it takes its own lease back.
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn texts_that_mean_something_to_mongo_are_texts(
    #[values("$x", "$$NOW", "$$ROOT", "$x.nonce", "a.b", "w.$", "{$gt: \"\"}", "$literal", "")]
    text: &str,
) {
    let mongo = connected(&fresh_database()).await;
    for mode in [Mode::Writer, Mode::Exclusive] {
        let info = HolderInfo::of_this_process().label(text).stable_name(text).metadata(text, text);
        let info = Arc::new(info.build().expect("it is short"));
        let claim = Claim { info: Arc::clone(&info), ..claim("a", mode) };
        whole_life(&mongo, claim.clone()).await;
        let next = Claim { nonce: Jitter::system().nonce(), ..claim };
        let mine = match mode {
            Mode::Writer => mongo.join(&next, &Policy::expired()).await.map(drop),
            Mode::Exclusive => mongo.take(&next, None, &Policy::expired()).await.map(drop),
        };
        mine.expect("an answer");
        let created = Holding::created(
            &next,
            Revision::new(if mode == Mode::Writer { "0.0" } else { "0.1" }),
        );
        let adopted = mongo.adopt(&created.next_beat(), &info).await.expect("an answer");
        assert!(matches!(adopted, Renewed::Renewed { .. }), "{adopted:?}");
        let seen = mongo.observe(&next.name).await.expect("an answer");
        assert_eq!(seen.record(next.nonce).expect("held").info, *info, "an adopter tells the same");

        let note = BreakNote::new(text, format!("{text} and {text}")).dated();
        mongo.break_record(&next.name, next.nonce, &note).await.expect("an answer");
        let told = mongo.last_break(&next.name).await.expect("an answer").expect("a note");
        assert_eq!((&told.by, &told.why, told.at_ms), (&note.by, &note.why, note.at_ms));
    }
}

/// The stable name that a policy asks for is compared as a text: one that would be evaluated might equal
/// anything.
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_stable_name_is_compared_and_not_evaluated(
    #[values("$x.info.stable", "$$ROOT.x.info.stable", "$_id")] asked: &str,
) {
    let mongo = connected(&fresh_database()).await;
    let ttl = Duration::from_millis(200);
    let policy = Policy::refuse().readopting(asked);
    for (held_by, is_taken) in [("a", false), (asked, true)] {
        let info = HolderInfo::of_this_process().stable_name(held_by).without_process();
        let info = Arc::new(info.build().expect("short"));
        let name = format!("held by {held_by}");
        let silent = Claim { ttl, info, ..claim(&name, Mode::Exclusive) };
        mongo.take(&silent, None, &Policy::expired()).await.expect("an answer");
        SystemClock.sleep_until(SystemClock.now().plus(ttl * 2)).await;
        let taken = mongo.take(&claim(&name, Mode::Exclusive), None, &policy).await;
        assert_eq!(matches!(taken, Ok(Taken::Granted(_))), is_taken, "{taken:?}");
    }
}

/// What was removed is remembered, and no more of it than is bounded.
#[tokio::test(flavor = "multi_thread")]
async fn removals_are_remembered_within_bounds() {
    let database = fresh_database();
    let mongo = connected(&database).await;
    let first = claim("a", Mode::Writer);
    let mine = Holding::created(&first, Revision::new(""));
    mongo.withdraw(&mine).await.expect("an answer");
    for _ in 0..300 {
        let other = claim("a", Mode::Writer);
        let mine = Holding::created(&other, Revision::new(""));
        mongo.withdraw(&mine).await.expect("an answer");
        let late = mongo.register(&other).await.expect("an answer");
        assert_eq!(late, lease_core::backend::Registered::Void);
    }
    let document = by_hand(&database).await.find_one(doc! { "_id": "a" }).await;
    let document = document.expect("an answer").expect("there");
    let bytes = mongodb::bson::RawDocumentBuf::try_from(&document).expect("BSON");
    assert!(bytes.as_bytes().len() < 8 * 1024, "{} bytes", bytes.as_bytes().len());
}

/// A name that is never taken alone does not grow for ever: some of those that join sweep up who fell
/// silent long ago, and the others leave them.
#[tokio::test(flavor = "multi_thread")]
async fn silent_writers_are_swept_up_by_some_that_join() {
    let mongo = connected(&fresh_database()).await;
    let ttl = Duration::from_millis(200);
    // By its nonce an attempt is one that sweeps, or is not: this one is not, nor the first below.
    let silent = Claim { ttl, nonce: Nonce::from_bytes([0x2f; 16]), ..claim("a", Mode::Writer) };
    let policy = Policy::expired();
    mongo.join(&silent, &policy).await.expect("an answer");
    SystemClock.sleep_until(SystemClock.now().plus(ttl * 5)).await;
    for (first, left) in [(0x1f, 2), (0x0f, 2)] {
        let nonce = Nonce::from_bytes([first; 16]);
        let joined = mongo.join(&Claim { nonce, ..claim("a", Mode::Writer) }, &policy).await;
        assert!(matches!(joined, Ok(Joined::Granted(_))), "{joined:?}");
        let seen = mongo.observe(&silent.name).await.expect("an answer");
        assert_eq!(seen.writers.len(), left, "{seen:?}");
    }
    let seen = mongo.observe(&silent.name).await.expect("an answer");
    assert!(seen.record(silent.nonce).is_none(), "it fell silent: {seen:?}");
}
