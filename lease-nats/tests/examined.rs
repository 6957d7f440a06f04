//! Live servers and their bucket are asked for what leases need of them: what is wrong is found, and
//! nothing is left.

mod support;

use lease_core::backend::Confirmed;
use lease_core::checkup::{Checkup, Finding, Verdict};
use lease_core::{Backend, Mode};
use lease_nats::{Options, examine};
use rstest::rstest;
use serde_json::{Value, json};

use support::bucket::Bucket;
use support::server::{Server, TOO_OLD, USERS, answers, shared};
use support::{SECOND, TTL, acquire, claim, eventually, name, options};

/// What is wrong or in doubt, and what to do about it.
#[track_caller]
fn told(checkup: &Checkup, check: &str, verdict: Verdict) -> String {
    let check = checkup.check(check).unwrap_or_else(|| panic!("no {check} in {checkup:#?}"));
    assert_eq!(check.finding.verdict(), verdict, "{checkup:#?}");
    match &check.finding {
        Finding::Broken { what, fix } | Finding::Doubtful { what, fix } => format!("{what}; {fix}"),
        Finding::Unanswered { why } | Finding::Unknown { why } => why.clone(),
        other => panic!("{other:?}"),
    }
}

/// All that is not found to hold, but for what depends on how busy the machine is, and what nobody
/// can see.
fn flaws(checkup: &Checkup) -> Vec<&str> {
    let besides = ["round-trip", "sync-interval"];
    let checks = checkup.checks().iter().filter(|check| !besides.contains(&check.name));
    let flaws = checks.filter(|check| !matches!(check.finding, Finding::Holds { .. }));
    flaws.map(|check| check.name).collect()
}

/// A bucket with a live lease in it is found to be right but for its one replica; the lease and the
/// bucket are as they were.
#[tokio::test]
async fn a_bucket_in_use_is_left_as_it_was() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let store = bucket.connect().await;
    let mine = acquire(&store, &claim(&name("job"), Mode::Exclusive, TTL)).await.holding;

    let before = bucket.messages().await.unwrap();

    let checkup = examine(bucket.options.clone()).await;

    assert_eq!(flaws(&checkup), ["replicas"], "{checkup:#?}");
    assert!(told(&checkup, "replicas", Verdict::Doubtful).contains("three servers"));
    assert!(told(&checkup, "sync-interval", Verdict::Sound).contains("always"));
    for check in ["one-holder", "waiters", "writers-first"] {
        assert!(checkup.check(check).is_some(), "{check} of {checkup:#?}");
    }
    assert_eq!(bucket.messages().await, Some(before), "no mark of an end is left");
    assert!(matches!(store.confirm(&mine).await, Ok(Confirmed::Held { .. })));
    assert_eq!(store.names().await.unwrap(), [name("job")]);
}

/// Nobody has held leases there yet: nobody has afterwards, and there is no bucket.
#[tokio::test]
async fn a_bucket_that_is_not_there_is_not_made() {
    let server = Server::start(None, "");
    let bucket = Bucket::at(server.url(), 1).await;
    let all = || async {
        let listed = bucket.api("STREAM.NAMES", &Value::Null).await;
        listed["total"].as_u64().unwrap()
    };
    eventually(|| async {
        let checkup = examine(bucket.options.clone()).await;
        (checkup.verdict() != Verdict::Unanswered).then(|| {
            assert_eq!(flaws(&checkup), ["replicas"], "{checkup:#?}");
            assert!(checkup.check("one-holder").is_some(), "{checkup:#?}");
        })
    })
    .await;
    assert_eq!(all().await, 0);
    let checkup = examine(bucket.options.clone().create(false)).await;
    assert!(
        told(&checkup, "jetstream", Verdict::Broken).contains("no lease bucket"),
        "{checkup:#?}"
    );
}

#[rstest]
#[case::an_age("bucket-keeps", json!({ "max_age": 1_000_000_000, "duplicate_window": 1_000_000_000 }))]
#[case::old_records_dropped("bucket-keeps", json!({ "discard": "old", "max_bytes": 64 * 1024 * 1024 }))]
#[case::a_work_queue("bucket-keeps", json!({ "retention": "workqueue" }))]
#[case::no_acknowledgements("bucket-keeps", json!({ "no_ack": true }))]
#[case::in_memory("storage", json!({ "storage": "memory" }))]
#[case::no_message_ttl("message-ttl", json!({ "allow_msg_ttl": false }))]
#[case::every_renewal_kept("history", json!({ "max_msgs_per_subject": -1 }))]
#[case::a_tiny_bucket("writes", json!({ "max_bytes": 1024 }))]
#[case::tiny_records("writes", json!({ "max_msg_size": 1024 }))]
#[case::one_write_for_each_key("writes", json!({ "discard_new_per_subject": true }))]
#[case::other_subjects("bucket", json!({ "subjects": [format!("orders-{}.>", support::fresh())] }))]
#[tokio::test]
async fn a_setting_that_loses_leases_is_found_out(#[case] check: &str, #[case] edit: Value) {
    let bucket = Bucket::by_hand(edit).await;
    let checkup = examine(bucket.options.clone()).await;
    let wrong = told(&checkup, check, Verdict::Broken);
    assert!(wrong.contains("nats stream edit"), "{wrong}");
    assert!(checkup.check("one-holder").is_none(), "nothing is tried there: {checkup:#?}");
    assert_eq!(bucket.messages().await, Some(0));
}

