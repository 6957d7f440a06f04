//! The server's clock is the only one, and what happens when it is wrong.

use std::sync::Arc;
use std::time::Duration;

use lease_core::clock::{SystemClock, within};
use lease_core::{Backend, Clock, Coordinator, Error, Freshness, Mode, Name, Timing};
use lease_mongo::{DocumentGate, Mongo};
use mongodb::Collection;
use mongodb::bson::{DateTime, Document, doc};

use crate::support::wire::claim;
use crate::support::{connected, fresh_database, shell, url};

async fn by_hand(database: &str) -> Collection<Document> {
    let shell = shell(&url(database).replace("&timeoutMS=10000", "")).await;
    shell.database(database).collection("leases")
}

fn coordinator(mongo: &Mongo, ttl: Duration) -> Coordinator {
    let timing = Timing::with_ttl(ttl).build().expect("possible");
    Coordinator::builder(Arc::new(mongo.clone())).timing(timing).build()
}

/// A record carries the server's time whatever the client believes: its end is one ttl away from the
/// server's now.
#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_record_ends_one_ttl_from_the_servers_now() {
    let mongo = connected(&fresh_database()).await;
    let claim = claim("a", Mode::Exclusive);
    // What the holder tells of its wall clock is shown, and decides nothing.
    let mut info = claim.info.as_ref().clone();
    info.since_ms = 0;
    let claim = lease_core::Claim { info: Arc::new(info), ttl: Duration::from_secs(2), ..claim };
    mongo.take(&claim, None, &lease_core::Policy::expired()).await.expect("an answer");
    let seen = mongo.observe(&claim.name).await.expect("an answer").exclusive.expect("held");
    let Freshness::Fresh { left } = seen.freshness else { panic!("it lives: {seen:?}") };
    assert!(left > Duration::from_millis(1000) && left <= Duration::from_secs(2), "{left:?}");
}

/// A member whose clock is 30 s ahead becomes primary: Ann, who lives and renews, is followed by Bob.
/// She is told, and what she still writes is refused by a resource that looks at the token.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_ahead_ends_a_lease_and_the_fence_holds() {
    let database = fresh_database();
    let leases = by_hand(&database).await;
    let gates = leases.client().database(&database).collection("gates");
    let gate = DocumentGate::new(gates, "the resource");
    let (ann, bob) = (connected(&database).await, connected(&database).await);
    let (ann, bob) =
        (coordinator(&ann, Duration::from_secs(8)), coordinator(&bob, Duration::from_secs(8)));

    let anns = ann.exclusive("store").acquire().await.expect("it is free");
    anns.announce(&gate).await.expect("she holds");
    // To this server it is as if its clock had jumped ahead.
    let earlier = doc! { "$subtract": ["$x.at", 30_000_i64] };
    let jump = vec![doc! { "$set": { "x.at": earlier } }];
    let mut bobs = None;
    while bobs.is_none() {
        leases.update_one(doc! { "_id": "store" }, jump.clone()).await.expect("an answer");
        bobs = bob.exclusive("store").acquire().await.ok();
    }
    let bobs = bobs.expect("he has taken over");
    assert!(bobs.epoch() > anns.epoch());
    bobs.announce(&gate).await.expect("he holds");

    let late = anns.announce(&gate).await;
    assert!(matches!(late, Err(Error::Lost { .. })), "a late write must be refused: {late:?}");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let told = within(&clock, Duration::from_secs(8), anns.lost()).await;
    assert!(told.is_some(), "she must be told within a ttl");
    bobs.check().expect("he is not disturbed");
}

/// A clock that was set back makes a record young, not immortal: the holder's next renewal sets it
/// right.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_was_set_back_lets_the_holder_go_on() {
    let database = fresh_database();
    let leases = by_hand(&database).await;
    let mongo = connected(&database).await;
    let claim = claim("a", Mode::Exclusive);
    let taken = mongo.take(&claim, None, &lease_core::Policy::expired()).await;
    let Ok(lease_core::backend::Taken::Granted(grant)) = taken else { panic!("free: {taken:?}") };
    let later = vec![doc! { "$set": { "x.at": { "$add": ["$x.at", 30_000_i64] } } }];
    leases.update_one(doc! { "_id": "a" }, later).await.expect("an answer");
    let seen = mongo.observe(&claim.name).await.expect("an answer").exclusive.expect("held");
    assert_eq!(seen.age, Some(Duration::ZERO), "no age is below nothing");
    mongo.renew(&[grant.holding.next_beat()]).await.remove(0).expect("an answer");
    let at = leases.find_one(doc! { "_id": "a" }).await.expect("an answer").expect("there");
    let at = *at.get_document("x").and_then(|x| x.get_datetime("at")).expect("a date");
    assert!(at <= DateTime::now(), "a renewal brings the record back to the server's clock");
}

/// A date at the end of time is no date: the record is shown as unreadable, blocks, can be broken, and
/// harms no other name.
#[tokio::test(flavor = "multi_thread")]
async fn impossible_times_are_told_and_can_be_broken() {
    let database = fresh_database();
    let leases = by_hand(&database).await;
    let mongo = connected(&database).await;
    let policy = lease_core::Policy::expired();
    let impossible = [
        doc! { "x.ttl": i64::MAX },
        doc! { "x.ttl": -1_i64 },
        doc! { "x.ttl": 0.5 },
        doc! { "x.at": DateTime::from_millis(i64::MAX) },
        doc! { "x.at": "yesterday" },
        doc! { "x.nonce": "not a nonce" },
        doc! { "x": [1, 2] },
    ];
    for (i, change) in impossible.into_iter().enumerate() {
        let claim = claim(&format!("absurd {i}"), Mode::Exclusive);
        mongo.take(&claim, None, &policy).await.expect("an answer");
        let filter = doc! { "_id": claim.name.as_str() };
        leases.update_one(filter, doc! { "$set": change }).await.expect("an answer");
        let Ok(seen) = mongo.observe(&claim.name).await else { continue };
        let shown = seen.exclusive.expect("it blocks");
        assert!(shown.unreadable.is_some(), "{shown:?}");
        let next = crate::support::wire::claim(claim.name.as_str(), Mode::Exclusive);
        let refused = mongo.take(&next, None, &policy).await;
        assert!(matches!(refused, Ok(lease_core::backend::Taken::Refused(_))), "{refused:?}");
        let note = lease_core::BreakNote::new("me", "absurd");
        let broken = mongo.break_record(&claim.name, shown.nonce, &note).await;
        assert!(matches!(broken, Ok(lease_core::backend::Broken::Broken { .. })), "{broken:?}");
        let taken = mongo.take(&next, None, &policy).await;
        assert!(matches!(taken, Ok(lease_core::backend::Taken::Granted(_))), "{taken:?}");
    }
    let fine = Name::parse("another").expect("a name");
    mongo.take(&claim(fine.as_str(), Mode::Exclusive), None, &policy).await.expect("an answer");
}
