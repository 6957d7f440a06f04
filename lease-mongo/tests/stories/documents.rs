//! Documents that somebody else put there, and names and nonces that look like something else.

use lease_core::backend::{Joined, Renewed, Taken, Withdrawn};
use lease_core::clock::SystemClock;
use lease_core::{Backend, Claim, Clock, Error, Mode, Name, Nonce, Policy};
use lease_mongo::Mongo;
use mongodb::Collection;
use mongodb::bson::{Document, doc};
use rstest::rstest;

use crate::support::wire::claim;
use crate::support::{connected, fresh_database, shell, url};

async fn by_hand(database: &str) -> Collection<Document> {
    let shell = shell(&url(database).replace("&timeoutMS=10000", "")).await;
    shell.database(database).collection("leases")
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
    let mine = lease_core::Holding::created(&exclusive, lease_core::Revision::new("0.0"));
    let note = lease_core::BreakNote::new("me", "why not");
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

/// What was removed is remembered, and no more of it than is bounded.
#[tokio::test(flavor = "multi_thread")]
async fn removals_are_remembered_within_bounds() {
    let database = fresh_database();
    let mongo = connected(&database).await;
    let first = claim("a", Mode::Writer);
    let mine = lease_core::Holding::created(&first, lease_core::Revision::new(""));
    mongo.withdraw(&mine).await.expect("an answer");
    for _ in 0..300 {
        let other = claim("a", Mode::Writer);
        let mine = lease_core::Holding::created(&other, lease_core::Revision::new(""));
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
    let ttl = std::time::Duration::from_millis(200);
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