#[rstest]
#[case::with_history("history", json!({ "max_msgs_per_subject": 64 }))]
#[case::with_delete_markers("markers", json!({ "subject_delete_marker_ttl": 1_000_000_000 }))]
#[case::with_room("writes", json!({ "max_bytes": 64 * 1024 * 1024 }))]
#[case::without_direct_gets("direct-get", json!({ "allow_direct": false }))]
#[case::without_rollups("numbers", json!({ "allow_rollup_hdrs": false }))]
#[tokio::test]
async fn a_setting_that_is_merely_weak_is_doubtful(#[case] check: &str, #[case] edit: Value) {
    let bucket = Bucket::by_hand(edit).await;
    let checkup = examine(bucket.options.clone()).await;
    told(&checkup, check, Verdict::Doubtful);
    assert!(checkup.check("one-holder").is_some(), "{checkup:#?}");
    assert_ne!(checkup.verdict(), Verdict::Broken, "{checkup:#?}");
    assert_eq!(bucket.messages().await, Some(0));
}

#[tokio::test]
async fn fewer_replicas_than_asked_for_are_found_out() {
    let bucket = Bucket::by_hand(json!({})).await;
    let checkup = examine(bucket.options.clone().replicas(3)).await;
    assert!(told(&checkup, "replicas", Verdict::Broken).contains("fewer replicas"), "{checkup:#?}");
}

#[tokio::test]
async fn a_server_without_jetstream_is_found_out() {
    let server = Server::without_jetstream();
    answers(server.url()).await;
    let checkup = examine(options(server.url())).await;
    assert!(told(&checkup, "jetstream", Verdict::Broken).contains("-js"), "{checkup:#?}");
}

#[tokio::test]
async fn a_server_that_is_too_old_is_found_out() {
    let server = Server::start(Some(TOO_OLD), "");
    answers(server.url()).await;
    let checkup = examine(options(server.url())).await;
    assert!(told(&checkup, "server", Verdict::Broken).contains("2.11.2"), "{checkup:#?}");
}

#[tokio::test]
async fn a_wrong_password_is_told_as_such() {
    let server = Server::start(None, "authorization { user: ann, password: right }");
    let checkup = eventually(|| async {
        let checkup = examine(options(server.url()).user("ann", "wrong")).await;
        (checkup.verdict() != Verdict::Unanswered).then_some(checkup)
    });
    let checkup = checkup.await;
    assert!(told(&checkup, "server", Verdict::Broken).contains("login"), "{checkup:#?}");
}

/// Who may only look cannot hold: the subject that is missing is named.
#[tokio::test]
async fn a_user_without_rights_is_told_which() {
    let server = Server::start(None, USERS);
    let bucket = Bucket::at(server.url(), 1).await;
    bucket.connect().await;
    let options = Options::new([server.url()], &bucket.bucket).timeout(SECOND * 3);
    let checkup = examine(options.clone().user("reader", "reader")).await;
    assert_eq!(checkup.verdict(), Verdict::Broken, "{checkup:#?}");
    let last = checkup.checks().last().unwrap();
    let Finding::Broken { what, .. } = &last.finding else { panic!("{checkup:#?}") };
    assert!(what.contains(&format!("$KV.{}.", bucket.bucket)), "{what}");

    let checkup = examine(options.user("reader", "reader").read_only()).await;
    assert!(told(&checkup, "opens", Verdict::Sound).contains("look only"), "{checkup:#?}");
}

/// Leases work without these rights, and something does not.
#[rstest]
#[case::to_be_woken("waiters", "$JS.API.CONSUMER.CREATE.>", "changes")]
#[case::to_remove_the_bucket_of_the_checkup("clean-up", "$JS.API.STREAM.DELETE.>", "-doctor-")]
#[tokio::test]
async fn a_right_that_is_missing_is_doubtful(
    #[case] check: &str,
    #[case] denied: &str,
    #[case] words: &str,
) {
    let rights = format!("permissions: {{ publish: {{ deny: \"{denied}\" }} }}");
    let users =
        format!("authorization {{ users: [ {{ user: ann, password: ann, {rights} }} ] }}\n");
    let server = Server::start(None, &users);
    let checkup = eventually(|| async {
        let checkup = examine(options(server.url()).user("ann", "ann")).await;
        (checkup.verdict() != Verdict::Unanswered).then_some(checkup)
    });
    let checkup = checkup.await;
    let doubt = told(&checkup, check, Verdict::Doubtful);
    assert!(doubt.contains(words), "{doubt}");
    assert_eq!(flaws(&checkup), ["replicas", check], "{checkup:#?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_no_finding() {
    let checkup = examine(options("nats://127.0.0.1:1")).await;
    told(&checkup, "server", Verdict::Unanswered);
    assert_eq!(checkup.checks().len(), 1);
}

/// Three servers that replicate are as they should be, for as long as all three are there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_servers_are_right_while_all_are_there() {
    let cluster = testbed::nats::Cluster::start().unwrap();
    let bucket = Bucket::at(cluster.url(), 3).await;
    bucket.connect().await;
    // A replica of a bucket that was only just made may be behind for a moment.
    let examined = async |wanted: Verdict| {
        eventually(|| async {
            let checkup = examine(bucket.options.clone()).await;
            let replicas = checkup.check("replicas")?.finding.verdict();
            (replicas == wanted && checkup.check("writers-first").is_some()).then_some(checkup)
        })
        .await
    };
    assert_eq!(flaws(&examined(Verdict::Sound).await), [""; 0]);

    cluster.nodes().last().unwrap().kill().unwrap();
    let checkup = examined(Verdict::Doubtful).await;
    assert!(told(&checkup, "replicas", Verdict::Doubtful).contains("node-2"), "{checkup:#?}");
}
