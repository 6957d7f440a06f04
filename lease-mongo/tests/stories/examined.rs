//! A live deployment is asked for what leases need of it: what is wrong is found, and nothing is left.

use std::time::Duration;

use lease_core::backend::Taken;
use lease_core::checkup::{Checkup, Finding, Verdict};
use lease_core::{Backend, Mode, Policy};
use lease_mongo::{Options, examine};
use mongodb::bson::{Document, doc};
use mongodb::options::{CreateCollectionOptions, IndexOptions};
use mongodb::{Database, IndexModel};
use rstest::rstest;
use testbed::mongo::ReplicaSet;

use crate::support::wire::claim;
use crate::support::{SET, USERS, connected, fresh_database, options, shell, url, url_of};

/// What is wrong or in doubt, and what to do about it.
#[track_caller]
pub(crate) fn told(checkup: &Checkup, check: &str, verdict: Verdict) -> String {
    let check = checkup.check(check).unwrap_or_else(|| panic!("no {check} in {checkup:#?}"));
    assert_eq!(check.finding.verdict(), verdict, "{checkup:#?}");
    let told = match &check.finding {
        Finding::Broken { what, fix } | Finding::Doubtful { what, fix } => format!("{what}; {fix}"),
        Finding::Unanswered { why } | Finding::Unknown { why } => why.clone(),
        other => panic!("{other:?}"),
    };
    assert!(!told.contains("pass%word") && !told.contains("pass%25word"), "{told}");
    told
}

/// All that is not found to hold, but for what depends on how busy the machine is.
pub(crate) fn flaws(checkup: &Checkup) -> Vec<&str> {
    let checks = checkup.checks().iter().filter(|check| check.name != "round-trip");
    let flaws = checks.filter(|check| !matches!(check.finding, Finding::Holds { .. }));
    flaws.map(|check| check.name).collect()
}

/// With time for a machine that is busy with tests, unless the URL says how much.
pub(crate) async fn examined(url: &str) -> Checkup {
    let url = match (url.contains("timeoutMS"), url.contains('?')) {
        (true, _) => url.to_owned(),
        (false, true) => format!("{url}&timeoutMS=10000"),
        (false, false) => format!("{url}?timeoutMS=10000"),
    };
    examine(Options::parse(&url).expect("a URL")).await
}

pub(crate) async fn database() -> (String, Database) {
    let name = fresh_database();
    let database = shell(&url(&name).replace("&timeoutMS=10000", "")).await.database(&name);
    (name, database)
}

/// All documents of the leases' collection.
pub(crate) async fn documents(database: &Database) -> Vec<Document> {
    use futures::TryStreamExt;
    let found = database.collection::<Document>("leases").find(doc! {}).await.expect("an answer");
    found.try_collect().await.expect("an answer")
}

/// A replica set with a live lease on it is found to be right, and the lease is as it was.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_set_in_use_is_left_as_it_was() {
    let (name, database) = database().await;
    let mongo = connected(&name).await;
    let taken = mongo.take(&claim("payroll", Mode::Exclusive), None, &Policy::expired()).await;
    assert!(matches!(taken, Ok(Taken::Granted(_))), "{taken:?}");
    let before = documents(&database).await;

    let checkup = examine(options(&name)).await;

    assert_eq!(flaws(&checkup), [""; 0], "{checkup:#?}");
    for check in ["majority-writes", "one-holder", "waiters", "writers-first"] {
        assert!(checkup.check(check).is_some(), "{check} of {checkup:#?}");
    }
    assert_eq!(documents(&database).await, before);
    assert_eq!(mongo.names().await.expect("an answer").len(), 1);
}

/// Nobody has held leases there yet: nobody has afterwards, and there is no collection.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_nobody_used_stays_so() {
    let (name, database) = database().await;
    let checkup = examine(options(&name)).await;
    assert_eq!(flaws(&checkup), [""; 0], "{checkup:#?}");
    assert!(checkup.check("one-holder").is_some(), "{checkup:#?}");
    let left = database.list_collection_names().await.expect("an answer");
    assert!(left.is_empty(), "{left:?}");
}

