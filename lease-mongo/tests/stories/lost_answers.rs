//! Requests that got through and whose answers did not, and connections that break in the middle.

use std::time::Duration;

use lease_core::backend::{Joined, Renewed, Taken, Withdrawn};
use lease_core::{Backend, Effect, Error, Mode, Policy};
use lease_mongo::Mongo;
use mongodb::bson::doc;
use testbed::{FaultProxy, Spoil};

use crate::support::wire::{alone, claim, fail, overheard};
use crate::support::{connected, fresh_database, options, primary_address, shell, url};

/// A client behind a network that can be spoilt, one that is not, and the network.
pub(crate) async fn behind_a_proxy(database: &str) -> (Mongo, Mongo, FaultProxy) {
    let proxy = FaultProxy::start(primary_address()).await.expect("a proxy");
    let url =
        format!("mongodb://{}/{database}?directConnection=true&timeoutMS=2000", proxy.address());
    let options = lease_mongo::Options::parse(&url).expect("a URL");
    let ann = lease_mongo::connect(options).await.expect("the server is there");
    (ann, connected(database).await, proxy)
}

pub(crate) fn is_unclear<T: std::fmt::Debug>(answer: &Result<T, Error>) {
    let unclear = matches!(answer, Err(Error::Unavailable { effect: Effect::Unknown, .. }));
    assert!(unclear, "nothing may be assumed: {answer:?}");
}

/// The same attempt repeated after a lost answer finds what the first one did, and counts once.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_attempt_again_counts_once() {
    for spoil in [Spoil::Reset, Spoil::Silence] {
        let (ann, bob, proxy) = behind_a_proxy(&fresh_database()).await;
        let policy = Policy::expired();

        let claim = claim("a", Mode::Exclusive);
        proxy.lose_answer_to("findAndModify", spoil);
        is_unclear(&ann.take(&claim, None, &policy).await);
        let granted = bob.observe(&claim.name).await.expect("an answer");
        assert_eq!(granted.exclusive.expect("it got through").nonce, claim.nonce);
        proxy.heal();
        let grant = again(|| ann.take(&claim, None, &policy)).await;
        let Taken::Granted(grant) = grant else { panic!("it is hers: {grant:?}") };
        assert_eq!(grant.epoch, granted.epoch, "a repeated take must raise nothing");

        let beat = grant.holding.next_beat();
        proxy.lose_answer_to("update", spoil);
        is_unclear(&ann.renew(std::slice::from_ref(&beat)).await.remove(0));
        proxy.heal();
        let renewed = again(|| async { ann.renew(&[beat.next_beat()]).await.remove(0) }).await;
        assert!(matches!(renewed, Renewed::Renewed { .. }), "her own write is hers: {renewed:?}");

        proxy.lose_answer_to("update", spoil);
        is_unclear(&ann.withdraw(&grant.holding).await);
        proxy.heal();
        let withdrawn = again(|| ann.withdraw(&grant.holding)).await;
        assert_eq!(withdrawn, Withdrawn::NotThere, "it was removed the first time");
        assert!(bob.observe(&claim.name).await.expect("an answer").is_free());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_join_is_the_same_writer() {
    let (ann, bob, proxy) = behind_a_proxy(&fresh_database()).await;
    let (claim, policy) = (claim("a", Mode::Writer), Policy::expired());
    proxy.lose_answer_to("findAndModify", Spoil::Reset);
    is_unclear(&ann.join(&claim, &policy).await);
    proxy.heal();
    let joined = again(|| ann.join(&claim, &policy)).await;
    assert!(matches!(joined, Joined::Granted(_)), "{joined:?}");
    assert_eq!(bob.observe(&claim.name).await.expect("an answer").writers.len(), 1);
}

/// Asks until the connection is there again: a client behind a proxy finds out by itself.
pub(crate) async fn again<T, W: Future<Output = Result<T, Error>>>(ask: impl Fn() -> W) -> T {
    for _ in 0..20 {
        if let Ok(answer) = ask().await {
            return answer;
        }
    }
    panic!("the network was healed");
}

/// Each request is sent once: what is repeated, the caller repeats, with a belief of its own.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_repeated_behind_the_callers_back() {
    let _alone = alone().await;
    let name = fresh_database();
    let shell = shell(&url(&name).replace("&timeoutMS=10000", "")).await;
    let (options, wire) = overheard(options(&name));
    let app = name.clone();
    let listener = wire.clone();
    let options = options.driver(move |driver| {
        driver.app_name = Some(app.clone());
        listener.listen(driver);
    });
    let mongo = lease_mongo::connect(options).await.expect("the replica set is there");
    let policy = Policy::expired();

    let claim = claim("a", Mode::Exclusive);
    for failure in [
        doc! { "closeConnection": true },
        doc! { "errorCode": 10107, "errorLabels": ["RetryableWriteError"] },
        doc! { "errorCode": 462, "errorLabels": ["RetryableError", "SystemOverloadedError"] },
    ] {
        let mut data = doc! { "failCommands": ["findAndModify"] };
        data.extend(failure);
        fail(&shell, &name, 1, data).await;
        wire.sent();
        let taken = mongo.take(&claim, None, &policy).await;
        is_unclear(&taken);
        assert_eq!(wire.names(), ["findAndModify"], "one call is one request");
    }
    let taken = again(|| mongo.take(&claim, None, &policy)).await;
    assert!(matches!(taken, Taken::Granted(_)), "{taken:?}");
}

/// A server that does not answer is noticed within the timeout, whatever is asked of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_is_an_outage_in_bounded_time() {
    use lease_core::Clock;
    let (ann, _, proxy) = behind_a_proxy(&fresh_database()).await;
    proxy.black_hole();
    for _ in 0..3 {
        let start = lease_core::clock::SystemClock.now();
        let taken = ann.take(&claim("a", Mode::Exclusive), None, &Policy::expired()).await;
        assert!(matches!(taken, Err(Error::Unavailable { .. })), "{taken:?}");
        let took = lease_core::clock::SystemClock.now().since(start);
        assert!(took < Duration::from_millis(3500), "{took:?} is longer than the timeout");
    }
}
