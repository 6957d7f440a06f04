//! Requests that get through while their answers do not, and requests that arrive late (case 17).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use lease_core::backend::{Confirmed, Renewed, Withdrawn};
use lease_core::{
    Backend, Claim, Effect, Error, Grant, Holding, Mode, Name, Policy, Result, Revision,
};
use lease_nats::Nats;
use rstest::rstest;
use testbed::{FaultProxy, Flow, Spoil};

use support::bucket::{Bucket, stem};
use support::server::shared;
use support::{SECOND, TTL, acquire, claim, eventually, name};

/// Long enough for a request on this machine, and short enough to wait for.
const TIMEOUT: Duration = Duration::from_millis(400);

/// Two people at one bucket; what comes from and to the first one may be spoilt.
async fn two() -> (Bucket, Nats, FaultProxy, Nats) {
    let bucket = Bucket::at(shared().url(), 1).await;
    let bob = bucket.connect().await;
    let (ann, proxy) = bucket.behind_a_proxy(TIMEOUT).await;
    (bucket, ann, proxy, bob)
}

fn is_unclear<T>(answer: &Result<T>) -> bool {
    matches!(answer, Err(Error::Unavailable { effect: Effect::Unknown, .. }))
}

/// Makes an attempt of which nothing may be told: neither that it holds nor that it does not.
async fn attempts_unclearly(store: &Nats, attempt: &Claim) {
    let policy = Policy::expired();
    let is_unclear = match attempt.mode {
        Mode::Writer => is_unclear(&store.join(attempt, &policy).await),
        Mode::Exclusive => is_unclear(&store.take(attempt, None, &policy).await),
    };
    assert!(is_unclear, "nothing is assumed");
}

/// Holds once and gives it back: what such an attempt needs is remembered from then on.
async fn held_before(store: &Nats, name: &Name, mode: Mode) -> Grant {
    let grant = acquire(store, &claim(name, mode, TTL)).await;
    store.withdraw(&grant.holding).await.unwrap();
    grant
}

/// Ann's attempt is on its way when she gives up, and arrives after Bob's withdrawal of it: it must
/// leave nothing.
async fn arrives_after_its_withdrawal(people: &(Bucket, Nats, FaultProxy, Nats), attempt: &Claim) {
    let (bucket, ann, proxy, bob) = people;
    proxy.set(Flow::Hold, Flow::Pass);
    attempts_unclearly(ann, attempt).await;
    // Another client withdraws by the nonce, as a keeper with a new connection would.
    let left = Holding::created(attempt, Revision::new(""));
    assert_eq!(bob.withdraw(&left).await.unwrap(), Withdrawn::NotThere);

    proxy.heal();
    // What is asked on the same way afterwards is answered, so the attempt has been too.
    eventually(|| async { ann.inspect(&attempt.name).await.ok() }).await;
    assert_eq!(bucket.records(&attempt.name).await, 0, "what was withdrawn stays away");
}

/// The answer to a renewal is lost. The next one finds its own unanswered write and goes on (R8).
#[rstest]
#[tokio::test]
async fn a_renewal_goes_on_over_its_own_unanswered_one(
    #[values(Mode::Writer, Mode::Exclusive)] mode: Mode,
    #[values(Spoil::Silence, Spoil::Reset)] spoil: Spoil,
) {
    let (_bucket, ann, proxy, _) = two().await;
    let job = name("job");
    let mine = acquire(&ann, &claim(&job, mode, TTL)).await.holding.next_beat();

    proxy.lose_answer_to("Lease-Quiet", spoil);
    let lost = ann.renew(std::slice::from_ref(&mine)).await.remove(0);
    assert!(is_unclear(&lost), "{lost:?}");
    proxy.heal();

    let mine = mine.next_beat();
    let renewed =
        eventually(|| async { ann.renew(std::slice::from_ref(&mine)).await.remove(0).ok() });
    let Renewed::Renewed { revision, .. } = renewed.await else { panic!("it is held") };
    let mine = mine.acknowledged(revision);
    assert!(matches!(ann.confirm(&mine).await, Ok(Confirmed::Held { .. })));
}

/// The answer to the write that would have been granted is lost: it counts only if it is found, and
/// else a withdrawal frees the name at once.
#[rstest]
#[tokio::test]
async fn an_attempt_without_an_answer_leaves_nothing_once_it_is_withdrawn(
    #[values(Mode::Writer, Mode::Exclusive)] mode: Mode,
    #[values(Spoil::Silence, Spoil::Reset)] spoil: Spoil,
) {
    let (bucket, ann, proxy, bob) = two().await;
    let job = name("job");
    let before = held_before(&ann, &job, mode).await;

    let attempt = claim(&job, mode, TTL);
    proxy.lose_answer_to(attempt.nonce.to_string(), spoil);
    attempts_unclearly(&ann, &attempt).await;
    assert_eq!(bucket.records(&job).await, 1, "it got through");
    proxy.heal();

    let left = Holding::created(&attempt, Revision::new(""));
    let withdrawn = eventually(|| async { ann.withdraw(&left).await.ok() }).await;
    assert_eq!(withdrawn, Withdrawn::Removed);
    let bobs = acquire(&bob, &claim(&job, Mode::Exclusive, TTL)).await;
    assert!(bobs.epoch > before.epoch);
}

