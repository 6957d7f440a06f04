//! What people and other programs do to a bucket: deleted keys of every kind (case 21), and messages
//! that are no records.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use async_nats::HeaderMap;
use lease_core::backend::{Confirmed, Renewed, Taken};
use lease_core::{Backend, LossReason, Mode, Policy, Unreadable};
use rstest::rstest;
use serde_json::json;

use support::bucket::{Bucket, stem};
use support::server::shared;
use support::{SECOND, TTL, acquire, claim, eventually, name};

/// How a key goes.
#[derive(Clone, Copy, Debug)]
enum Gone {
    Deleted,
    Purged,
    DeletedForASecond,
    PurgedFromTheStream,
}

async fn removes(bucket: &Bucket, key: &str, how: Gone) {
    let mut headers = HeaderMap::new();
    match how {
        Gone::PurgedFromTheStream => {
            let request = json!({ "filter": bucket.subject(key) });
            bucket.api(&format!("STREAM.PURGE.{}", bucket.stream()), &request).await;
            return;
        }
        Gone::Deleted => headers.insert("KV-Operation", "DEL"),
        Gone::DeletedForASecond => {
            headers.insert("KV-Operation", "DEL");
            headers.insert("Nats-TTL", "1");
        }
        Gone::Purged => {
            headers.insert("KV-Operation", "PURGE");
            headers.insert("Nats-Rollup", "sub");
        }
    }
    let subject = bucket.subject(key);
    bucket.client.request_with_headers(subject, headers, "".into()).await.unwrap();
    if let Gone::DeletedForASecond = how {
        let gone = eventually(|| async { bucket.last(key).await.is_none().then_some(()) });
        gone.await;
    }
}

#[rstest]
#[tokio::test]
async fn an_anchor_that_somebody_removed_leaves_a_free_name_and_higher_epochs(
    #[values(Gone::Deleted, Gone::Purged, Gone::DeletedForASecond, Gone::PurgedFromTheStream)]
    how: Gone,
) {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let job = name("job");
    let anns = acquire(&ann, &claim(&job, Mode::Exclusive, TTL)).await;
    removes(&bucket, &format!("{}.x", stem(&job)), how).await;

    let renewed = ann.renew(&[anns.holding.next_beat()]).await.remove(0).unwrap();
    assert_eq!(renewed, Renewed::Lost(LossReason::StateGone));
    let bobs = acquire(&bob, &claim(&job, Mode::Exclusive, TTL)).await;
    assert!(bobs.epoch > anns.epoch, "{} after {}", bobs.epoch, anns.epoch);
    bob.withdraw(&bobs.holding).await.unwrap();
    let anns = acquire(&ann, &claim(&job, Mode::Writer, TTL)).await;
    assert_eq!(anns.epoch, bobs.epoch, "writers carry the epoch of the exclusive before them");
}

#[rstest]
#[tokio::test]
async fn a_writer_that_somebody_removed_has_lost_and_holds_nobody_up(
    #[values(Gone::Deleted, Gone::Purged, Gone::DeletedForASecond, Gone::PurgedFromTheStream)]
    how: Gone,
) {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let repo = name("repo");
    let anns = acquire(&ann, &claim(&repo, Mode::Writer, TTL)).await.holding;
    removes(&bucket, &format!("{}.w.{}", stem(&repo), anns.nonce), how).await;

    let confirmed = ann.confirm(&anns).await.unwrap();
    assert!(matches!(confirmed, Confirmed::Lost(_)), "{confirmed:?}");
    acquire(&bob, &claim(&repo, Mode::Exclusive, TTL)).await;
}

/// Only the anchor is deleted, and a writer is still there: whoever takes the name next waits for
/// it.
#[tokio::test]
async fn a_writer_without_an_anchor_is_still_waited_for() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let repo = name("repo");
    let anns = acquire(&ann, &claim(&repo, Mode::Writer, TTL)).await.holding;
    removes(&bucket, &format!("{}.x", stem(&repo)), Gone::PurgedFromTheStream).await;
    let draining = support::drain(&bob, &claim(&repo, Mode::Exclusive, TTL)).await;
    assert_eq!(draining.waiting_for.writers, 1);
    assert_eq!(ann.confirm(&anns).await.unwrap(), Confirmed::Held { drain: true });
}

#[tokio::test]
async fn messages_that_are_no_records_do_no_harm() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let ann = bucket.connect().await;
    let repo = name("repo");
    acquire(&ann, &claim(&repo, Mode::Writer, TTL)).await;
    for key in [
        format!("{}.w.no-nonce", stem(&repo)),
        format!("{}.other", stem(&repo)),
        format!("{}.x.y", stem(&repo)),
        "r.UPPER.x".to_owned(),
        "r.x".to_owned(),
        "something/else".to_owned(),
    ] {
        bucket.put(&key, b"hello".to_vec()).await;
    }
    assert_eq!(ann.names().await.unwrap(), std::slice::from_ref(&repo));
    assert_eq!(ann.inspect(&repo).await.unwrap().writers.len(), 1);
    let waits = support::drain(&ann, &claim(&repo, Mode::Exclusive, TTL)).await;
    assert_eq!(waits.waiting_for.writers, 1);
}

/// The anchor of one name was copied to another: it is nobody's lease, but it is respected.
#[tokio::test]
async fn a_record_of_another_name_is_no_lease_of_this_one() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let ann = bucket.connect().await;
    let (job, copy) = (name("job"), name("copy"));
    acquire(&ann, &claim(&job, Mode::Exclusive, TTL)).await;
    let (_, body) = bucket.last(&format!("{}.x", stem(&job))).await.unwrap();
    bucket.put(&format!("{}.x", stem(&copy)), body).await;
    let shown = ann.observe(&copy).await.unwrap().exclusive.unwrap();
    assert!(matches!(shown.unreadable, Some(Unreadable::Corrupt(_))), "{:?}", shown.unreadable);
}

/// More writers than the server lists in one answer: an exclusive sees each of them.
#[tokio::test]
async fn a_crowd_that_no_list_holds_is_drained() {
    const CROWD: usize = 1100;
    let bucket = Bucket::at(shared().url(), 1).await;
    let ann = bucket.connect().await;
    let repo = name("repo");
    let claims: Vec<_> = (0..CROWD).map(|_| claim(&repo, Mode::Writer, SECOND * 120)).collect();
    let first = acquire(&ann, &claims[0]).await.holding;
    let joins = claims[1..].iter().map(|claim| acquire(&ann, claim));
    let others = futures::future::join_all(joins).await;

    let taker = claim(&repo, Mode::Exclusive, SECOND * 120);
    let draining = support::drain(&ann, &taker).await;
    assert_eq!(draining.waiting_for.writers, CROWD);
    let leaves = others.iter().map(|writer| ann.withdraw(&writer.holding));
    futures::future::try_join_all(leaves).await.unwrap();
    let left = ann.inspect(&repo).await.unwrap().writers;
    assert_eq!(left.iter().map(|writer| writer.nonce).collect::<Vec<_>>(), [first.nonce]);

    // The marks of those who left are as many, and the last one is found among them.
    let taken = ann.take(&taker, Some(&draining), &Policy::expired()).await.unwrap();
    let Taken::Draining(draining) = taken else { panic!("one is left: {taken:?}") };
    ann.withdraw(&first).await.unwrap();
    let taken = ann.take(&taker, Some(&draining), &Policy::expired()).await.unwrap();
    assert!(matches!(taken, Taken::Granted(_)), "nobody is left: {taken:?}");
}
