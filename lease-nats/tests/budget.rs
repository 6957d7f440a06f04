//! What each step costs, in requests, counted exactly; and that who waits asks nothing.
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use lease_core::backend::{Confirmed, Joined, Renewed, Taken};
use lease_core::clock::SystemClock;
use lease_core::{Backend, Claim, Clock, Grant, Holding, Mode, Name, Policy};
use lease_nats::Nats;

use support::bucket::Bucket;
use support::distance::far;
use support::server::shared;
use support::{SECOND, TTL, acquire, claim, drain, name, open, options, pass, renew};

/// Runs one step and says how many requests it took.
async fn cost<T>(store: &Nats, step: impl Future<Output = T>) -> (u64, T) {
    let before = store.requests();
    let answer = step.await;
    (store.requests() - before, answer)
}

async fn takes(store: &Nats, name: &Name) -> (u64, Grant) {
    let claim = claim(name, Mode::Exclusive, TTL);
    cost(store, async { acquire(store, &claim).await }).await
}

async fn joins(store: &Nats, name: &Name) -> (u64, Grant) {
    let claim = claim(name, Mode::Writer, TTL);
    cost(store, async { acquire(store, &claim).await }).await
}

async fn releases(store: &Nats, mine: &Holding) -> u64 {
    let (cost, withdrawn) = cost(store, store.withdraw(mine)).await;
    withdrawn.expect("the store answers");
    cost
}

async fn renews(store: &Nats, mine: &Holding) -> (u64, Holding) {
    cost(store, renew(store, mine)).await
}

async fn confirms(store: &Nats, mine: &Holding) -> u64 {
    let (cost, confirmed) = cost(store, store.confirm(mine)).await;
    assert!(matches!(confirmed, Ok(Confirmed::Held { .. })), "it is held: {confirmed:?}");
    cost
}

#[tokio::test]
async fn an_exclusive_costs_one_request_for_each_step() {
    let store = open(shared().url()).await;
    let job = name("job");

    let (first, grant) = takes(&store, &job).await;
    assert_eq!(first, 3, "of a new name: look, ask for the time, write");
    let (renew, mine) = renews(&store, &grant.holding).await;
    assert_eq!((renew, confirms(&store, &mine).await, releases(&store, &mine).await), (1, 1, 1));

    for _ in 0..3 {
        let (take, grant) = takes(&store, &job).await;
        assert_eq!(take, 1, "where no writer can be it is granted by its first write");
        assert_eq!(releases(&store, &grant.holding).await, 1);
    }
}

#[tokio::test]
async fn the_page_of_costs_is_true() {
    let store = open(shared().url()).await;
    let mut before = 0;
    let since = || {
        let made = store.requests() - before;
        before += made;
        usize::try_from(made).expect("a few")
    };
    assert_eq!(measure::costs::measured(&store, since).await, measure::costs::told("NATS"));
}

#[tokio::test]
async fn a_client_that_does_not_know_the_name_looks_first() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let job = name("job");
    let (_, anns) = takes(&ann, &job).await;
    releases(&ann, &anns.holding).await;

    let (cost, bobs) = takes(&bob, &job).await;
    assert_eq!(cost, 2, "look, write");
    releases(&bob, &bobs.holding).await;
    let (cost, _) = takes(&ann, &job).await;
    assert_eq!(cost, 3, "what she remembered was old: write, look, write");
}

#[tokio::test]
async fn a_writer_costs_one_write_and_hears_of_drains_beside_it() {
    let store = open(shared().url()).await;
    let repo = name("repo");
    let (first, one) = joins(&store, &repo).await;
    assert_eq!(first, 4, "of a new name: look, ask for the time, open it to writers, write");

    let (join, two) = joins(&store, &repo).await;
    assert_eq!(join, 1);
    let (renew, two) = renews(&store, &two.holding).await;
    assert_eq!(renew, 2, "the renewal, and a look at the anchor that goes out with it");
    assert_eq!(confirms(&store, &two).await, 2);
    assert_eq!(releases(&store, &two).await, 1);
    assert_eq!(releases(&store, &one.holding).await, 1);

    let (take, grant) = takes(&store, &repo).await;
    assert_eq!(take, 4, "after writers: install, two lists at once, commit");
    releases(&store, &grant.holding).await;
    let (take, grant) = takes(&store, &repo).await;
    assert_eq!(take, 1, "no writer has come since");
    releases(&store, &grant.holding).await;
    assert_eq!(joins(&store, &repo).await.0, 2, "open it to writers again, write");
}

