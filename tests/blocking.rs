//! A program without a runtime.

#![expect(clippy::unwrap_used, reason = "a story fails by panicking")]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use leasehold::blocking::{Coordinator, connect};
use leasehold::{BreakNote, Error, LossReason, Released, Timing};

const MINUTE: Duration = Duration::from_secs(60);

fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", folder.path().display());
    (folder, url)
}

/// Two threads that know nothing of async: one waits until the other lets go, and comes after it.
#[test]
fn two_threads_take_turns() {
    let (_folder, url) = folder();
    let anns = connect(&url).unwrap().exclusive("job").acquire().unwrap();
    let (waits, waiting) = mpsc::channel();
    let bob = thread::spawn(move || {
        let bob = connect(&url).unwrap();
        let ask = bob.exclusive("job").wait(MINUTE);
        let lease = ask.on_wait(move |_| waits.send(()).unwrap_or_default()).acquire().unwrap();
        (lease.epoch(), lease.release().unwrap())
    });
    waiting.recv().unwrap();
    assert!(anns.check().is_ok());
    let epoch = anns.epoch();
    assert_eq!(anns.release().unwrap(), Released::Freed);

    let (later, released) = bob.join().unwrap();
    assert!(later > epoch);
    assert_eq!(released, Released::Freed);
}

/// The lease is renewed while its only thread does something else, and a guard runs on that thread.
#[test]
fn the_work_may_block_for_longer_than_the_ttl() {
    let (_folder, url) = folder();
    let leases = connect(&url).unwrap();
    let ttl = Timing::with_ttl(Duration::from_millis(1500)).build().unwrap();
    let lease = leases.exclusive("job").timing(ttl).acquire().unwrap();
    let begun = lease.check().unwrap().believed_until();
    // The work: it blocks until the belief that it began with is long over.
    while leasehold::Clock::now(&leasehold::clock::SystemClock) < begun {
        thread::park_timeout(Duration::from_millis(100));
    }
    let here = thread::current().id();
    let ran_on = lease.guard(|fence| (thread::current().id(), fence.epoch())).unwrap();
    assert_eq!(ran_on, (here, lease.epoch()));
    drop(lease);
}

/// The loss wakes a thread that waits for it.
#[test]
fn a_thread_is_told_of_the_loss() {
    let leases = connect("memory:").unwrap();
    let lease = leases.exclusive("job").acquire().unwrap();
    let (name, nonce, stop) = (lease.name().clone(), lease.nonce(), lease.cancellation());
    thread::scope(|scope| {
        let told = scope.spawn(|| lease.lost().unwrap());
        let operator = leases.clone();
        scope.spawn(move || {
            let note = BreakNote::new("op", "it hangs");
            pollster::block_on(operator.as_async().break_record(&name, nonce, &note)).unwrap();
        });
        assert_eq!(told.join().unwrap(), LossReason::Displaced);
    });
    assert!(stop.is_cancelled());
    assert!(matches!(lease.guard(|_| ()), Err(Error::Lost { .. })));
}

/// A lease moves to a coordinator that was built by hand, and its ticket works once.
#[test]
fn a_ticket_moves_a_lease() {
    let leases = connect("memory:").unwrap();
    let heir = Coordinator::of(leases.as_async().clone());
    let ticket = leases.writer("job").acquire().unwrap().into_ticket().unwrap();
    let lease = heir.redeem(&ticket).unwrap();
    assert!(matches!(leases.redeem(&ticket), Err(Error::Lost { .. })));
    assert_eq!(heir.status(lease.name()).unwrap().writers.len(), 1);
    assert_eq!(heir.names().unwrap(), [lease.name().clone()]);
    drop(lease);
}

/// It may be called within a runtime that somebody else has: it blocks, and does not panic.
#[tokio::test]
async fn within_a_runtime_it_blocks_and_does_not_panic() {
    let lease = connect("memory:").unwrap().exclusive("job").acquire().unwrap();
    assert_eq!(lease.release().unwrap(), Released::Freed);
}
