//! Many at one name, at servers that replicate and at one that does not: each conflict is told as
//! what it is, and of two that exclude each other one gets through (cases 21, 42).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::atomic::{AtomicU64, Ordering};

use lease_core::backend::{Joined, Taken};
use lease_core::{Backend, Error, Mode, Policy};
use lease_nats::Nats;

use support::bucket::Bucket;
use support::server::{OLDEST, Server, shared};
use support::{SECOND, acquire, claim, name};

const TTL: std::time::Duration = std::time::Duration::from_secs(60);

/// Three take and release one name, as fast as they can: no attempt ends in an error, and each grant
/// has a higher epoch than all that were given back before it was asked for.
async fn take_turns(bucket: &Bucket) {
    const EACH: usize = 200;
    let job = name("job");
    let highest = AtomicU64::new(0);
    let worker = |store: Nats| {
        let (job, highest) = (&job, &highest);
        async move {
            let mut granted = 0;
            while granted < EACH {
                let before = highest.load(Ordering::SeqCst);
                let claim = claim(job, Mode::Exclusive, TTL);
                match store.take(&claim, None, &Policy::expired()).await.unwrap() {
                    Taken::Granted(grant) => {
                        let epoch = grant.epoch.get();
                        assert!(epoch > before, "{epoch} after {before}");
                        granted += 1;
                        highest.fetch_max(epoch, Ordering::SeqCst);
                        store.withdraw(&grant.holding).await.unwrap();
                    }
                    Taken::Refused(_) => {}
                    other => panic!("nobody shares: {other:?}"),
                }
            }
        }
    };
    let (ann, bob, eve) = (bucket.connect().await, bucket.connect().await, bucket.connect().await);
    tokio::join!(worker(ann), worker(bob), worker(eve));
}

/// A writer joins and an exclusive installs itself at the same moment, over and over: never are both
/// granted.
async fn join_beside_take(bucket: &Bucket) {
    const ROUNDS: usize = 300;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let repo = name("repo");
    let (mut joins, mut takes) = (0, 0);
    for round in 0..ROUNDS {
        let (writer, exclusive) =
            (claim(&repo, Mode::Writer, TTL), claim(&repo, Mode::Exclusive, TTL));
        let policy = Policy::expired();
        // Every other time the name is open to writers, so that each needs one write to be first.
        if round % 2 == 1 {
            let opens = acquire(&ann, &claim(&repo, Mode::Writer, TTL)).await;
            ann.withdraw(&opens.holding).await.unwrap();
        }
        let joining = ann.join(&writer, &policy);
        let (joined, taken) = tokio::join!(joining, bob.take(&exclusive, None, &policy));
        let joined = match joined.unwrap() {
            Joined::Granted(grant) => Some(grant.holding),
            Joined::Refused(_) => None,
        };
        let (taken, granted) = match taken.unwrap() {
            Taken::Granted(grant) => (Some(grant.holding), true),
            Taken::Draining(draining) => (Some(draining.holding), false),
            Taken::Refused(_) | Taken::Displaced(_) => (None, false),
        };
        assert!(!(joined.is_some() && granted), "round {round}: both hold");
        joins += usize::from(joined.is_some());
        takes += usize::from(granted);
        if let Some(mine) = joined {
            ann.withdraw(&mine).await.unwrap();
        }
        if let Some(mine) = taken {
            bob.withdraw(&mine).await.unwrap();
        }
    }
    assert!(joins > 0 && takes > 0, "it was no race: {joins} joins, {takes} takes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_one_of_the_newest() {
    let bucket = Bucket::at(shared().url(), 1).await;
    take_turns(&bucket).await;
    join_beside_take(&bucket).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_three_of_the_newest() {
    let cluster = testbed::nats::Cluster::start().unwrap();
    let bucket = Bucket::at(cluster.url(), 3).await;
    take_turns(&bucket).await;
    join_beside_take(&bucket).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_three_of_the_oldest() {
    let cluster = Server::cluster(OLDEST);
    let urls: Vec<&str> = cluster.iter().map(Server::url).collect();
    let bucket = Bucket::at(&urls.join(","), 3).await;
    take_turns(&bucket).await;
    join_beside_take(&bucket).await;
}

/// Many open a bucket that is not there yet, and one makes it. In a cluster it is there for all only
/// moments later; that is worth another try, and not told to a person as a bucket that was deleted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_open_a_new_bucket_at_once() {
    let cluster = testbed::nats::Cluster::start().unwrap();
    for _ in 0..5 {
        let bucket = Bucket::at(cluster.url(), 3).await;
        let opening = (0..12).map(|_| lease_nats::connect(bucket.options.clone()));
        for opened in futures::future::join_all(opening).await {
            let error = opened.err();
            assert!(matches!(error, None | Some(Error::Unavailable { .. })), "{error:?}");
        }
        bucket.connect().await;
    }
}

/// However many wait, and for however many names, the server has one consumer of a process; one who
/// waits is woken by its own name only.
#[tokio::test]
async fn those_who_wait_share_one_consumer() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let mut watches = Vec::new();
    for i in 0..20 {
        watches.push(ann.watch(&name(&format!("job/{}", i % 10))).await.unwrap());
    }
    let what = format!("STREAM.INFO.{}", bucket.stream());
    let info = bucket.api(&what, &serde_json::Value::Null).await;
    assert_eq!(info["state"]["consumer_count"], 1);

    support::acquire(&bob, &claim(&name("job/3"), Mode::Exclusive, TTL)).await;
    for (i, watch) in watches.iter_mut().enumerate() {
        let woken = tokio::select! {
            changed = watch.changed() => changed.map(|()| true).unwrap(),
            () = support::pass(SECOND / 5) => false,
        };
        assert_eq!(woken, i % 10 == 3, "watch {i}");
    }
}
