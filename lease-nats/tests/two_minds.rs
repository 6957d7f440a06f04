//! Two answers to one write: for a moment after a split two servers may both take themselves for the
//! bucket's leader, and the one that was left behind may be the first to say no.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures::StreamExt;
use lease_core::backend::{Broken, Withdrawn};
use lease_core::{Backend, BreakNote, Effect, Error, Mode};
use lease_nats::Nats;

use support::bucket::{Bucket, stem};
use support::server::{OLDEST, Server};
use support::{SECOND, TTL, acquire, claim, name};

/// A server that was left behind: it hears all writes of a name's anchor and says that their
/// condition does not hold, though the bucket takes them.
struct LeftBehind {
    refuses: Arc<AtomicBool>,
    refused: Arc<AtomicUsize>,
}

impl LeftBehind {
    async fn of(bucket: &Bucket, key: &str) -> Self {
        let (refuses, refused) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let client = bucket.client.clone();
        let mut heard = client.subscribe(bucket.subject(key)).await.unwrap();
        client.flush().await.unwrap();
        let (speaks, count) = (refuses.clone(), refused.clone());
        tokio::spawn(async move {
            const NO: &str =
                r#"{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 1"}}"#;
            while let Some(write) = heard.next().await {
                if let (true, Some(reply)) = (speaks.load(Ordering::SeqCst), write.reply) {
                    client.publish(reply, NO.into()).await.unwrap();
                    client.flush().await.unwrap();
                    count.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        Self { refuses, refused }
    }

    async fn meanwhile<T>(&self, work: impl Future<Output = T>) -> T {
        self.refuses.store(true, Ordering::SeqCst);
        let done = work.await;
        self.refuses.store(false, Ordering::SeqCst);
        done
    }
}

async fn holds(store: &Nats) -> lease_core::Grant {
    acquire(store, &claim(&name("job"), Mode::Exclusive, TTL)).await
}

/// A writer's own release, refused by one and stored by the other.
async fn a_writer_that_was_let_go_is_not_told_that_it_had_lost(bucket: &Bucket, ann: &Nats) {
    let mut refused = 0;
    for _ in 0..20 {
        let held = acquire(ann, &claim(&name("job"), Mode::Writer, TTL)).await;
        let key = format!("{}.w.{}", stem(&name("job")), held.holding.nonce);
        let left_behind = LeftBehind::of(bucket, &key).await;
        let withdrawn = left_behind.meanwhile(ann.withdraw(&held.holding)).await;
        assert_eq!(withdrawn.unwrap(), Withdrawn::Removed);
        refused += left_behind.refused.load(Ordering::SeqCst);
    }
    assert!(refused > 0, "else this says nothing");

    // One that an operator broke is told so.
    let held = acquire(ann, &claim(&name("job"), Mode::Writer, TTL)).await;
    let note = BreakNote::new("op", "to see");
    bucket.connect().await.break_record(&name("job"), held.holding.nonce, &note).await.unwrap();
    assert_eq!(ann.withdraw(&held.holding).await.unwrap(), Withdrawn::NotThere);
}

/// What was broken or released in truth is never told as *not there*: of a break nobody can tell
/// whose doing it was, and a release knows its own by the epoch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_no_proof_that_nothing_was_stored() {
    let nodes = Server::cluster(OLDEST);
    let urls: Vec<_> = nodes.iter().map(Server::url).collect();
    let bucket = Bucket::at(&urls.join(","), 3).await;
    let ann = support::eventually(|| async {
        lease_nats::connect(bucket.options.clone().timeout(SECOND * 3)).await.ok()
    })
    .await;
    a_writer_that_was_let_go_is_not_told_that_it_had_lost(&bucket, &ann).await;
    let operator = bucket.connect().await;
    let left_behind = LeftBehind::of(&bucket, &format!("{}.x", stem(&name("job")))).await;
    let (mut unclear, mut known) = (0, 0);
    for _ in 0..20 {
        let held = holds(&ann).await;
        let note = BreakNote::new("op", "to see");
        let nonce = held.holding.nonce;
        let job = name("job");
        let broken = operator.break_record(&job, nonce, &note);
        match left_behind.meanwhile(broken).await {
            Ok(Broken::NotThere) => panic!("it was there, and nobody else has broken it"),
            Ok(Broken::Broken { .. }) => {}
            Err(Error::Unavailable { effect: Effect::Unknown, .. }) => unclear += 1,
            Err(other) => panic!("{other}"),
        }
        let seen = operator.observe(&job).await.unwrap();
        assert!(seen.is_free() && seen.epoch > held.epoch);

        let held = holds(&ann).await;
        let before = left_behind.refused.load(Ordering::SeqCst);
        let withdrawn = left_behind.meanwhile(ann.withdraw(&held.holding)).await;
        assert_eq!(withdrawn.unwrap(), Withdrawn::Removed);
        known += left_behind.refused.load(Ordering::SeqCst) - before;
    }
    // Else this says nothing: the refusals came too late each time.
    assert!(unclear > 0 && known > 0, "{unclear} unclear breaks, {known} refused releases");
}
