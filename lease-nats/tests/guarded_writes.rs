//! What a node that writes a store relies on: it writes only under its lease, proven at the server
//! right before; not while whom it took over from may still be at work; and it knows "another has
//! it" from "nobody answers".
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lease_core::clock::SystemClock;
use lease_core::{Backend, BreakNote, Clock, Coordinator, Error, Lease, Mode, Timing};
use lease_nats::Nats;

use support::bucket::Bucket;
use support::server::shared;
use support::{SECOND, acquire, claim, eventually, name, pass};

const TTL: Duration = Duration::from_secs(2);
const GRACE: Duration = Duration::from_millis(1500);

fn leases(store: Nats) -> Coordinator {
    let timing = Timing::with_ttl(TTL).grace(GRACE).build().unwrap();
    Coordinator::builder(Arc::new(store)).timing(timing).build()
}

/// Writes under the lease, if that may be; counts the writes that were really made.
async fn writes(lease: &Lease, made: &AtomicUsize) -> Result<(), Error> {
    let write = |_| async { made.fetch_add(1, Ordering::SeqCst) };
    lease.guard(write).await.map(|_| ())
}

/// The runtime in which the client was made has one thread, and that one does something else for longer
/// than three ttls: neither the keeper nor the connection waits for it. (Case 10.)
#[tokio::test(flavor = "current_thread")]
async fn a_blocked_runtime_does_not_keep_renewals_waiting() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let lease = leases(bucket.connect().await).exclusive("store").acquire().await.unwrap();
    let until = SystemClock.now().plus(TTL * 3);
    while SystemClock.now() < until {
        std::thread::park_timeout(until.since(SystemClock.now()));
    }
    lease.check().unwrap();
    lease.confirm().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_took_over_lets_the_old_holder_finish_first() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    acquire(&ann, &claim(&name("store"), Mode::Exclusive, SECOND)).await;
    let made = AtomicUsize::new(0);

    let lease = leases(bob).exclusive("store").wait(SECOND * 20).acquire().await.unwrap();
    let granted = SystemClock.now();
    let early = writes(&lease, &made).await;
    assert!(matches!(early, Err(Error::NotYet { .. })), "{early:?}");
    let done = eventually(|| async { writes(&lease, &made).await.ok() });
    done.await;
    assert!(SystemClock.now().since(granted) >= GRACE - SECOND / 10, "the grace was cut short");
    assert_eq!(made.load(Ordering::SeqCst), 1);

    // A clean hand-over has nobody to wait for.
    lease.release().await.unwrap();
    let lease = leases(ann).exclusive("store").acquire().await.unwrap();
    writes(&lease, &made).await.unwrap();
}

/// The lease goes while its holder still believes in it: the proof at the commit point finds it out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_went_in_between_writes_nothing() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let made = AtomicUsize::new(0);
    let lease = leases(ann).exclusive("store").acquire().await.unwrap();
    writes(&lease, &made).await.unwrap();

    let note = BreakNote::new("op", "test");
    bob.break_record(&name("store"), lease.nonce(), &note).await.unwrap();
    let late = writes(&lease, &made).await;
    assert!(matches!(late, Err(Error::Lost { .. })), "{late:?}");
    assert_eq!(made.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn held_by_another_and_nobody_answers_are_told_apart() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let bob = bucket.connect().await;
    let (ann, proxy) = bucket.behind_a_proxy(SECOND / 2).await;
    let theirs = leases(bob).exclusive("theirs").acquire().await.unwrap();
    let ann = leases(ann);

    let held = ann.exclusive("theirs").acquire().await;
    assert!(matches!(held, Err(Error::Held { .. })), "{held:?}");
    proxy.black_hole();
    for name in ["theirs", "nobodys"] {
        let gone = ann.exclusive(name).acquire().await;
        assert!(matches!(gone, Err(Error::Unavailable { .. })), "{gone:?}");
    }
    theirs.release().await.unwrap();
}

/// The coordinator is gone for longer than the ttl: not one write from the first moment on, the
/// lease is lost by its own clock within the ttl, and when the servers are back there is a new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_coordinator_nothing_is_written() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, proxy) = bucket.behind_a_proxy(SECOND / 2).await;
    let ann = leases(ann);
    let made = AtomicUsize::new(0);
    let lease = ann.exclusive("store").acquire().await.unwrap();
    writes(&lease, &made).await.unwrap();

    proxy.black_hole();
    let start = SystemClock.now();
    let refused = writes(&lease, &made).await;
    assert!(matches!(refused, Err(Error::Unavailable { .. } | Error::Lost { .. })), "{refused:?}");
    lease.lost().await;
    let told = SystemClock.now().since(start);
    assert!(told <= TTL, "the loss was told after {told:?}");
    pass(SECOND).await;
    let refused = writes(&lease, &made).await;
    assert!(matches!(refused, Err(Error::Lost { .. })), "{refused:?}");
    assert_eq!(made.load(Ordering::SeqCst), 1);

    proxy.heal();
    let again = eventually(|| async { ann.exclusive("store").acquire().await.ok() }).await;
    assert!(again.epoch() > lease.epoch());
}

/// An outage that ends while the belief still stands costs nothing (case 20).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_outage_surrenders_nothing() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, proxy) = bucket.behind_a_proxy(SECOND / 4).await;
    let made = AtomicUsize::new(0);
    let lease = leases(ann).exclusive("store").acquire().await.unwrap();

    proxy.black_hole();
    pass(SECOND).await;
    proxy.heal();
    // For longer than it could be believed in without a renewal.
    let end = SystemClock.now().plus(TTL + SECOND);
    while SystemClock.now() < end {
        lease.check().unwrap();
        pass(SECOND / 20).await;
    }
    writes(&lease, &made).await.unwrap();
}

/// The network goes dark, without a word. The loss is told by the ttl, before anybody else may hold;
/// and when it is back nothing is still stuck (case 14).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_goes_dark_is_told_before_another_holds() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let bob = leases(bucket.connect().await);
    let (ann, proxy) = bucket.behind_a_proxy(SECOND / 2).await;
    let ann = leases(ann);
    let lease = ann.exclusive("store").acquire().await.unwrap();

    proxy.black_hole();
    let dark = SystemClock.now();
    let (lost, (theirs, granted)) = tokio::join!(
        async {
            lease.lost().await;
            SystemClock.now()
        },
        async {
            let theirs = bob.exclusive("store").wait(SECOND * 20).acquire().await.unwrap();
            (theirs, SystemClock.now())
        }
    );
    assert!(lost.since(dark) <= TTL, "the loss was told after {:?}", lost.since(dark));
    assert!(granted >= lost, "another held before the loss was told");
    assert!(theirs.epoch() > lease.epoch());
    theirs.release().await.unwrap();

    proxy.heal();
    let healed = SystemClock.now();
    let again = eventually(|| async { ann.exclusive("store").acquire().await.ok() }).await;
    assert!(SystemClock.now().since(healed) <= SECOND * 2, "something was stuck");
    again.release().await.unwrap();
}
