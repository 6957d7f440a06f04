//! What is wrong with a deployment is told when it is opened, with what to do about it.

use std::time::Duration;

use lease_core::clock::SystemClock;
use lease_core::{Backend, Clock, Error, Mode, Policy};
use lease_mongo::{Options, Topology};
use mongodb::bson::{Document, doc};
use mongodb::options::{Collation, CreateCollectionOptions, IndexOptions, TimeseriesOptions};
use mongodb::{Database, IndexModel};
use rstest::rstest;

use crate::support::USERS;
use crate::support::wire::{alone, claim, fail};
use crate::support::{SET, connected, fresh_database, shell, url, url_of};

async fn opens(url: &str) -> Result<lease_mongo::Mongo, Error> {
    lease_mongo::connect(Options::parse(url)?).await
}

async fn is_misconfigured(url: &str, words: &str) {
    let start = SystemClock.now();
    let error = opens(url).await.expect_err("this cannot keep leases");
    let Error::Misconfigured { problem, fix, .. } = &error else {
        panic!("a person has to change something: {error:?}")
    };
    let told = format!("{problem}; {fix}");
    assert!(told.contains(words), "{told}");
    assert!(!told.contains("pass%word") && !format!("{error:?}").contains("pass%word"));
    assert!(SystemClock.now().since(start) < Duration::from_secs(11), "it is told in time");
}

