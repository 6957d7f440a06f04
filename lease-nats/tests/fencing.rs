//! A fenced key under attack: what a superseded holder sends is refused, however it comes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;

use lease_core::{Coordinator, Error, Fence, Lease, Mode, Timing, Token};
use lease_nats::{Fenced, Nats, Write};
use testbed::Flow;

use support::bucket::Bucket;
use support::server::shared;
use support::{SECOND, eventually, fresh};

fn leases(store: &Nats) -> Coordinator {
    let timing = Timing::with_ttl(SECOND).build().unwrap();
    Coordinator::builder(Arc::new(store.clone())).timing(timing).build()
}

async fn holds(store: &Nats) -> Lease {
    leases(store).exclusive("report").wait(SECOND * 20).acquire().await.unwrap()
}

/// The bucket beside that of the leases, which the report is in.
async fn report(bucket: &Bucket, store: &Nats) -> (String, Fenced) {
    let reports = format!("reports-{}", fresh());
    let config = serde_json::json!({
        "name": format!("KV_{reports}"), "subjects": [format!("$KV.{reports}.>")],
        "max_msgs_per_subject": 1, "discard": "new", "allow_direct": true,
    });
    bucket.api(&format!("STREAM.CREATE.KV_{reports}"), &config).await;
    let fenced = store.fenced_key(&reports, "today");
    (reports, fenced)
}

/// Ann stalls between her proof and her write, for longer than her ttl. Bob follows and writes. Hers
/// is refused; without a fence it would have replaced his.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_holder_is_refused() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (anns_store, bobs_store) = (bucket.connect().await, bucket.connect().await);
    let (reports, anns_report) = report(&bucket, &anns_store).await;
    let bobs_report = bobs_store.fenced_key(&reports, "today");

    let ann = holds(&anns_store).await;
    ann.announce(&anns_report).await.unwrap();
    let stored = anns_report.write(&ann.confirm().await.unwrap(), "ann's").await.unwrap();
    assert!(matches!(stored, Write::Stored { .. }));
    let stale: Fence = ann.confirm().await.unwrap();
    // An operator takes her for dead; she does not know.
    let (note, who) = (lease_core::BreakNote::new("op", "dead"), ann.nonce());
    let name = lease_core::Name::parse("report").unwrap();
    lease_core::Backend::break_record(&bobs_store, &name, who, &note).await.unwrap();

    let bob = holds(&bobs_store).await;
    bob.announce(&bobs_report).await.unwrap();
    assert_eq!(bobs_report.read().await.unwrap().as_deref(), Some(&b"ann's"[..]), "untouched");

    let late = anns_report.write(&stale, "ann's, late").await.unwrap();
    assert_eq!(late, Write::Refused { highest: bob.token() });
    let announced = ann.announce(&anns_report).await;
    assert!(matches!(announced, Err(Error::Lost { .. })), "{announced:?}");
    bobs_report.write(&bob.confirm().await.unwrap(), "bob's").await.unwrap();
    assert_eq!(anns_report.read().await.unwrap().as_deref(), Some(&b"bob's"[..]));
}

/// Ann's write is on its way while she is superseded. It arrives after Bob's announcement, before
/// any write of his, and is refused by the message that it does not follow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_is_on_its_way_is_refused() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let bobs_store = bucket.connect().await;
    let (anns_store, proxy) = bucket.behind_a_proxy(SECOND / 2).await;
    let (reports, anns_report) = report(&bucket, &anns_store).await;
    let bobs_report = bobs_store.fenced_key(&reports, "today");

    let ann = holds(&anns_store).await;
    ann.announce(&anns_report).await.unwrap();
    anns_report.write(&ann.confirm().await.unwrap(), "before").await.unwrap();
    let fence = ann.confirm().await.unwrap();
    proxy.set(Flow::Hold, Flow::Pass);
    let sent = anns_report.write(&fence, "ann's, late").await;
    assert!(matches!(sent, Err(Error::Unavailable { .. })), "{sent:?}");

    let bob = holds(&bobs_store).await;
    assert!(bob.token() > ann.token());
    bob.announce(&bobs_report).await.unwrap();
    proxy.heal();
    // What is asked on the same way afterwards is answered, so her write has been too.
    let there = eventually(|| async { anns_report.read().await.ok() }).await;
    assert_eq!(there.as_deref(), Some(&b"before"[..]));
}

/// The tokens of writers and exclusives are compared as one order, and an equal one is let in.
#[tokio::test]
async fn writers_of_one_epoch_share_and_outrank_the_exclusive_before_them() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let store = bucket.connect().await;
    let (reports, one) = report(&bucket, &store).await;
    let two = store.fenced_key(&reports, "today");
    let coordinator = leases(&store);
    let exclusive = coordinator.exclusive("report").acquire().await.unwrap();
    exclusive.announce(&one).await.unwrap();
    let of_exclusive = exclusive.confirm().await.unwrap();
    exclusive.release().await.unwrap();

    let (ann, bob) =
        (coordinator.writer("report").acquire().await.unwrap(), coordinator.writer("report"));
    let bob = bob.acquire().await.unwrap();
    for (lease, report) in [(&ann, &one), (&bob, &two), (&ann, &one)] {
        lease.announce(report).await.unwrap();
        let stored = report.write(&lease.confirm().await.unwrap(), "shared").await.unwrap();
        assert!(matches!(stored, Write::Stored { .. }));
    }
    let late = one.write(&of_exclusive, "late").await.unwrap();
    assert_eq!(late, Write::Refused { highest: Token::new(Mode::Writer, ann.epoch()) });
}

/// What a deleted key was stays deleted through an announcement, and a token that cannot be read
/// lets nobody in.
#[tokio::test]
async fn an_announcement_changes_nothing_and_nonsense_fails_closed() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let store = bucket.connect().await;
    let (reports, today) = report(&bucket, &store).await;
    let lease = holds(&store).await;
    let subject = format!("$KV.{reports}.today");
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("KV-Operation", "DEL");
    bucket.client.request_with_headers(subject.clone(), headers, "".into()).await.unwrap();
    lease.announce(&today).await.unwrap();
    let request = serde_json::json!({ "last_by_subj": subject });
    let last = bucket.api(&format!("STREAM.MSG.GET.KV_{reports}"), &request).await;
    use base64::Engine;
    let headers = base64::engine::general_purpose::STANDARD
        .decode(last["message"]["hdrs"].as_str().unwrap())
        .unwrap();
    assert!(String::from_utf8(headers).unwrap().contains("KV-Operation: DEL"));

    let mut headers = async_nats::HeaderMap::new();
    headers.insert(lease_nats::TOKEN, "seven");
    bucket.client.request_with_headers(subject, headers, "?".into()).await.unwrap();
    let refused = today.write(&lease.confirm().await.unwrap(), "mine").await.unwrap();
    assert!(matches!(refused, Write::Refused { .. }), "{refused:?}");
}
