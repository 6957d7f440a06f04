//! The store goes back to an older state, or to none: somebody restored a backup, or dropped it.

use std::sync::Arc;
use std::time::Duration;

use lease_core::backend::{Confirmed, Renewed, Taken, Withdrawn};
use lease_core::clock::{SystemClock, within};
use lease_core::{Backend, Claim, Clock, Coordinator, Grant, LossReason, Mode, Policy, Timing};
use lease_mongo::Mongo;
use mongodb::bson::{Document, doc};

use crate::support::wire::claim;
use crate::support::{connected, fresh_database, shell, url};

/// A machine that is busy with other tests takes its time for the steps between.
const TTL: Duration = Duration::from_secs(6);

fn exclusive() -> Claim {
    Claim { ttl: TTL, ..claim("a", Mode::Exclusive) }
}

async fn try_take(mongo: &Mongo) -> Option<Grant> {
    match mongo.take(&exclusive(), None, &Policy::expired()).await.expect("an answer") {
        Taken::Granted(grant) => Some(grant),
        _ => None,
    }
}

/// Ann held when the backup was made. Bob, whose grant is not in it, learns at his next look that he does
/// not hold; what Ann held counts for her ttl, and what comes after it is above that.
#[tokio::test(flavor = "multi_thread")]
async fn who_came_after_the_backup_is_told_and_who_held_in_it_is_respected() {
    let database = fresh_database();
    let (ann, bob) = (connected(&database).await, connected(&database).await);
    let carl = connected(&database).await;
    let shell = shell(&url(&database).replace("&timeoutMS=10000", "")).await;
    let leases = shell.database(&database).collection::<Document>("leases");

    let anns = try_take(&ann).await.expect("it is free");
    let backup =
        leases.find_one(doc! { "_id": "a" }).await.expect("an answer").expect("it is there");
    assert_eq!(ann.withdraw(&anns.holding).await.expect("an answer"), Withdrawn::Removed);
    let bobs = try_take(&bob).await.expect("it is free");
    assert!(bobs.epoch > anns.epoch);

    leases.replace_one(doc! { "_id": "a" }, &backup).await.expect("an answer");
    let confirmed = bob.confirm(&bobs.holding).await.expect("an answer");
    assert!(matches!(confirmed, Confirmed::Lost(_)), "{confirmed:?}");
    let renewed = bob.renew(&[bobs.holding.next_beat()]).await.remove(0).expect("an answer");
    assert!(matches!(renewed, Renewed::Lost(_)), "{renewed:?}");

    assert!(try_take(&carl).await.is_none(), "she may hold");
    SystemClock.sleep_until(SystemClock.now().plus(TTL + TTL / 4)).await;
    let carls = try_take(&carl).await.expect("her ttl is over");
    assert!(carls.epoch > anns.epoch);
}

/// The collection is dropped under Ann, who holds the seventh epoch: she is told within her ttl, and what
/// comes after her is above it, though the counter went with the collection. (Case 16.)
#[tokio::test(flavor = "multi_thread")]
async fn who_held_in_a_collection_that_was_dropped_is_told_and_epochs_go_on() {
    let database = fresh_database();
    let timing = Timing::with_ttl(TTL * 2).build().expect("possible");
    let process = |mongo: Mongo| Coordinator::builder(Arc::new(mongo)).timing(timing).build();
    let ann = process(connected(&database).await);
    let bob = process(connected(&database).await);
    for _ in 0..6 {
        let lease = ann.exclusive("a").acquire().await.expect("it is free");
        lease.release().await.expect("it was hers");
    }
    let anns = ann.exclusive("a").acquire().await.expect("it is free");
    let writers = ann.writer("others").acquire().await.expect("it is free");

    let shell = shell(&url(&database).replace("&timeoutMS=10000", "")).await;
    let leases = shell.database(&database).collection::<Document>("leases");
    leases.drop().await.expect("an answer");
    let bobs = bob.exclusive("a").acquire().await.expect("it is free");
    assert!(bobs.epoch() > anns.epoch(), "{} is not above {}", bobs.epoch(), anns.epoch());

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let told = within(&clock, TTL * 2, writers.lost()).await;
    assert_eq!(told, Some(LossReason::StateGone));
    let told = within(&clock, TTL * 2, anns.lost()).await;
    // Bob has made it again.
    assert_eq!(told, Some(LossReason::Displaced));
    assert!(anns.check().is_err() && writers.check().is_err());
    bobs.confirm().await.expect("he is not disturbed");
    let next = bob.writer("others").acquire().await.expect("it is free");
    assert!(next.epoch() > writers.epoch());
}
