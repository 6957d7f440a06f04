//! What each step costs, in requests as the driver counts them, and with which concerns it is sent.

use lease_core::backend::{Joined, Taken};
use lease_core::clock::SystemClock;
use lease_core::{Backend, Clock, Grant, Judged, Mode, Policy};
use lease_mongo::Mongo;
use mongodb::bson::doc;
use rstest::rstest;

use crate::support::wire::{Wire, claim, overheard};
use crate::support::{SET, fresh_database, options, url_of};

async fn client() -> (Mongo, Wire) {
    let (options, wire) = overheard(options(&fresh_database()));
    let mongo = lease_mongo::connect(options).await.expect("the replica set is there");
    wire.sent();
    (mongo, wire)
}

async fn takes(mongo: &Mongo, name: &str) -> Grant {
    let claim = claim(name, Mode::Exclusive);
    match mongo.take(&claim, None, &Policy::expired()).await {
        Ok(Taken::Granted(grant)) => grant,
        other => panic!("it is free: {other:?}"),
    }
}

async fn joins(mongo: &Mongo, name: &str) -> Grant {
    match mongo.join(&claim(name, Mode::Writer), &Policy::expired()).await {
        Ok(Joined::Granted(grant)) => grant,
        other => panic!("it is free: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_step_is_one_request() {
    let (mongo, wire) = client().await;

    let anns = takes(&mongo, "a").await;
    assert_eq!(wire.names(), ["findAndModify"], "a take is one request");
    let refused = mongo.take(&claim("a", Mode::Exclusive), None, &Policy::expired()).await;
    let Ok(Taken::Refused(by)) = refused else { panic!("ann holds: {refused:?}") };
    assert!(by.free_in().is_some(), "a refusal tells by whom and for how long");
    assert_eq!(wire.names(), ["findAndModify"], "a refused take is one request");
    let refused = mongo.join(&claim("a", Mode::Writer), &Policy::expired()).await;
    assert!(matches!(refused, Ok(Joined::Refused(_))), "ann holds: {refused:?}");
    assert_eq!(wire.names(), ["findAndModify"], "a refused join is one request");
    mongo.confirm(&anns.holding).await.expect("an answer");
    assert_eq!(wire.names(), ["find"], "a confirmation is one request");
    mongo.observe(&anns.holding.name).await.expect("an answer");
    mongo.inspect(&anns.holding.name).await.expect("an answer");
    assert_eq!(wire.names(), ["find", "find"], "a look is one request");
    assert!(mongo.renew(&[anns.holding.next_beat()]).await.remove(0).is_ok());
    assert_eq!(wire.names(), ["update"], "a renewal is one request");
    mongo.withdraw(&anns.holding).await.expect("an answer");
    assert_eq!(wire.names(), ["update"], "a release is one request");

    let bobs = joins(&mongo, "a").await;
    assert_eq!(wire.names(), ["findAndModify"], "a join is one request");
    let drain = claim("a", Mode::Exclusive);
    let draining = mongo.take(&drain, None, &Policy::expired()).await;
    let Ok(Taken::Draining(draining)) = draining else { panic!("bob writes: {draining:?}") };
    assert_eq!(wire.names(), ["findAndModify"], "an installation is one request");
    mongo.withdraw(&bobs.holding).await.expect("an answer");
    wire.sent();
    let taken = mongo.take(&drain, Some(&draining), &Policy::expired()).await;
    assert!(matches!(taken, Ok(Taken::Granted(_))), "bob has gone: {taken:?}");
    assert_eq!(wire.names(), ["findAndModify"], "a round that renews, drains and commits is one");
    let target = mongo.observe(&drain.name).await.expect("an answer");
    let target = target.exclusive.expect("held").target();
    wire.sent();
    mongo.evict(&drain.name, &target, Judged::Observed).await.expect("an answer");
    assert_eq!(wire.names(), ["findAndModify"], "an eviction is one request");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_costs_is_true() {
    let (mongo, wire) = client().await;
    let costs = measure::costs::measured(&mongo, || wire.sent().len()).await;
    assert_eq!(costs, measure::costs::told("MongoDB"));
}

/// The short form of a step is a part of the whole one: what it leaves open is decided by the whole.
#[tokio::test(flavor = "multi_thread")]
async fn the_unusual_case_is_a_second_request() {
    let (mongo, wire) = client().await;
    let ttl = std::time::Duration::from_millis(200);
    let anns = lease_core::Claim { ttl, ..claim("a", Mode::Exclusive) };
    mongo.take(&anns, None, &Policy::expired()).await.expect("an answer");
    SystemClock.sleep_until(SystemClock.now().plus(ttl * 2)).await;
    wire.sent();
    let nonce = lease_core::Nonce::from_bytes([0x1f; 16]);
    let bobs = lease_core::Claim { nonce, ..claim("a", Mode::Writer) };
    let joined = mongo.join(&bobs, &Policy::expired()).await.expect("an answer");
    let Joined::Granted(bobs) = joined else { panic!("ann has expired: {joined:?}") };
    assert!(bobs.took_over, "he came after one who expired");
    assert_eq!(wire.names(), ["findAndModify", "findAndModify"], "over an expired one");
    let late = lease_core::Claim { ttl, ..claim("a", Mode::Writer) };
    mongo.join(&late, &Policy::expired()).await.expect("an answer");
    mongo.withdraw(&bobs.holding).await.expect("an answer");
    SystemClock.sleep_until(SystemClock.now().plus(ttl * 2)).await;
    wire.sent();
    let carols = takes(&mongo, "a").await;
    assert!(carols.took_over, "she came after one who expired");
    assert_eq!(wire.names(), ["findAndModify", "findAndModify"], "over an expired writer");
    mongo.withdraw(&carols.holding).await.expect("an answer");
    assert_eq!(wire.names(), ["update"], "a release that finds its record");
    let again = mongo.withdraw(&bobs.holding).await.expect("an answer");
    assert_eq!(again, lease_core::backend::Withdrawn::NotThere);
    assert_eq!(wire.names(), ["update", "findAndModify"], "a release that finds nothing");
    // Until there is no room for one more to be remembered.
    let mut second = 0;
    for _ in 0..129 {
        let grant = joins(&mongo, "a").await;
        wire.sent();
        let gone = mongo.withdraw(&grant.holding).await.expect("an answer");
        assert_eq!(gone, lease_core::backend::Withdrawn::Removed);
        second += wire.names().len() - 1;
    }
    assert_eq!(second, 1, "room is made once in so many times");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_leases_are_renewed_by_one_request() {
    let (mongo, wire) = client().await;
    let mut mine = Vec::new();
    for i in 0..50 {
        let name = format!("n{}", i / 2);
        mine.push(joins(&mongo, &name).await.holding.next_beat());
    }
    for i in 0..50 {
        mine.push(takes(&mongo, &format!("x{i}")).await.holding.next_beat());
    }
    wire.sent();
    let answers = mongo.renew(&mine).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(wire.names(), ["update"], "a hundred renewals are one request");
}

/// Whatever the URL asks for, a lease is written by majority, journaled, on the primary, and once.
#[rstest]
#[case("&w=1")]
#[case("&w=0")]
#[case("&journal=false")]
#[case("&readPreference=secondaryPreferred")]
#[case("&readConcernLevel=available")]
#[case("&retryWrites=false")]
#[case("&retryWrites=true&w=1&wtimeoutMS=1&readPreference=nearest")]
#[tokio::test(flavor = "multi_thread")]
async fn a_weaker_url_changes_nothing(#[case] parameters: &str) {
    let url = url_of(SET.url(), &fresh_database(), &format!("&timeoutMS=10000{parameters}"));
    let (options, wire) = overheard(lease_mongo::Options::parse(&url).expect("a URL"));
    let mongo = lease_mongo::connect(options).await.expect("the replica set is there");
    wire.sent();
    let grant = takes(&mongo, "a").await;
    mongo.renew(&[grant.holding.next_beat()]).await.remove(0).expect("an answer");
    mongo.confirm(&grant.holding).await.expect("an answer");
    mongo.withdraw(&grant.holding).await.expect("an answer");

    let sent = wire.sent();
    assert_eq!(sent.len(), 4);
    for command in &sent {
        match command.get_document("writeConcern") {
            Ok(concern) => assert_eq!(concern, &doc! { "w": "majority", "j": true }),
            Err(_) => {
                let concern = command.get_document("readConcern").cloned();
                assert_eq!(concern.expect("set").get_str("level"), Ok("linearizable"));
            }
        }
        assert!(!command.contains_key("txnNumber"), "nobody repeats it behind our back");
        let preference = command.get_document("$readPreference").map(|it| it.get_str("mode"));
        assert!(matches!(preference, Err(_) | Ok(Ok("primary"))), "{command}");
        assert!(command.contains_key("maxTimeMS"), "the server ends it in time: {command}");
    }
}
