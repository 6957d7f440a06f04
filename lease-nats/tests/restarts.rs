//! A server is killed and comes back: what was acknowledged on files is there, what was in memory is
//! told as gone, epochs rise in either case, and who waits is still woken.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::Path;
use std::process::Command;

use lease_core::backend::{Confirmed, Withdrawn};
use lease_core::{Backend, Effect, Error, Mode};
use lease_nats::connect;

use support::bucket::Bucket;
use support::server::own;
use support::{TTL, acquire, claim, eventually, name, try_acquire};

fn killed_and_back(server: &mut testbed::Server) {
    tokio::task::block_in_place(|| {
        server.kill().unwrap();
        server.restart().unwrap();
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_files_the_holder_is_still_the_holder() {
    let mut server = own();
    let bucket = Bucket::at(server.url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let job = name("job");
    let anns = acquire(&ann, &claim(&job, Mode::Exclusive, TTL * 6)).await;
    killed_and_back(&mut server);

    let confirmed = eventually(|| async { ann.confirm(&anns.holding).await.ok() }).await;
    assert!(matches!(confirmed, Confirmed::Held { .. }), "{confirmed:?}");
    eventually(|| async { bob.inspect(&job).await.ok() }).await;
    assert!(try_acquire(&bob, &claim(&job, Mode::Exclusive, TTL)).await.is_none());
    assert_eq!(ann.withdraw(&anns.holding).await.unwrap(), Withdrawn::Removed);
    let bobs = acquire(&bob, &claim(&job, Mode::Exclusive, TTL)).await;
    assert!(bobs.epoch > anns.epoch);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_memory_the_bucket_is_gone_and_not_free_and_a_new_one_counts_on() {
    let mut server = own();
    let bucket = Bucket::at(server.url(), 1).await;
    let ann = connect(bucket.options.clone().in_memory()).await.unwrap();
    let job = name("job");
    let anns = acquire(&ann, &claim(&job, Mode::Exclusive, TTL)).await;
    killed_and_back(&mut server);

    let told = eventually(|| async {
        match ann.take(&claim(&job, Mode::Exclusive, TTL), None, &Default::default()).await {
            Err(Error::Unavailable { .. }) => None,
            other => Some(other),
        }
    });
    let told = told.await;
    assert!(matches!(told, Err(Error::Misconfigured { .. })), "{told:?}");

    let bob = connect(bucket.options.clone().in_memory()).await.unwrap();
    let bobs = acquire(&bob, &claim(&job, Mode::Exclusive, TTL)).await;
    assert!(bobs.epoch > anns.epoch, "{} after {}", bobs.epoch, anns.epoch);
    let confirmed = ann.confirm(&anns.holding).await.unwrap();
    assert!(matches!(confirmed, Confirmed::Lost(_)), "{confirmed:?}");
}

/// What is asked while there is no connection is not kept to be sent when it is back: long after its
/// caller has given up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_meanwhile_is_never_sent() {
    let mut server = own();
    let bucket = Bucket::at(server.url(), 1).await;
    let ann = bucket.connect().await;
    let job = name("job");
    ann.inspect(&job).await.unwrap();
    tokio::task::block_in_place(|| server.kill().unwrap());
    let told = |error: Error| match error {
        Error::Unavailable { effect, source, .. } => (effect, source.to_string()),
        other => panic!("{other:?}"),
    };
    eventually(|| async {
        let (_, why) = told(ann.inspect(&job).await.unwrap_err());
        why.contains("no connection").then_some(())
    })
    .await;
    let late = claim(&job, Mode::Exclusive, TTL);
    let (effect, why) = told(ann.take(&late, None, &Default::default()).await.unwrap_err());
    assert_eq!(effect, Effect::Nothing, "{why}");

    tokio::task::block_in_place(|| server.restart().unwrap());
    eventually(|| async { ann.inspect(&job).await.ok() }).await;
    assert_eq!(bucket.records(&job).await, 0);
}

/// Somebody restores a backup of the server's files. Ann held when it was made. Bob, whose grant is not in
/// it, is not told that he holds, and what comes after it is above what Ann held.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_came_after_the_backup_does_not_hold() {
    let mut server = own();
    let bucket = Bucket::at(server.url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let job = name("job");
    let anns = acquire(&ann, &claim(&job, Mode::Exclusive, TTL)).await;
    let files = server.folder().unwrap().join("jetstream");
    let backup = tempfile::tempdir().unwrap();
    let copy = |from: &Path, to: &Path| {
        let copied = Command::new("cp").args(["-a", "-T"]).args([from, to]).status().unwrap();
        assert!(copied.success());
    };
    tokio::task::block_in_place(|| {
        server.stop().unwrap();
        copy(&files, backup.path());
        server.restart().unwrap();
    });
    eventually(|| async { ann.withdraw(&anns.holding).await.ok() }).await;
    let bobs = acquire(&bob, &claim(&job, Mode::Exclusive, TTL * 10)).await;
    assert!(bobs.epoch > anns.epoch);

    tokio::task::block_in_place(|| {
        server.kill().unwrap();
        std::fs::remove_dir_all(&files).unwrap();
        copy(backup.path(), &files);
        server.restart().unwrap();
    });
    let carl = bucket.connect().await;
    eventually(|| async { bob.inspect(&job).await.ok() }).await;
    match bob.confirm(&bobs.holding).await {
        Ok(Confirmed::Lost(_)) | Err(Error::Unavailable { .. }) => {}
        other => panic!("his grant is gone: {other:?}"),
    }
    let next = claim(&job, Mode::Exclusive, TTL);
    let carls = eventually(|| try_acquire(&carl, &next)).await;
    assert!(carls.epoch > anns.epoch);
}

/// The consumer that wakes is lost with the server. It is made anew, for the same watch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_is_still_woken() {
    let mut server = own();
    let bucket = Bucket::at(server.url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let job = name("job");
    let anns = acquire(&ann, &claim(&job, Mode::Exclusive, TTL * 6)).await;
    let mut watch = bob.watch(&job).await.unwrap();
    killed_and_back(&mut server);

    // Whatever was missed meanwhile is told as one change.
    watch.changed().await.unwrap();
    let info = format!("STREAM.INFO.{}", bucket.stream());
    let made_anew = eventually(|| async {
        let info = bucket.client.request(format!("$JS.API.{info}"), "".into()).await.ok()?;
        let info: serde_json::Value = serde_json::from_slice(&info.payload).ok()?;
        (info["state"]["consumer_count"] == 1).then_some(())
    });
    made_anew.await;
    let woken = async { watch.changed().await.unwrap() };
    let released = async {
        let freed = eventually(|| async { ann.withdraw(&anns.holding).await.ok() }).await;
        assert_eq!(freed, Withdrawn::Removed);
    };
    tokio::join!(woken, released);
}
