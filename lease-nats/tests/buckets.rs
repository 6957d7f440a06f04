//! Servers and buckets as they should not be: each told at once, with what to do (cases 16, 54).

mod support;

use lease_core::backend::{Confirmed, Renewed};
use lease_core::clock::SystemClock;
use lease_core::{Backend, Clock, Effect, Error, LossReason, Mode};
use lease_nats::connect;
use rstest::rstest;
use serde_json::{Value, json};

use support::bucket::Bucket;
use support::server::{JETSTREAM, Server, TOO_OLD, answers, ports, shared};
use support::{SECOND, TTL, acquire, claim, eventually, fresh, name, options};

#[rstest]
#[case::an_age(json!({ "max_age": 1_000_000_000, "duplicate_window": 1_000_000_000 }))]
#[case::in_memory(json!({ "storage": "memory" }))]
#[case::no_message_ttl(json!({ "allow_msg_ttl": false }))]
#[case::every_renewal_kept(json!({ "max_msgs_per_subject": -1 }))]
#[case::old_records_dropped(json!({ "discard": "old", "max_bytes": 64 * 1024 * 1024 }))]
#[case::a_tiny_bucket(json!({ "max_bytes": 1024 }))]
#[case::tiny_records(json!({ "max_msg_size": 1024 }))]
#[case::one_write_for_each_key(json!({ "discard_new_per_subject": true }))]
#[case::a_work_queue(json!({ "retention": "workqueue" }))]
#[case::no_acknowledgements(json!({ "no_ack": true }))]
#[case::other_subjects(json!({ "subjects": [format!("orders-{}.>", fresh())] }))]
#[case::a_copy_of_another(json!({ "mirror": { "name": "KV_another" }, "subjects": null }))]
#[case::with_others_writes(json!({ "sources": [{ "name": "KV_another" }] }))]
#[tokio::test]
async fn a_bucket_that_would_lose_leases_is_refused(#[case] edit: Value) {
    let bucket = Bucket::by_hand(edit).await;
    let error = connect(bucket.options.clone()).await.unwrap_err();
    assert!(matches!(error, Error::Misconfigured { .. }), "{error:?}");
}

#[rstest]
#[case::as_the_tool_makes_it(json!({}))]
#[case::with_history(json!({ "max_msgs_per_subject": 64 }))]
#[case::with_delete_markers(json!({ "subject_delete_marker_ttl": 1_000_000_000 }))]
#[case::with_room(json!({ "max_bytes": 64 * 1024 * 1024 }))]
#[case::without_direct_gets(json!({ "allow_direct": false }))]
#[tokio::test]
async fn a_bucket_that_is_merely_weak_is_taken_with_a_warning(#[case] edit: Value) {
    let store = connect(Bucket::by_hand(edit).await.options.clone()).await.unwrap();
    assert!(!store.warnings().is_empty());

    // And it works: a writer, an exclusive that waits for it, and one that does not.
    let repo = name("repo");
    let writer = acquire(&store, &claim(&repo, Mode::Writer, TTL)).await;
    let taker = claim(&repo, Mode::Exclusive, TTL);
    let draining = support::drain(&store, &taker).await;
    store.withdraw(&draining.holding).await.unwrap();
    store.withdraw(&writer.holding).await.unwrap();
    let first = acquire(&store, &claim(&repo, Mode::Exclusive, TTL)).await;
    store.withdraw(&first.holding).await.unwrap();
    let second = acquire(&store, &claim(&repo, Mode::Exclusive, TTL)).await;
    assert!(second.epoch > first.epoch);
    assert_eq!(store.inspect(&repo).await.unwrap().epoch, second.epoch);
}

#[tokio::test]
async fn a_bucket_of_our_own_is_as_it_should_be_but_for_its_one_replica() {
    let store = support::open(shared().url()).await;
    assert_eq!(store.warnings().len(), 1, "{:?}", store.warnings());
}

