//! A future may be dropped at any await: its record ends one ttl later, and the client goes on.

use std::future::Future;
use std::sync::Arc;

use lease_core::backend::{Joined, Taken};
use lease_core::layer::{Fault, Faulty, Method};
use lease_core::{Backend, Name, Policy};

use super::{LONG, part, unacknowledged};
use crate::interrupt::{polled, with_a_stop_at_each_step};
use crate::{Fixture, Worker};

/// More awaits than any step of any store has.
const MOST_POLLS: usize = 2000;

/// A writer's handshake, dropped at each of its awaits.
pub async fn an_abandoned_join_expires(store: &dyn Fixture, name: Name) {
    for client in clients(store).await {
        let ann = Worker::with(store, client, "ann");
        abandons(store, &ann, &name, async |name| {
            let joined = ann.backend().join(&ann.writer(&name), &Policy::expired()).await;
            assert!(matches!(joined, Ok(Joined::Granted(_))), "nobody is in the way: {joined:?}");
        })
        .await;
    }
}

/// An exclusive's handshake, dropped at each of its awaits.
pub async fn an_abandoned_take_expires(store: &dyn Fixture, name: Name) {
    for client in clients(store).await {
        let ann = Worker::with(store, client, "ann");
        abandons(store, &ann, &name, async |name| {
            let taken = ann.backend().take(&ann.exclusive(&name), None, &Policy::expired()).await;
            assert!(matches!(taken, Ok(Taken::Granted(_))), "nobody is in the way: {taken:?}");
        })
        .await;
    }
}

/// Every single step, dropped at each of its awaits.
pub async fn an_abandoned_step_expires(store: &dyn Fixture, name: Name) {
    for client in clients(store).await {
        let ann = Worker::with(store, client, "ann");
        abandons(store, &ann, &part(&name, "register"), async |name| {
            ann.backend().register(&ann.writer(&name)).await.expect("the store answers");
        })
        .await;
        abandons(store, &ann, &part(&name, "install"), async |name| {
            let seen = ann.sees(&name).await;
            let claim = ann.exclusive(&name);
            ann.backend().install(&claim, &seen, None).await.expect("the store answers");
        })
        .await;
    }
}

/// A renewal and a withdrawal, dropped at each await: the lease goes on or it does not, and the
/// next call finds out.
pub async fn an_abandoned_renewal_or_release_is_made_up_for(store: &dyn Fixture, name: Name) {
    for client in clients(store).await {
        let ann = Worker::with(store, client, "ann");
        let mut mine = ann.takes(&name).await.holding;
        for polls in 1..MOST_POLLS {
            mine = mine.next_beat();
            let sent = std::slice::from_ref(&mine);
            if polled(polls, ann.backend().renew(sent)).await.is_some() {
                break;
            }
            mine = ann.renews(&mine).await;
        }
        for polls in 1..MOST_POLLS {
            let done = polled(polls, ann.backend().withdraw(&mine)).await.is_some();
            // Whatever became of that one, this one is the certain way.
            ann.withdraws(&mine).await;
            assert!(ann.sees(&name).await.is_free(), "a repeated release must free the name");
            if done {
                break;
            }
            mine = ann.takes(&name).await.holding;
        }
    }
}

/// A caller that goes away after its request got through takes its record out by its nonce, and
/// nobody has to wait for the ttl.
pub async fn a_withdrawal_after_a_drop_frees_the_name(store: &dyn Fixture, name: Name) {
    let parked = Faulty::new(store.connect().await);
    let ann = Worker::with(store, Arc::new(parked.clone()), "ann").with_ttl(LONG);
    let bob = Worker::new(store, "bob").await;
    let policy = Policy::expired();

    for (method, call) in [(Method::Observe, 1), (Method::Register, 1), (Method::Observe, 2)] {
        let claim = ann.writer(&name);
        for _ in 1..call {
            parked.next(method, Fault::around(|| Box::pin(async {})));
        }
        let gate = parked.hold_answer(method);
        tokio::select! {
            joined = parked.join(&claim, &policy) => panic!("it is parked: {joined:?}"),
            () = gate.reached() => {}
        }
        ann.withdraws(&unacknowledged(&claim)).await;
        assert!(bob.sees(&name).await.is_free(), "a withdrawal must leave nothing behind");
        bob.releases(&bob.takes(&name).await.holding).await;
    }
    for method in [Method::Observe, Method::Install, Method::Commit] {
        let claim = ann.exclusive(&name);
        let gate = parked.hold_answer(method);
        tokio::select! {
            taken = parked.take(&claim, None, &policy) => panic!("parked: {taken:?}"),
            () = gate.reached() => {}
        }
        ann.withdraws(&unacknowledged(&claim)).await;
        assert!(bob.sees(&name).await.is_free(), "a withdrawal must leave nothing behind");
        bob.releases(&bob.takes(&name).await.holding).await;
    }
}

/// Does `work` on one name after another, each time dropping it one await later, until it comes to
/// its end; then all of them must be free one ttl later, and the client of use.
async fn abandons<W: Future<Output = ()> + Send>(
    store: &dyn Fixture,
    ann: &Worker<'_>,
    name: &Name,
    work: impl Fn(Name) -> W,
) {
    let mut names = Vec::new();
    for polls in 1..MOST_POLLS {
        let name = part(name, polls);
        names.push(name.clone());
        if polled(polls, work(name)).await.is_some() {
            break;
        }
    }
    assert!(names.len() < MOST_POLLS - 1, "a step must come to its end");

    let bob = Worker::new(store, "bob").await;
    ann.waits_until_it_expires(ann.ttl()).await;
    for name in names {
        // Another client gets in, and the one that dropped its futures goes on as if nothing were.
        let bobs = bob.takes_in_time(&name, bob.patience(ann.ttl())).await.holding;
        bob.releases(&bobs).await;
        let anns = ann.joins(&name).await.holding;
        ann.releases(&anns).await;
    }
}

/// A client as it is, and one that can be dropped between any two steps of its handshakes.
async fn clients(store: &dyn Fixture) -> [Arc<dyn Backend>; 2] {
    [store.connect().await, with_a_stop_at_each_step(store.connect().await)]
}
