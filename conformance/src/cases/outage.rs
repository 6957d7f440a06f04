//! A store that cannot be reached has no opinion.

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use lease_core::clock::{SystemClock, within};
use lease_core::layer::{Fault, Faulty, Method};
use lease_core::{Backend, Clock, Effect, Error, Holding, Judged, Name, Policy, Result};

use super::part;
use crate::{Fixture, Worker};

/// How long a client may take to find out, on anybody's clock: somebody waits for it.
const AT_MOST: Duration = Duration::from_secs(60);

/// No step takes a silent store for one that said "free", "gone" or "yours".
pub async fn an_outage_is_never_an_answer(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let cut_off = Worker::with(store, store.unreachable().await, "cut off");
    let anns = ann.takes(&name).await.holding;
    let seen = ann.sees(&name).await;
    let target = seen.exclusive.as_ref().expect("ann holds").target();
    let (writer, exclusive) = (cut_off.writer(&name), cut_off.exclusive(&name));
    let elsewhere = cut_off.exclusive(&part(&name, "free"));
    let free = ann.sees(&elsewhere.name).await;
    let (store_of, info) = (cut_off.backend(), cut_off.info());
    let renewal = anns.next_beat();

    fails("observe", store_of.observe(&name)).await;
    fails("inspect", store_of.inspect(&name)).await;
    fails("register", store_of.register(&writer)).await;
    fails("install", store_of.install(&elsewhere, &free, None)).await;
    let over = Some((&target, Judged::Observed));
    fails("install over", store_of.install(&exclusive, &seen, over)).await;
    fails("commit", store_of.commit(&anns)).await;
    fails("confirm", store_of.confirm(&anns)).await;
    fails("withdraw", store_of.withdraw(&anns)).await;
    fails("evict", store_of.evict(&name, &target, Judged::Observed)).await;
    fails("break_record", store_of.break_record(&name, anns.nonce, &cut_off.note())).await;
    fails("adopt", store_of.adopt(&renewal, &info)).await;
    fails("names", store_of.names()).await;
    fails("join", store_of.join(&writer, &Policy::expired())).await;
    fails("take", store_of.take(&exclusive, None, &Policy::expired())).await;
    if ann.capabilities().push {
        fails("watch", store_of.watch(&name)).await;
    }

    ann.holds(&anns).await;
    ann.renews(&anns).await;
}

/// A batch has one answer for each of its renewals, also when it did not arrive.
pub async fn a_batch_fails_for_each(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let cut_off = store.unreachable().await;
    let (one, two) = (ann.joins(&name).await.holding, ann.joins(&name).await.holding);

    let batch: Vec<Holding> = [&one, &two].map(Holding::next_beat).to_vec();
    let batch = &batch[..batch.len().min(cut_off.capabilities().renew_batch)];
    let answers = bounded("renew", cut_off.renew(batch)).await;
    assert_eq!(answers.len(), batch.len(), "each renewal must have an answer of its own");
    for answer in answers {
        is_an_outage("renew", answer);
    }
    ann.renews(&one).await;
    ann.renews(&two).await;
}

/// A writer's record that cannot be listed keeps an exclusive out all the same: the handshake ends
/// in an error, not in a grant.
pub async fn a_handshake_that_loses_the_store_is_not_granted(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;
    ann.joins(&name).await;
    for method in [Method::Observe, Method::Install, Method::Renew] {
        let faulty = Faulty::new(bob.backend());
        let claim = bob.exclusive(&name);
        let draining = match method {
            Method::Renew => Some(bob.drains(&name).await.1),
            _ => None,
        };
        faulty.always(method, Fault::fails(Effect::Nothing));
        let taken = faulty.take(&claim, draining.as_ref(), &Policy::expired()).await;
        is_an_outage("take", taken);
    }
}

async fn fails<T: Debug>(step: &str, asked: impl Future<Output = Result<T>>) {
    is_an_outage(step, bounded(step, asked).await);
}

async fn bounded<T>(step: &str, asked: impl Future<Output = T>) -> T {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let answer = within(&clock, AT_MOST, asked).await;
    answer.unwrap_or_else(|| panic!("{step} must end in bounded time when the store is away"))
}

fn is_an_outage<T: Debug>(step: &str, answer: Result<T>) {
    assert!(
        matches!(answer, Err(Error::Unavailable { .. } | Error::Misconfigured { .. })),
        "{step}: an outage must never be an answer: {answer:?}"
    );
}