#[tokio::test]
async fn an_old_server_is_refused_and_told_why() {
    let server = Server::start(Some(TOO_OLD), "");
    answers(server.url()).await;
    let error = connect(options(server.url())).await.unwrap_err();
    assert!(matches!(error, Error::Misconfigured { .. }), "{error:?}");
    assert!(error.to_string().contains("2.10"), "{error}");
}

/// The server is replaced by an older one while a client is connected, and that is told: not that
/// nobody answers.
#[tokio::test]
async fn an_old_server_that_takes_another_ones_place_is_refused() {
    let port = ports::<1>()[0];
    let new = Server::on(None, port, JETSTREAM);
    let bucket = Bucket::at(new.url(), 1).await;
    let store = bucket.connect().await;
    let repo = name("repo");
    let writer = acquire(&store, &claim(&repo, Mode::Writer, TTL)).await;
    drop(new);

    let old = Server::on(Some(TOO_OLD), port, JETSTREAM);
    answers(old.url()).await;
    let config = json!({
        "name": bucket.stream(), "subjects": [bucket.subject(">")], "max_msgs_per_subject": 1,
        "discard": "new", "allow_direct": true,
    });
    eventually(|| async {
        let made = bucket.client.request(
            format!("$JS.API.STREAM.CREATE.{}", bucket.stream()),
            config.to_string().into(),
        );
        made.await.ok()
    })
    .await;
    let told = eventually(|| async {
        match store.join(&claim(&repo, Mode::Writer, TTL), &Default::default()).await {
            Err(Error::Unavailable { .. }) => None,
            other => Some(other),
        }
    });
    let error = told.await.unwrap_err();
    assert!(error.to_string().contains("2.10"), "{error}");
    let error = store.confirm(&writer.holding).await.unwrap_err();
    assert!(error.to_string().contains("2.10"), "{error}");
}

/// A bucket in memory is there for who asks for one, and told as weak.
#[tokio::test]
async fn a_bucket_in_memory_is_made_and_taken_only_when_asked_for() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let store = connect(bucket.options.clone().in_memory()).await.unwrap();
    let what = format!("STREAM.INFO.{}", bucket.stream());
    assert_eq!(bucket.api(&what, &Value::Null).await["config"]["storage"], "memory");
    assert!(store.warnings().iter().any(|weak| weak.contains("memory")), "{:?}", store.warnings());
    acquire(&store, &claim(&name("job"), Mode::Exclusive, TTL)).await;

    let error = connect(bucket.options.clone()).await.unwrap_err();
    assert!(matches!(error, Error::Misconfigured { .. }), "{error:?}");
}

#[tokio::test]
async fn a_server_without_jetstream_is_refused() {
    let server = Server::without_jetstream();
    answers(server.url()).await;
    let error = connect(options(server.url())).await.unwrap_err();
    assert!(matches!(error, Error::Misconfigured { .. }), "{error:?}");
}

#[rstest]
#[case::a_wrong_password("authorization { user: ann, password: right }")]
#[case::a_token_is_wanted("authorization { token: right }")]
#[tokio::test]
async fn a_refused_login_is_for_a_person_to_see_to(#[case] config: &str) {
    let server = Server::start(None, config);
    let refused = support::eventually(|| async {
        match connect(options(server.url()).user("ann", "wrong")).await {
            Err(Error::Unavailable { .. }) => None,
            other => Some(other),
        }
    });
    let error = refused.await.unwrap_err();
    assert!(matches!(error, Error::Misconfigured { .. }), "{error:?}");
}

#[rstest]
#[case::nobody_listens("nats://127.0.0.1:1")]
#[case::no_such_host("nats://no-such-host.invalid:4222")]
#[tokio::test]
async fn a_wrong_host_is_told_within_the_timeout(#[case] url: &str) {
    let start = SystemClock.now();
    let error = connect(options(url)).await.unwrap_err();
    assert!(
        matches!(error, Error::Unavailable { effect: Effect::Nothing, .. }),
        "nothing was asked of anybody: {error:?}"
    );
    assert!(SystemClock.now().since(start) < SECOND * 10);
}

