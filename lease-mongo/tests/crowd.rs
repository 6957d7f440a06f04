//! Many writers of one name: what their common document costs.

#![expect(clippy::print_stdout, reason = "it tells what it measured")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use lease_core::backend::{Joined, Renewed, Taken};
use lease_core::clock::SystemClock;
use lease_core::{Backend, Clock, Holding, Mode, Policy};

use support::wire::claim;
use support::{connected, fresh_database};

/// Writers that renew at the same time.
const AT_ONCE: usize = 32;

/// Prints how long renewals of 10, 100 and 1000 live writers take, each sent by itself, and what a
/// take costs beside them. The limits are those of a broken design, not of a good day.
#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_writers_are_renewed_in_time() {
    let mongo = Arc::new(connected(&fresh_database()).await);
    let mut mine: Vec<Holding> = Vec::new();
    for crowd in [10, 100, 1000] {
        let joins = stream::iter(mine.len()..crowd).map(|_| {
            let mongo = Arc::clone(&mongo);
            async move {
                match mongo.join(&claim("busy", Mode::Writer), &Policy::expired()).await {
                    Ok(Joined::Granted(grant)) => grant.holding,
                    other => panic!("it is free: {other:?}"),
                }
            }
        });
        mine.extend(joins.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await);

        let start = SystemClock.now();
        let renewals = stream::iter(mine.iter().map(Holding::next_beat)).map(|next| {
            let mongo = Arc::clone(&mongo);
            async move {
                let sent = SystemClock.now();
                let answer = mongo.renew(std::slice::from_ref(&next)).await.remove(0);
                let Ok(Renewed::Renewed { revision, drain: false }) = answer else {
                    panic!("nobody is in the way: {answer:?}")
                };
                (SystemClock.now().since(sent), next.acknowledged(revision))
            }
        });
        let renewals = renewals.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await;
        let all = SystemClock.now().since(start);
        let mut took: Vec<Duration> = renewals.iter().map(|(took, _)| *took).collect();
        mine = renewals.into_iter().map(|(_, next)| next).collect();
        took.sort();
        let at = |percent: usize| took[(took.len() - 1) * percent / 100];
        let rate = mine.len() as f64 / all.as_secs_f64();
        println!(
            "{crowd} writers of one name, {AT_ONCE} renewals at once: {rate:.0}/s p50={:?} p99={:?}",
            at(50),
            at(99)
        );
        assert!(at(99) < Duration::from_secs(5), "a third of the usual ttl: {:?}", at(99));
    }

    let batch: Vec<Holding> = mine.iter().take(500).map(Holding::next_beat).collect();
    let start = SystemClock.now();
    let answers = mongo.renew(&batch).await;
    println!("500 of them in one command: {:?}", SystemClock.now().since(start));
    assert!(answers.iter().all(Result::is_ok));

    let start = SystemClock.now();
    let drain = mongo.take(&claim("busy", Mode::Exclusive), None, &Policy::expired()).await;
    println!("a take that finds 1000 writers: {:?}", SystemClock.now().since(start));
    let Ok(Taken::Draining(draining)) = drain else { panic!("they live: {drain:?}") };
    assert_eq!(draining.waiting_for.writers, 1000);
}
