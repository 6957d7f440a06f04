//! The rights that the README asks for are enough for all that a holder does; and a holder that loses
//! them is told so (cases 20, 37).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;

use lease_core::backend::Confirmed;
use lease_core::clock::SystemClock;
use lease_core::{Backend, BreakNote, Clock, Coordinator, Error, LossReason, Mode, Timing};
use lease_nats::{Nats, Options, connect};

use support::server::Server;
use support::{SECOND, TTL, acquire, claim, eventually, fresh, name, pass, renew};

/// To look only.
const LOOK: &str = r#"
    "$JS.API.STREAM.INFO.KV_leases", "$JS.API.STREAM.MSG.GET.KV_leases",
    "$JS.API.DIRECT.GET.KV_leases" "#;
/// What to hold takes beyond that.
const HOLD: &str = r#", "$KV.leases.>", "$JS.API.CONSUMER.CREATE.KV_leases.>" "#;
/// What to create the bucket takes beyond that.
const CREATE: &str = r#", "$JS.API.STREAM.CREATE.KV_leases" "#;

/// Users with the rights that the README lists, each of them more than the one before.
fn users(holders: &str) -> String {
    let user = |name: &str, rights: &str| {
        format!(
            "{{ user: {name}, password: p, permissions: {{
                publish: [ {LOOK} {rights} ], subscribe: [ \"_INBOX.>\" ] }} }}"
        )
    };
    let (reader, maker) = (user("reader", ""), user("maker", &format!("{HOLD}{CREATE}")));
    format!("authorization {{ users: [ {reader}, {}, {maker} ] }}\n", user("holder", holders))
}

/// A server that has the bucket, and how to open that.
async fn served() -> (Server, Options) {
    let server = Server::start(None, &users(HOLD));
    let options = Options::new([server.url()], "leases").timeout(SECOND);
    let maker = options.clone().user("maker", "p");
    eventually(|| async { connect(maker.clone()).await.ok() }).await;
    (server, options)
}

async fn holder(options: &Options) -> Nats {
    connect(options.clone().user("holder", "p")).await.unwrap()
}

#[tokio::test]
async fn those_of_the_readme_are_enough() {
    let (_server, options) = served().await;
    let store = holder(&options).await;
    let repo = name("repo");
    let mut watch = store.watch(&repo).await.unwrap();
    let writer = acquire(&store, &claim(&repo, Mode::Writer, TTL)).await.holding;
    watch.changed().await.unwrap();
    assert!(matches!(store.confirm(&writer).await, Ok(Confirmed::Held { .. })));
    let writer = renew(&store, &writer).await;
    let draining = support::drain(&store, &claim(&repo, Mode::Exclusive, TTL)).await;
    store.withdraw(&writer).await.unwrap();
    store.withdraw(&draining.holding).await.unwrap();
    let taken = acquire(&store, &claim(&repo, Mode::Exclusive, TTL)).await.holding;

    let reader = connect(options.user("reader", "p").read_only()).await.unwrap();
    let seen = reader.inspect(&repo).await.unwrap();
    assert_eq!(seen.exclusive.map(|record| record.nonce), Some(taken.nonce));
    assert_eq!(reader.names().await.unwrap(), std::slice::from_ref(&repo));

    let note = BreakNote::new("op", "test");
    store.break_record(&repo, taken.nonce, &note).await.unwrap();
}

#[tokio::test]
async fn a_bucket_that_one_may_not_create_is_for_a_person_to_see_to() {
    let server = Server::start(None, &users(HOLD));
    let options = Options::new([server.url()], "leases").timeout(SECOND * 3).user("holder", "p");
    let told = eventually(|| async {
        match connect(options.clone()).await {
            // It has not started yet.
            Err(Error::Unavailable { .. }) => None,
            told => Some(told),
        }
    });
    let told = told.await;
    assert!(matches!(told, Err(Error::Misconfigured { .. })), "{told:?}");
}

/// Who may only look and waits for a lease is told within seconds, not when the wait is over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_not_write_does_not_wait() {
    let (_server, options) = served().await;
    let store = connect(options.user("reader", "p")).await.unwrap();
    let start = SystemClock.now();
    for mode in [Mode::Writer, Mode::Exclusive] {
        let leases = Coordinator::new(Arc::new(store.clone()));
        let asks = match mode {
            Mode::Writer => leases.writer("job"),
            Mode::Exclusive => leases.exclusive("job"),
        };
        let told = asks.wait(SECOND * 60).acquire().await;
        assert!(matches!(told, Err(Error::Misconfigured { .. })), "{told:?}");
    }
    assert!(SystemClock.now().since(start) < SECOND * 5);
}

/// Rights that are taken away and given back within the ttl cost nothing. For good, they end the
/// lease by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_that_are_taken_away_end_a_lease_at_its_ttl() {
    const TTL: std::time::Duration = std::time::Duration::from_secs(3);
    let (server, options) = served().await;
    let store = holder(&options).await;
    let timing = Timing::with_ttl(TTL).build().unwrap();
    let leases = Coordinator::builder(Arc::new(store.clone())).timing(timing).build();
    let lease = leases.exclusive("job").acquire().await.unwrap();

    server.reload(&users("")).await;
    pass(SECOND * 3 / 2).await;
    let claim = claim(&name(&fresh()), Mode::Exclusive, TTL);
    let denied = store.take(&claim, None, &Default::default()).await;
    assert!(matches!(denied, Err(Error::Misconfigured { .. })), "{denied:?}");
    server.reload(&users(HOLD)).await;
    let end = SystemClock.now().plus(TTL + SECOND);
    while SystemClock.now() < end {
        lease.check().unwrap();
        pass(SECOND / 20).await;
    }

    server.reload(&users("")).await;
    let start = SystemClock.now();
    assert_eq!(lease.lost().await, LossReason::Expired);
    assert!(SystemClock.now().since(start) <= TTL);
}