#[tokio::test]
async fn a_bucket_is_created_only_where_that_is_wanted() {
    for options in [
        options(shared().url()).create(false),
        options(shared().url()).read_only(),
        // There is one server here.
        options(shared().url()).replicas(3),
    ] {
        let error = connect(options).await.unwrap_err();
        assert!(matches!(error, Error::Misconfigured { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn fewer_replicas_than_asked_for_are_refused() {
    let bucket = Bucket::by_hand(json!({})).await;
    let error = connect(bucket.options.clone().replicas(3)).await.unwrap_err();
    assert!(matches!(error, Error::Misconfigured { .. }), "{error:?}");
}

/// The bucket is deleted under a holder. Whoever comes next finds no free name but an error; and
/// the holder is told as well.
#[tokio::test]
async fn a_deleted_bucket_is_no_free_name() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let job = name("job");
    let anns = acquire(&ann, &claim(&job, Mode::Exclusive, TTL)).await;
    bucket.api(&format!("STREAM.DELETE.{}", bucket.stream()), &Value::Null).await;

    let mine = anns.holding.next_beat();
    let renewed = ann.renew(std::slice::from_ref(&mine)).await.remove(0);
    assert!(matches!(renewed, Err(Error::Misconfigured { .. })), "{renewed:?}");
    let confirmed = ann.confirm(&anns.holding).await;
    assert!(matches!(confirmed, Err(Error::Misconfigured { .. })), "{confirmed:?}");
    let taken = bob.take(&claim(&job, Mode::Exclusive, TTL), None, &Default::default()).await;
    assert!(matches!(taken, Err(Error::Misconfigured { .. })), "{taken:?}");
}

/// Somebody deletes the bucket and it is made again, by this library or by hand. Epochs go on
/// rising, also for writers, and whoever held by the old one has lost (case 16).
#[rstest]
#[tokio::test]
async fn a_bucket_that_is_made_again_goes_on_above_the_old_one(
    #[values(false, true)] is_by_hand: bool,
) {
    let bucket = Bucket::at(shared().url(), 1).await;
    let ann = bucket.connect().await;
    let (job, repo) = (name("job"), name("repo"));
    let mut last = acquire(&ann, &claim(&job, Mode::Exclusive, TTL)).await;
    for _ in 0..6 {
        ann.withdraw(&last.holding).await.unwrap();
        last = acquire(&ann, &claim(&job, Mode::Exclusive, TTL)).await;
    }
    let writer = acquire(&ann, &claim(&repo, Mode::Writer, TTL)).await;

    let stream = bucket.stream();
    bucket.api(&format!("STREAM.DELETE.{stream}"), &Value::Null).await;
    if is_by_hand {
        let config = json!({
            "name": stream, "subjects": [bucket.subject(">")], "max_msgs_per_subject": 1,
            "discard": "new", "allow_direct": true, "allow_msg_ttl": true,
        });
        bucket.api(&format!("STREAM.CREATE.{stream}"), &config).await;
    }
    let bob = bucket.connect().await;
    let bobs = acquire(&bob, &claim(&job, Mode::Exclusive, TTL)).await;
    assert!(bobs.epoch > last.epoch, "{} after {}", bobs.epoch, last.epoch);
    let other = acquire(&bob, &claim(&repo, Mode::Writer, TTL)).await;
    assert!(other.epoch > writer.epoch, "{} after {}", other.epoch, writer.epoch);

    // Ann is told by her next renewal, and does not touch Bob.
    let renewals = [last.holding.next_beat(), writer.holding.next_beat()];
    for (renewed, reason) in
        ann.renew(&renewals).await.into_iter().zip([LossReason::Displaced, LossReason::StateGone])
    {
        assert_eq!(renewed.unwrap(), Renewed::Lost(reason));
    }
    assert!(matches!(bob.confirm(&bobs.holding).await, Ok(Confirmed::Held { .. })));
}