#[rstest]
#[case::that_expires(IndexOptions::builder().expire_after(Duration::from_secs(3600)).build(), "TTL index")]
#[case::that_refuses(IndexOptions::builder().unique(true).build(), "unique index")]
#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_loses_leases_is_found_out(
    #[case] options: IndexOptions,
    #[case] words: &str,
) {
    let (name, database) = database().await;
    let index = IndexModel::builder().keys(doc! { "owner": 1 }).options(options).build();
    database.collection::<Document>("leases").create_index(index).await.expect("an index");
    let checkup = examined(&url(&name)).await;
    let wrong = told(&checkup, "indexes", Verdict::Broken);
    assert!(wrong.contains(words) && wrong.contains("drop that index"), "{wrong}");
    assert!(checkup.check("one-holder").is_none(), "nothing is tried there: {checkup:#?}");
    assert!(documents(&database).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_that_drops_documents_is_found_out() {
    let (name, database) = database().await;
    let capped = CreateCollectionOptions::builder().capped(true).size(4096).build();
    database.create_collection("leases").with_options(capped).await.expect("a collection");
    let checkup = examined(&url(&name)).await;
    assert!(told(&checkup, "collection", Verdict::Broken).contains("capped"), "{checkup:#?}");
}

/// One server alone keeps leases; what it cannot do is told, and what this user may not ask for.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_alone_is_doubtful() {
    let checkup = examined(&USERS.url("writer", &fresh_database())).await;
    let doubt = told(&checkup, "topology", Verdict::Doubtful);
    assert!(doubt.contains("--replSet"), "{doubt}");
    told(&checkup, "storage", Verdict::Sound);
    assert_eq!(flaws(&checkup), ["topology", "storage"], "{checkup:#?}");
    assert_eq!(checkup.verdict(), Verdict::Doubtful);
}

#[rstest]
#[case::who_may_only_read("reader", "rights", "insert, update")]
#[case::who_may_nothing("stranger", "rights", "find, insert, update")]
#[case::whose_password_is_wrong("writer", "server", "authSource")]
#[case::nobody("", "rights", "readWrite")]
#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_rights_is_told_which(
    #[case] user: &str,
    #[case] check: &str,
    #[case] words: &str,
) {
    let database = fresh_database();
    let url = match user {
        "" => USERS.anonymous(&database),
        "writer" => USERS.url(user, &database).replace("pass", "word"),
        user => USERS.url(user, &database),
    };
    let checkup = examined(&url).await;
    let wrong = told(&checkup, check, Verdict::Broken);
    assert!(wrong.contains(words), "{wrong}");
}

/// What could not be removed again is not written.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_not_remove_writes_nothing() {
    let name = fresh_database();
    let root = shell(&USERS.url("root", "admin")).await;
    let (admin, own) = (root.database("admin"), format!("holder-{name}"));
    let holds = doc! {
        "resource": { "db": &name, "collection": "leases" },
        "actions": ["find", "insert", "update", "listIndexes"],
    };
    let lists = doc! {
        "resource": { "db": &name, "collection": "" }, "actions": ["listCollections"],
    };
    let role = doc! { "createRole": &own, "privileges": [holds, lists], "roles": [] };
    admin.run_command(role).await.expect("a role");
    let user = doc! { "createUser": &own, "pwd": "p", "roles": [&own] };
    admin.run_command(user).await.expect("a user");
    let database = root.database(&name);
    database.create_collection("leases").await.expect("a collection");

    let url = format!("mongodb://{own}:p@{}/{name}?authSource=admin", USERS.address());
    let checkup = examined(&url).await;
    assert!(told(&checkup, "opens", Verdict::Sound).contains("may not remove"), "{checkup:#?}");
    assert_ne!(checkup.verdict(), Verdict::Broken, "{checkup:#?}");
    assert!(documents(&database).await.is_empty());
}

/// Lets a set wait for so long before it elects another primary.
pub(crate) async fn elect_after(set: &ReplicaSet, time: Duration) {
    let admin = shell(set.url()).await.database("admin");
    let told_config = admin.run_command(doc! { "replSetGetConfig": 1 }).await.expect("an answer");
    let mut config = told_config.get_document("config").expect("it is there").clone();
    let version = config.get_i32("version").expect("a number");
    config.insert("version", version + 1);
    let settings = config.get_document_mut("settings").expect("they are there");
    settings.insert("electionTimeoutMillis", i32::try_from(time.as_millis()).expect("it is short"));
    admin.run_command(doc! { "replSetReconfig": config }).await.expect("it is taken");
}

/// A set of one has nobody to follow its primary; and an election of ten seconds outlives most of a
/// usual ttl.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_of_one_that_elects_slowly_is_doubtful() {
    let started = tokio::task::spawn_blocking(|| ReplicaSet::start(1)).await;
    let set = started.expect("no panic").expect("a replica set");
    elect_after(&set, Duration::from_secs(10)).await;

    let checkup = examined(&url_of(set.url(), &fresh_database(), "")).await;
    assert!(told(&checkup, "members", Verdict::Doubtful).contains("three members"), "{checkup:#?}");
    assert!(told(&checkup, "elections", Verdict::Doubtful).contains("10000 ms"), "{checkup:#?}");
    assert_eq!(flaws(&checkup), ["members", "elections"], "{checkup:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_that_leads_to_a_secondary_only_is_found_out() {
    let primary = SET.primary().expect("a primary");
    let secondary = SET.members().enumerate().find(|(i, _)| *i != primary).expect("others").1;
    let checkup = examined(&url_of(secondary.url(), &fresh_database(), "")).await;
    assert_eq!(checkup.verdict(), Verdict::Broken, "{checkup:#?}");
    assert!(told(&checkup, "server", Verdict::Broken).contains("all members"), "{checkup:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_no_finding() {
    let checkup = examined("mongodb://127.0.0.1:9/jobs?timeoutMS=1000").await;
    told(&checkup, "server", Verdict::Unanswered);
    assert_eq!(checkup.checks().len(), 1);
    let checkup = examined("mongodb://127.0.0.1:9/?timeoutMS=1000").await;
    assert!(told(&checkup, "server", Verdict::Broken).contains("no database"), "{checkup:#?}");
}

/// Who may look only is told what can be seen, and writes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn who_looks_only_writes_nothing() {
    let (name, database) = database().await;
    let checkup = examine(options(&name).read_only()).await;
    assert!(told(&checkup, "opens", Verdict::Sound).contains("readOnly"), "{checkup:#?}");
    assert!(database.list_collection_names().await.expect("an answer").is_empty());
}
