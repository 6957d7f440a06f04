//! Live deployments that are set up right and yet fail those who hold leases: a checkup says what is gone.

use std::time::Duration;

use lease_core::checkup::Verdict;
use lease_mongo::{Options, examine};
use mongodb::bson::{Document, doc};
use rstest::rstest;
use testbed::mongo::{self, ReplicaSet};

use crate::examined::{database, documents, elect_after, examined, flaws, told};
use crate::support::wire::{alone, fail, mend};
use crate::support::{fresh_database, shell, url, url_of};

/// Another product may not know the variable by which every step judges.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_know_now_is_found_out() {
    let _alone = alone().await;
    let (name, database) = database().await;
    let data = doc! { "failCommands": ["aggregate"], "errorCode": 17276 };
    fail(database.client(), &name, 1, data).await;
    let checkup = examined(&format!("{}&appName={name}", url(&name))).await;
    assert!(
        told(&checkup, "server-clock", Verdict::Broken).contains("MongoDB 5.0"),
        "{checkup:#?}"
    );
    assert_eq!(flaws(&checkup), ["server-clock"], "nothing is tried there: {checkup:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_keeps_nothing_is_doubtful() {
    let server = tokio::task::spawn_blocking(mongo::forgetful).await.expect("no panic");
    let server = server.expect("a server");
    let options = Options::parse(&url_of(server.url(), &fresh_database(), "&timeoutMS=10000"));
    let checkup = examine(options.expect("a URL")).await;
    assert!(told(&checkup, "storage", Verdict::Doubtful).contains("wiredTiger"), "{checkup:#?}");
}

/// Two of three members hang. The primary is there and answers, and nothing that it takes is sure.
#[tokio::test(flavor = "multi_thread")]
async fn a_majority_that_hangs_is_told() {
    let started = tokio::task::spawn_blocking(|| ReplicaSet::start(3)).await;
    let set = started.expect("no panic").expect("a replica set");
    // Else the primary steps down before it is asked.
    elect_after(&set, Duration::from_secs(60)).await;
    let name = fresh_database();
    let database = shell(set.url()).await.database(&name);
    database.create_collection("leases").await.expect("a collection");
    let primary = set.primary().expect("a primary");
    for (_, member) in set.members().enumerate().filter(|(index, _)| *index != primary) {
        member.pause().expect("it runs");
    }

    let checkup = examined(&url_of(set.url(), &name, "&timeoutMS=2000")).await;

    let why = told(&checkup, "majority-writes", Verdict::Unanswered);
    assert!(why.contains("replication"), "{why}");
    assert!(checkup.check("one-holder").is_none(), "what rests on it is not tried: {checkup:#?}");
    let doubt = told(&checkup, "clean-up", Verdict::Doubtful);
    assert!(doubt.contains("lease-doctor-"), "{doubt}");
    assert_eq!(checkup.verdict(), Verdict::Unanswered);
}

/// What the server does not let it remove is told by its name.
#[rstest]
#[case::of_documents(true, "delete")]
#[case::of_a_collection(false, "drop")]
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_removed_is_told(#[case] shared: bool, #[case] command: &str) {
    let _alone = alone().await;
    let (name, database) = database().await;
    if shared {
        database.create_collection("leases").await.expect("a collection");
    }
    let data = doc! { "failCommands": [command], "errorCode": 13 };
    fail(database.client(), &name, 1, data).await;
    let checkup = examined(&format!("{}&appName={name}", url(&name))).await;
    let doubt = told(&checkup, "clean-up", Verdict::Doubtful);
    assert_eq!(flaws(&checkup), ["clean-up"], "{checkup:#?}");

    let id = |document: &Document| document.get_str("_id").map(str::to_owned).expect("a name");
    let left = match shared {
        true => documents(&database).await.iter().map(id).collect(),
        false => database.list_collection_names().await.expect("an answer"),
    };
    assert!(!left.is_empty(), "{checkup:#?}");
    assert!(left.iter().all(|left| doubt.contains(&format!("`{left}`"))), "{left:?}: {doubt}");
}

/// Renewals that take a second leave little time to try again before a lease ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_its_time_is_doubtful() {
    /// As many as come before the renewals, and some of those.
    const UPDATES: i32 = 8;

    let _alone = alone().await;
    let (name, database) = database().await;
    let data = doc! { "failCommands": ["update"], "blockConnection": true, "blockTimeMS": 1000 };
    fail(database.client(), &name, UPDATES, data).await;
    let checkup = examined(&format!("{}&appName={name}", url(&name))).await;
    mend(database.client()).await;
    let doubt = told(&checkup, "round-trip", Verdict::Doubtful);
    assert!(doubt.contains("use a ttl of"), "{doubt}");
    assert_eq!(flaws(&checkup), [""; 0], "{checkup:#?}");
}

/// Who may do all that leases need but follow the changes of the collection waits by looking again.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_not_watch_is_told() {
    let started = tokio::task::spawn_blocking(|| ReplicaSet::start(1)).await;
    let mut set = started.expect("no panic").expect("a replica set");
    let (name, client) = (fresh_database(), shell(set.url()).await);
    client.database(&name).create_collection("leases").await.expect("a collection");
    let holds = doc! {
        "resource": { "db": &name, "collection": "leases" },
        "actions": ["find", "insert", "update", "remove", "listIndexes"],
    };
    let lists = doc! {
        "resource": { "db": &name, "collection": "" }, "actions": ["listCollections"],
    };
    let admin = client.database("admin");
    let role = doc! { "createRole": "holds", "privileges": [holds, lists], "roles": [] };
    admin.run_command(role).await.expect("a role");
    let user = doc! { "createUser": "holder", "pwd": "p", "roles": ["holds"] };
    admin.run_command(user).await.expect("a user");
    let locked = tokio::task::spawn_blocking(move || set.ask_for_logins().map(|()| set)).await;
    let set = locked.expect("no panic").expect("they start again");

    let url = url_of(set.url(), &name, "&authSource=admin").replace("://", "://holder:p@");
    let checkup = examined(&url).await;

    let doubt = told(&checkup, "waiters", Verdict::Doubtful);
    assert!(doubt.contains("changes"), "{doubt}");
    told(&checkup, "elections", Verdict::Sound);
    told(&checkup, "storage", Verdict::Sound);
    assert_eq!(flaws(&checkup), ["members", "elections", "storage", "waiters"], "{checkup:#?}");
}
