//! Waiters are woken by one change stream for all of them.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use lease_core::backend::Watch;
use lease_core::clock::{SystemClock, within};
use lease_core::{Backend, Clock, Coordinator, Holding, Mode, Name, Policy, Revision};

use crate::support::wire::{claim, overheard};
use crate::support::{PATIENCE, connected, fresh_database, options};

/// Ann releases, Bob holds: the time between is that of the release and the take, and not of a poll.
#[tokio::test(flavor = "multi_thread")]
async fn a_hand_over_takes_tens_of_milliseconds() {
    let database = fresh_database();
    let ann = Coordinator::new(Arc::new(connected(&database).await));
    let bob = Coordinator::new(Arc::new(connected(&database).await));
    let slow = lease_core::Timing::with_ttl(Duration::from_secs(60))
        .poll(Duration::from_secs(20), Duration::from_secs(20))
        .build()
        .expect("possible");
    let (mut took, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        let anns = ann.exclusive("store").timing(slow).acquire().await.expect("free");
        let waits = Arc::new(tokio::sync::Notify::new());
        let told = Arc::clone(&waits);
        let asked = bob.exclusive("store").timing(slow).wait(PATIENCE);
        let asked = asked.on_wait(move |_| told.notify_one());
        let waiting = tokio::spawn(asked.acquire());
        waits.notified().await;
        // He opens his stream before he waits; nothing tells us when.
        SystemClock.sleep_until(SystemClock.now().plus(Duration::from_millis(300))).await;
        let released = SystemClock.now();
        anns.release().await.expect("it was hers");
        let bobs = waiting.await.expect("home").expect("it is his");
        took.push(SystemClock.now().since(released));
        let released = SystemClock.now();
        bobs.release().await.expect("it was his");
        bare.push(SystemClock.now().since(released));
    }
    took.sort();
    bare.sort();
    println!(
        "hand-over by change stream, release sent to take answered: {took:?}; a release {bare:?}"
    );
    // It is two requests and the news between them. Where a machine that is busy needs longer for one,
    // it needs longer for these.
    let most = Duration::from_millis(100).max(bare[3] * 8);
    assert!(took[3] < most, "half of them take longer than {most:?}: {took:?}");
}

/// Ten wait for ten names in one process: one stream. What concerns one name wakes no other.
#[tokio::test(flavor = "multi_thread")]
async fn all_waiters_of_a_process_share_one_stream() {
    let (options, wire) = overheard(options(&fresh_database()));
    let mongo = lease_mongo::connect(options).await.expect("the replica set is there");
    let held: Vec<_> = (0..10).map(|i| claim(&format!("n{i}"), Mode::Exclusive)).collect();
    for claim in &held {
        mongo.take(claim, None, &Policy::expired()).await.expect("an answer");
    }
    wire.sent();
    let mut watches = Vec::new();
    for claim in &held {
        watches.push(mongo.watch(&claim.name).await.expect("push is promised"));
    }
    let opened = wire.names().iter().filter(|name| *name == "aggregate").count();
    assert_eq!(opened, 1, "one stream for all");

    let mine = |i: usize| Holding::created(&held[i], Revision::new("0.1"));
    // A renewal is no news: what is told after it comes in the order of the writes, and has come.
    mongo.renew(&[mine(3).next_beat()]).await.remove(0).expect("an answer");
    mongo.withdraw(&mine(7)).await.expect("an answer");
    is_told(&mut watches[7]).await;
    are_quiet(&mut watches, "n3 was renewed and n7 released");
    mongo.withdraw(&mine(3)).await.expect("an answer");
    is_told(&mut watches[3]).await;
    mongo.withdraw(&mine(5)).await.expect("an answer");
    is_told(&mut watches[5]).await;
    are_quiet(&mut watches, "n3 and n5 were released");
}

async fn is_told(watch: &mut Box<dyn Watch>) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let woken = within(&clock, PATIENCE, watch.changed()).await;
    woken.expect("it is told").expect("the stream lives");
}

/// Nobody has been told anything since.
fn are_quiet(watches: &mut [Box<dyn Watch>], since: &str) {
    for (i, watch) in watches.iter_mut().enumerate() {
        let told = watch.changed().now_or_never();
        assert!(told.is_none(), "nothing happened on n{i} since {since}");
    }
}

/// Nobody waits any more: the stream is closed, and the next waiter opens another.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_collection_wakes_everybody_and_watching_goes_on() {
    let database = fresh_database();
    let mongo = connected(&database).await;
    let name = Name::parse("a").expect("a name");
    mongo.take(&claim("a", Mode::Exclusive), None, &Policy::expired()).await.expect("an answer");
    let mut watch = mongo.watch(&name).await.expect("push is promised");
    let shell =
        crate::support::shell(&crate::support::url(&database).replace("&timeoutMS=10000", ""))
            .await;
    shell.database(&database).drop().await.expect("an answer");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    // A wake-up or the end of the stream: either makes the waiter look again.
    let _ = within(&clock, PATIENCE, watch.changed()).await.expect("it is told");

    let claim = claim("a", Mode::Exclusive);
    let taken = mongo.take(&claim, None, &Policy::expired()).await.expect("an answer");
    let lease_core::backend::Taken::Granted(grant) = taken else { panic!("free: {taken:?}") };
    let mut watch = loop {
        // The old stream may not have ended yet.
        let mut watch = mongo.watch(&name).await.expect("push is promised");
        if within(&clock, Duration::from_millis(500), watch.changed()).await.is_none() {
            break watch;
        }
    };
    mongo.withdraw(&grant.holding).await.expect("an answer");
    within(&clock, PATIENCE, watch.changed()).await.expect("it is told").expect("it lives");
}