async fn database() -> (String, Database) {
    let name = fresh_database();
    let database = shell(&url(&name).replace("&timeoutMS=10000", "")).await.database(&name);
    (name, database)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ttl_index_is_refused() {
    let (name, database) = database().await;
    let expires = IndexOptions::builder().expire_after(Duration::from_secs(3600)).build();
    let index = IndexModel::builder().keys(doc! { "x.at": 1 }).options(expires).build();
    database.collection::<Document>("leases").create_index(index).await.expect("an index");
    is_misconfigured(&url(&name), "TTL index").await;
}

/// An index of somebody else's would make leases fail one by one, as duplicates of each other.
#[tokio::test(flavor = "multi_thread")]
async fn a_unique_index_is_refused() {
    let (name, database) = database().await;
    let unique = IndexOptions::builder().unique(true).build();
    let index = IndexModel::builder().keys(doc! { "owner": 1 }).options(unique).build();
    database.collection::<Document>("leases").create_index(index).await.expect("an index");
    is_misconfigured(&url(&name), "unique index").await;
}

#[rstest]
#[case::capped("capped", CreateCollectionOptions::builder().capped(true).size(4096).build())]
#[case::with_a_collation("collation", {
    let folds = Collation::builder().locale("en").strength(mongodb::options::CollationStrength::Primary);
    CreateCollectionOptions::builder().collation(folds.build()).build()
})]
#[case::with_a_validator("validator", {
    CreateCollectionOptions::builder().validator(doc! { "owner": { "$type": "string" } }).build()
})]
#[case::a_time_series("time series", {
    let time = TimeseriesOptions::builder().time_field("at").build();
    CreateCollectionOptions::builder().timeseries(time).build()
})]
#[case::a_view("view", {
    CreateCollectionOptions::builder().view_on("others".to_owned()).pipeline(vec![]).build()
})]
#[tokio::test(flavor = "multi_thread")]
async fn a_collection_that_loses_or_folds_documents_is_refused(
    #[case] words: &str,
    #[case] options: CreateCollectionOptions,
) {
    let (name, database) = database().await;
    database.create_collection("leases").with_options(options).await.expect("a collection");
    is_misconfigured(&url(&name), words).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_without_a_database_is_refused() {
    is_misconfigured(SET.url(), "names no database").await;
    is_misconfigured("http://localhost/jobs", "mongodb://").await;
    is_misconfigured("mongodb://localhost/jobs?retryWrite=true", "retrywrites").await;
    is_misconfigured("mongodb://localhost/jobs?collection=$cmd", "collection").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_an_outage_in_bounded_time() {
    let start = SystemClock.now();
    let answer = opens("mongodb://127.0.0.1:9/jobs?timeoutMS=1000").await;
    assert!(matches!(answer, Err(Error::Unavailable { .. })), "{answer:?}");
    assert!(SystemClock.now().since(start) < Duration::from_secs(5));
}

/// A seed list that no name server knows; `.invalid` never is.
#[tokio::test(flavor = "multi_thread")]
async fn a_seed_list_that_is_not_there_is_told_in_bounded_time() {
    let start = SystemClock.now();
    let answer = opens("mongodb+srv://cluster.leases.invalid/jobs?timeoutMS=2000").await;
    assert!(matches!(answer, Err(Error::Unavailable { .. })), "{answer:?}");
    assert!(SystemClock.now().since(start) < Duration::from_secs(5));
    is_misconfigured("mongodb+srv://one,two/jobs", "URL").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_that_leads_to_a_secondary_only_is_refused() {
    let primary = SET.primary().expect("a primary");
    let secondary = SET.members().enumerate().find(|(i, _)| *i != primary).expect("others").1;
    let url = url_of(secondary.url(), &fresh_database(), "");
    is_misconfigured(&url, "name all members").await;
}

/// A server that does not know its own clock fails here, and not at the first renewal.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_know_now_is_refused() {
    let _alone = alone().await;
    let (name, database) = database().await;
    let data = doc! { "failCommands": ["aggregate"], "errorCode": 17276 };
    fail(database.client(), &name, 1, data).await;
    is_misconfigured(&format!("{}&appName={name}", url(&name)), "MongoDB 5.0").await;
}

#[rstest]
#[case::a_wrong_password("writer", "authSource")]
#[case::nobody("", "readWrite")]
#[case::a_user_without_rights("stranger", "readWrite")]
#[case::a_user_who_may_only_read("reader", "readWrite")]
#[tokio::test(flavor = "multi_thread")]
async fn whoever_lacks_a_right_is_told_at_once(#[case] user: &str, #[case] words: &str) {
    let database = fresh_database();
    let url = match user {
        "" => USERS.anonymous(&database),
        "writer" => USERS.url(user, &database).replace("pass", "word"),
        user => USERS.url(user, &database),
    };
    is_misconfigured(&url, words).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_alone_has_no_push() {
    let standalone = opens(&USERS.url("writer", &fresh_database())).await.expect("it is fine");
    assert_eq!(standalone.topology(), Topology::Standalone);
    assert!(!standalone.capabilities().push);
    let set = connected(&fresh_database()).await;
    assert_eq!(set.topology(), Topology::ReplicaSet);
    assert!(set.capabilities().push);
}

/// Looking makes nothing: a collection that is not there holds no leases.
#[tokio::test(flavor = "multi_thread")]
async fn who_looks_only_makes_nothing() {
    let (name, database) = database().await;
    let options = Options::parse(&url(&name)).expect("a URL").read_only();
    let mongo = lease_mongo::connect(options).await.expect("it may look");
    assert!(mongo.names().await.expect("an answer").is_empty());
    assert!(database.list_collection_names().await.expect("an answer").is_empty());
}

/// Thirty-two clients find neither database nor collection, and race for one name on it: nobody sees
/// an error, and one of them wins.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_of_many_makes_the_collection() {
    let name = fresh_database();
    let racers = (0..32).map(|_| {
        let name = name.clone();
        tokio::spawn(async move {
            let mongo = connected(&name).await;
            for round in 0..5 {
                let claim = claim(&format!("round {round}"), Mode::Exclusive);
                mongo.take(&claim, None, &Policy::expired()).await.expect("an answer");
            }
            mongo
        })
    });
    let mut last = None;
    for racer in racers.collect::<Vec<_>>() {
        last = Some(racer.await.expect("no error to any"));
    }
    let mongo = last.expect("thirty-two");
    for round in 0..5 {
        let claim = claim(&format!("round {round}"), Mode::Exclusive);
        let seen = mongo.observe(&claim.name).await.expect("an answer");
        assert!(seen.exclusive.is_some() && seen.writers.is_empty());
    }
    assert_eq!(mongo.names().await.expect("an answer").len(), 5, "one document for each name");
}

#[tokio::test(flavor = "multi_thread")]
async fn clocks_that_differ_shorten_the_belief() {
    let name = fresh_database();
    let mongo = opens(&format!("{}&clockSkewMS=500", url(&name))).await.expect("it is fine");
    assert_eq!(mongo.capabilities().clock_resolution, Duration::from_millis(501));
    assert!(mongo.capabilities().min_ttl >= Duration::from_secs(2));
}
