//! The application's runtime: its pool of blocking threads as small as it gets, its only thread busy.

use std::sync::Arc;

use futures::future::join_all;
use lease_core::backend::{Joined, Taken};
use lease_core::clock::{Clock, SystemClock, within};
use lease_core::{Backend, Claim, Coordinator, Error, Jitter, Mode, Name, Policy, Timing};
use lease_objstore::{ObjStore, Options, connect};

use crate::people::{SECOND, acquire, info};

fn claim(name: &Name, mode: Mode) -> Claim {
    let (name, nonce) = (name.clone(), Jitter::system().nonce());
    Claim { name, nonce, mode, ttl: SECOND * 60, info: info("ann") }
}

/// One whole life of a new name, with somebody in the way at every step.
async fn life(store: &ObjStore, another: &ObjStore, name: &Name) {
    let policy = Policy::expired();
    let mine = acquire(store, &claim(name, Mode::Exclusive)).await.holding;
    let taken = store.take(&claim(name, Mode::Exclusive), None, &policy).await.unwrap();
    assert!(matches!(taken, Taken::Refused(_)), "{taken:?}");
    let joined = store.join(&claim(name, Mode::Writer), &policy).await.unwrap();
    assert!(matches!(joined, Joined::Refused(_)), "{joined:?}");
    store.withdraw(&mine).await.unwrap();

    let mine = acquire(store, &claim(name, Mode::Writer)).await.holding;
    let exclusive = claim(name, Mode::Exclusive);
    let taken = store.take(&exclusive, None, &policy).await.unwrap();
    let Taken::Draining(draining) = taken else { panic!("a writer is there: {taken:?}") };
    store.withdraw(&mine).await.unwrap();
    let taken = store.take(&exclusive, Some(&draining), &policy).await.unwrap();
    let Taken::Granted(grant) = taken else { panic!("nobody is there: {taken:?}") };
    // Another process, which reads what it does not remember.
    another.withdraw(&grant.holding).await.unwrap();
    assert!(store.observe(name).await.unwrap().is_free());
}

/// Many names at once, and one thread: no step waits for a second one while it has the first.
#[test]
fn one_thread_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let done = runtime.block_on(async {
        let open = || async { connect(Options::local(folder.path())).await.unwrap() };
        let (store, another) = (open().await, open().await);
        let names: Vec<Name> = (0..8).map(|n| format!("job {n}").parse().unwrap()).collect();
        let lives = join_all(names.iter().map(|name| life(&store, &another, name)));
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        within(&clock, SECOND * 60, lives).await
    });
    // Not dropped: that would wait for a thread that waits for ever.
    runtime.shutdown_background();
    done.expect("the steps wait for each other");
}

/// The only thread of the runtime that opened the folder does something else for three ttls. Renewals
/// come from elsewhere and do not wait for it: the lease's own check, the folder and whoever asks for
/// it say the same. (Case 10.)
#[tokio::test(flavor = "current_thread")]
async fn a_lease_whose_runtime_is_blocked() {
    let ttl = SECOND * 2;
    let folder = tempfile::tempdir().unwrap();
    let leases = |store| {
        let timing = Timing::with_ttl(ttl).build().unwrap();
        Coordinator::builder(Arc::new(store)).timing(timing).build()
    };
    let open = || async { connect(Options::local(folder.path())).await.unwrap() };
    let lease = leases(open().await).exclusive("job").acquire().await.unwrap();

    let until = SystemClock.now().plus(ttl * 3);
    while SystemClock.now() < until {
        std::thread::park_timeout(until.since(SystemClock.now()));
    }

    lease.check().expect("it was renewed meanwhile");
    lease.confirm().await.expect("nobody could take it");
    let others = leases(open().await).exclusive("job").acquire().await;
    assert!(matches!(others, Err(Error::Held { .. })), "{others:?}");
}