#[tokio::test]
async fn who_is_refused_asks_once() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let job = name("job");
    takes(&ann, &job).await;

    for mode in [Mode::Exclusive, Mode::Writer] {
        let claim = claim(&job, mode, TTL);
        for _ in 0..2 {
            let (cost, refused) = cost(&bob, async {
                let policy = Policy::expired();
                match mode {
                    Mode::Writer => {
                        matches!(bob.join(&claim, &policy).await, Ok(Joined::Refused(_)))
                    }
                    Mode::Exclusive => {
                        matches!(bob.take(&claim, None, &policy).await, Ok(Taken::Refused(_)))
                    }
                }
            })
            .await;
            assert!(refused && cost == 1, "{mode}: {cost}");
        }
    }
}

#[tokio::test]
async fn a_takeover_proves_that_what_is_there_is_stale() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let job = name("job");
    acquire(&ann, &claim(&job, Mode::Exclusive, SECOND)).await;
    pass(SECOND + SECOND / 10).await;
    let (cost, grant) = takes(&bob, &job).await;
    assert!(grant.took_over);
    assert_eq!(cost, 5, "look, a write of one's own, two lists that show it, write");
}

#[tokio::test]
async fn a_round_of_a_drain_is_a_renewal_and_two_lists() {
    let store = open(shared().url()).await;
    let repo = name("repo");
    joins(&store, &repo).await;
    let claim = claim(&repo, Mode::Exclusive, TTL);
    let draining = drain(&store, &claim).await;
    let policy = Policy::expired();
    let (cost, taken) = cost(&store, store.take(&claim, Some(&draining), &policy)).await;
    assert!(matches!(taken, Ok(Taken::Draining(_))), "{taken:?}");
    assert_eq!(cost, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_leases_are_renewed_side_by_side() {
    const LEASES: usize = 1000;
    // As far as a server in the next country.
    let url = far(shared().url(), Duration::from_millis(40)).await;
    // All are taken at once as well, on a machine that has other things to do.
    let store = lease_nats::connect(options(&url).timeout(SECOND * 20)).await.unwrap();
    let claims: Vec<Claim> = (0..LEASES)
        .map(|i| claim(&name(&format!("store/{i}")), Mode::Exclusive, SECOND * 60))
        .collect();
    let taken = claims.iter().map(|claim| acquire(&store, claim));
    let grants = futures::future::join_all(taken).await;
    let mut due: Vec<Holding> = grants.into_iter().map(|grant| grant.holding).collect();
    let mut best = (Duration::MAX, Duration::ZERO);
    // The best of several: others use this machine too.
    for _ in 0..5 {
        let start = SystemClock.now();
        due[0] = renews(&store, &due[0]).await.1;
        let one = SystemClock.now().since(start);
        let next: Vec<Holding> = due.iter().map(Holding::next_beat).collect();
        let start = SystemClock.now();
        let (cost, answers) = cost(&store, store.renew(&next)).await;
        let all = SystemClock.now().since(start);
        assert_eq!(cost, LEASES as u64, "one request for each");
        let renewed = next.iter().zip(answers).map(|(one, answer)| match answer {
            Ok(Renewed::Renewed { revision, .. }) => one.acknowledged(revision),
            other => panic!("it is held: {other:?}"),
        });
        due = renewed.collect();
        best = best.min((all, one));
    }
    let (all, one) = best;
    // One after the other they take a thousand times as long; `benches/against_raw.rs` measures it.
    assert!(all < one * 50, "{LEASES} took {all:?}, and one {one:?}");
}

/// Nobody asks again and again: the release itself wakes who waits, who then asks once.
#[tokio::test]
async fn a_waiter_is_woken_by_the_release_and_takes_with_one_look() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let job = name("job");
    let (_, anns) = takes(&ann, &job).await;
    let mut watch = bob.watch(&job).await.expect("push is promised");

    let (waiting, woken) = cost(&bob, async {
        let (woken, withdrawn) = tokio::join!(watch.changed(), ann.withdraw(&anns.holding));
        withdrawn.expect("the store answers");
        woken
    })
    .await;
    woken.expect("push is there");
    let (taking, _) = takes(&bob, &job).await;
    assert_eq!((waiting, taking), (0, 2), "to wait, and to look and write");
}
