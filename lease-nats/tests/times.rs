//! A record lasts as long as its holder said, by the server's clock, and the server itself removes none
//! (case 33).

mod support;

use std::sync::Arc;

use lease_core::clock::SystemClock;
use lease_core::{Backend, BreakNote, Clock, Coordinator, Error, Mode, Timing};
use rstest::rstest;

use support::bucket::{Bucket, stem};
use support::server::shared;
use support::{
    SECOND, TTL, acquire, claim, eventually, fresh, name, open, pass, renew, try_acquire,
};

/// Renewals neither make a record stay for ever nor end it early. Whoever follows asks for a longer
/// ttl, which counts for nothing.
#[rstest]
#[tokio::test]
async fn a_holder_that_dies_after_renewals_is_followed_at_its_ttl(
    #[values(Mode::Writer, Mode::Exclusive)] mode: Mode,
) {
    let bucket = Bucket::at(shared().url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let job = name("job");
    let mut mine = acquire(&ann, &claim(&job, mode, SECOND)).await.holding;
    let mut died = SystemClock.now();
    for _ in 0..5 {
        pass(SECOND / 3).await;
        died = SystemClock.now();
        mine = renew(&ann, &mine).await;
    }

    eventually(|| async { try_acquire(&bob, &claim(&job, Mode::Exclusive, TTL)).await }).await;
    let waited = SystemClock.now().since(died);
    assert!(waited >= SECOND && waited <= SECOND * 3, "followed after {waited:?}");
}

/// What the server deletes by age decides nothing: a record that ran out stays until somebody clears
/// it away.
#[rstest]
#[tokio::test]
async fn a_record_that_ran_out_is_still_there(
    #[values(Mode::Writer, Mode::Exclusive)] mode: Mode,
    #[values(false, true)] is_renewed: bool,
) {
    let bucket = Bucket::at(shared().url(), 1).await;
    let ann = bucket.connect().await;
    let job = name("job");
    let mine = acquire(&ann, &claim(&job, mode, SECOND)).await.holding;
    if is_renewed {
        renew(&ann, &mine).await;
    }
    // Times to live are whole seconds, and the server looks for what has ended once in a while.
    pass(SECOND * 4).await;
    assert_eq!(bucket.records(&job).await, 1);
}

/// A server that was killed and started again may show once more what a mark of an end had replaced,
/// when the mark is over: that must have expired by then, so a mark lasts no shorter than the ttl.
#[rstest]
#[tokio::test]
async fn the_mark_of_an_end_lasts_no_shorter_than_what_has_ended(
    #[values(false, true)] is_broken: bool,
    #[values(TTL, Timing::MAX_TTL)] ttl: std::time::Duration,
) {
    let bucket = Bucket::at(shared().url(), 1).await;
    let ann = bucket.connect().await;
    let job = name("job");
    let mine = acquire(&ann, &claim(&job, Mode::Writer, ttl)).await.holding;
    if is_broken {
        let note = BreakNote::new("op", "to see");
        bucket.connect().await.break_record(&job, mine.nonce, &note).await.unwrap();
    } else {
        ann.withdraw(&mine).await.unwrap();
    }
    let (headers, _) = bucket.last(&format!("{}.w.{}", stem(&job), mine.nonce)).await.unwrap();
    let lasts = headers.lines().find_map(|line| line.strip_prefix("Nats-TTL: ")).unwrap();
    let lasts: u64 = lasts.trim().parse().unwrap();
    assert!(headers.contains("KV-Operation: DEL") && lasts >= ttl.as_secs(), "{headers}");
}

#[tokio::test]
async fn a_ttl_that_the_server_cannot_judge_is_refused() {
    let store = open(shared().url()).await;
    let timing = Timing::with_ttl(SECOND * 3 / 10).build().unwrap();
    let leases = Coordinator::builder(Arc::new(store)).timing(timing).build();
    let refused = leases.exclusive(fresh()).acquire().await;
    assert!(matches!(refused, Err(Error::Misconfigured { .. })), "{refused:?}");
}
