//! What a store says that it can do is true, and so is what it says that it cannot.
//!
//! The other halves of this stand where the subject is: `expiry` for the clock, `epoch` for
//! erasure, `push` for watching, `limits` for the shortest ttl, `batch` for the size of a batch.

use lease_core::{Error, Name};

use super::part;
use crate::{Fixture, Worker};

/// They are the same for the life of the value and for every client, and make sense.
pub async fn are_the_same_for_every_client(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;
    let first = ann.capabilities();
    ann.takes(&name).await;
    assert_eq!(ann.capabilities(), first, "capabilities must not change");
    assert_eq!(bob.capabilities(), first, "two clients of one store must say the same");
    assert_eq!(ann.backend().kind(), bob.backend().kind());
    assert!(!ann.backend().kind().is_empty(), "a backend has a name for logs and errors");
    assert!(first.renew_batch >= 1, "one renewal must be possible");
    assert!(!first.min_ttl.is_zero(), "no store can judge a ttl of nothing");
    assert!(
        first.min_ttl > first.clock_resolution,
        "a ttl must be longer than a step of the clock"
    );
}

/// As many renewals as promised go in one call.
pub async fn a_batch_is_as_large_as_promised(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(super::LONG);
    let size = ann.capabilities().renew_batch.min(store.crowd());
    let mut batch = Vec::new();
    for i in 0..size {
        batch.push(ann.takes(&part(&name, i)).await.holding.next_beat());
    }
    let answers = ann.backend().renew(&batch).await;
    assert_eq!(answers.len(), size, "each renewal must have an answer");
    assert!(answers.iter().all(Result::is_ok), "a promised batch must go through: {answers:?}");
}

/// A store without push refuses to watch, and one with it does not.
pub async fn watching_is_refused_exactly_where_it_is_not_promised(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let watch = ann.backend().watch(&name).await;
    if ann.capabilities().push {
        watch.expect("push is promised");
    } else {
        assert!(
            matches!(watch, Err(Error::Unsupported { .. })),
            "push is not promised and must be refused: {watch:?}"
        );
    }
}