/// An attempt is on its way when its caller gives up and withdraws. When it arrives at last, it is
/// void (R19), and the name is free for both modes.
#[rstest]
#[tokio::test]
async fn an_attempt_that_arrives_after_its_withdrawal_is_void(
    #[values(Mode::Writer, Mode::Exclusive)] mode: Mode,
    #[values(Mode::Writer, Mode::Exclusive)] next: Mode,
) {
    let people = two().await;
    let (_, ann, _, bob) = &people;
    let repo = name("repo");
    held_before(ann, &repo, mode).await;
    arrives_after_its_withdrawal(&people, &claim(&repo, mode, TTL)).await;
    acquire(bob, &claim(&repo, next, TTL)).await;
}

/// The same, where whoever withdraws remembers the anchor as it was long before that join: free, or
/// held.
#[rstest]
#[tokio::test]
async fn a_withdrawal_by_an_old_memory_voids_the_join_as_well(#[values(false, true)] held: bool) {
    let people = two().await;
    let (_, ann, _, bob) = &people;
    let repo = name("repo");
    let bobs = acquire(bob, &claim(&repo, Mode::Exclusive, TTL)).await;
    if held {
        // An operator ends it, and Bob does not hear of it.
        let note = lease_core::BreakNote::new("op", "test");
        ann.break_record(&repo, bobs.holding.nonce, &note).await.unwrap();
    } else {
        bob.withdraw(&bobs.holding).await.unwrap();
    }
    held_before(ann, &repo, Mode::Writer).await;
    arrives_after_its_withdrawal(&people, &claim(&repo, Mode::Writer, TTL)).await;
}

/// A join arrives at any moment of its withdrawal, also between two steps of it: either it was found
/// and removed, or it is void.
#[tokio::test]
async fn a_join_that_arrives_during_its_withdrawal_leaves_nothing() {
    let bucket = Bucket::at(shared().url(), 1).await;
    let bob = bucket.connect().await;
    let repo = name("repo");
    let first = acquire(&bob, &claim(&repo, Mode::Writer, TTL)).await;
    let (_, record) =
        bucket.last(&format!("{}.w.{}", stem(&repo), first.holding.nonce)).await.unwrap();
    let record = String::from_utf8(record).unwrap();
    bob.withdraw(&first.holding).await.unwrap();

    for round in 0..300 {
        let anchor = bucket.sequence(&format!("{}.x", stem(&repo))).await;
        let attempt = claim(&repo, Mode::Writer, TTL);
        let (old, new) = (first.holding.nonce.to_string(), attempt.nonce.to_string());
        let key = format!("{}.w.{new}", stem(&repo));
        let condition = format!("{}.x", stem(&repo));
        let left = Holding::created(&attempt, Revision::new(""));
        let joins = async {
            // Later by a few steps each time.
            for _ in 0..round % 30 {
                bucket.client.flush().await.unwrap();
            }
            let body = record.replace(&old, &new).into_bytes();
            bucket.put_if(&key, body, &condition, anchor).await
        };
        let (joined, withdrawn) = tokio::join!(joins, bob.withdraw(&left));
        assert_eq!(
            bucket.records(&repo).await,
            0,
            "round {round}: the join was stored: {joined}, and the withdrawal said {withdrawn:?}"
        );
    }
}

/// A connection is lost for longer than the ttl. Its holder's record is taken over, and what it
/// sends when it is back touches nobody.
#[tokio::test]
async fn a_holder_that_was_cut_off_finds_itself_displaced() {
    let (bucket, ann, proxy, bob) = two().await;
    let job = name("job");
    let short = claim(&job, Mode::Exclusive, SECOND);
    let anns = acquire(&ann, &short).await;
    proxy.black_hole();
    let lost = ann.renew(&[anns.holding.next_beat()]).await.remove(0);
    assert!(is_unclear(&lost), "{lost:?}");

    let bobs = eventually(|| async {
        support::try_acquire(&bob, &claim(&job, Mode::Exclusive, TTL)).await
    });
    let bobs = bobs.await;
    assert!(bobs.took_over && bobs.epoch > anns.epoch);
    proxy.heal();
    let next = anns.holding.next_beat().next_beat();
    let renewed =
        eventually(|| async { ann.renew(std::slice::from_ref(&next)).await.remove(0).ok() });
    assert!(matches!(renewed.await, Renewed::Lost(_)));
    assert_eq!(ann.withdraw(&next).await.unwrap(), Withdrawn::NotThere);
    assert!(matches!(bob.confirm(&bobs.holding).await, Ok(Confirmed::Held { .. })));
    assert!(bucket.last(&format!("{}.x", stem(&job))).await.is_some());
}

/// A request that is not answered ends in its own time, and one that cannot be sent at once.
#[tokio::test]
async fn an_outage_is_told_in_bounded_time() {
    use lease_core::Clock;
    use lease_core::clock::SystemClock;
    let (_bucket, ann, proxy, _) = two().await;
    let job = name("job");
    proxy.black_hole();
    let start = SystemClock.now();
    assert!(ann.inspect(&job).await.is_err());
    assert!(SystemClock.now().since(start) < TIMEOUT * 4);

    proxy.reset();
    eventually(|| async {
        let error = ann.inspect(&job).await.err()?;
        let source = std::error::Error::source(&error)?.to_string();
        source.contains("no connection").then_some(())
    })
    .await;
}
