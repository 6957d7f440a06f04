//! Many renewals in one call, each on its own condition.

use lease_core::backend::Renewed;
use lease_core::{Holding, Mode, Name, Result};

use super::{never_there, part};
use crate::{Fixture, Worker};

/// Held and lost leases, writers and exclusives, in one batch: each has its own answer, in order.
pub async fn answers_each_for_itself(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(super::LONG);
    let bob = Worker::new(store, "bob").await;

    let held = ann.takes(&part(&name, "held")).await.holding;
    let broken = ann.takes(&part(&name, "broken")).await.holding;
    let writer = ann.joins(&part(&name, "writer")).await.holding;
    let released = ann.joins(&part(&name, "writer")).await.holding;
    let never = never_there(&ann, &part(&name, "never"), Mode::Writer).await;
    let last = ann.takes(&part(&name, "last")).await.holding;
    bob.breaks(&broken).await;
    ann.releases(&released).await;
    let (_, _) = bob.drains(&writer.name).await;

    let mine = [held, broken, writer, released, never, last];
    let answers = renew_all(&ann, &mine).await;
    let heard: Vec<_> = answers.iter().map(|answer| said(answer)).collect();
    let expected = ["renewed", "lost", "renewed, drain", "lost", "lost", "renewed"];
    assert_eq!(heard, expected, "each renewal must be answered for itself, in order");

    for (one, answer) in mine.iter().zip(answers) {
        let Ok(Renewed::Renewed { revision, .. }) = answer else { continue };
        let there = ann.sees(&one.name).await.record(one.nonce).expect("renewed").revision.clone();
        assert_eq!(there, revision, "each answer must carry its own record's revision");
        ann.holds(&one.next_beat().acknowledged(revision)).await;
    }
}

/// Each is renewed for its own ttl.
pub async fn keeps_each_ones_own_ttl(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;
    let short = ann.takes(&part(&name, "short")).await.holding;
    let long = ann.takes(&part(&name, "long")).await.holding;
    let long = Holding { ttl: ann.ttl() * 20, ..long };

    let (short_name, long_name) = (short.name.clone(), long.name.clone());
    let answers = renew_all(&ann, &[short, long]).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    bob.takes_in_time(&short_name, bob.patience(ann.ttl())).await;
    bob.is_refused_as_exclusive(&long_name).await;
}

/// Several leases of one name are as many leases.
pub async fn of_one_name_renews_every_writer(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let mine = [ann.joins(&name).await.holding, ann.joins(&name).await.holding];
    let answers = renew_all(&ann, &mine).await;
    assert!(answers.iter().all(|a| said(a) == "renewed"), "{answers:?}");
    let seen = ann.sees(&name).await;
    for one in &mine {
        let there = seen.record(one.nonce).expect("ann writes");
        assert_ne!(there.revision, one.revision, "each writer must be renewed");
    }
}

/// Nothing to renew, nothing to answer.
pub async fn of_nothing_is_nothing(store: &dyn Fixture, _: Name) {
    let ann = Worker::lasting(store, "ann").await;
    assert!(ann.backend().renew(&[]).await.is_empty());
}

/// Sends the next renewal of each, in batches as large as the store takes them.
async fn renew_all(worker: &Worker<'_>, mine: &[Holding]) -> Vec<Result<Renewed>> {
    let next: Vec<Holding> = mine.iter().map(Holding::next_beat).collect();
    let mut answers = Vec::new();
    for batch in next.chunks(worker.capabilities().renew_batch) {
        let some = worker.backend().renew(batch).await;
        assert_eq!(some.len(), batch.len(), "each renewal must have an answer");
        answers.extend(some);
    }
    answers
}

fn said(answer: &Result<Renewed>) -> &'static str {
    match answer {
        Ok(Renewed::Renewed { drain: false, .. }) => "renewed",
        Ok(Renewed::Renewed { drain: true, .. }) => "renewed, drain",
        Ok(Renewed::Lost(_)) => "lost",
        Err(_) => "failed",
    }
}
