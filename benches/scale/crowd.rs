//! Many live writers of one name, whose renewals meet in one document.

use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use lease_core::clock::SystemClock;
use lease_core::{Clock, Holding, Mode};
use lease_mongo::Mongo;
use measure::{Bench, Curve, Figure, Times};

use crate::ours::{begins, renewed};

/// How many writers there are, one crowd after the other.
const COUNTS: [usize; 3] = [10, 100, 1000];
/// Renewals that are under way at the same time, where all go as fast as they can.
const AT_ONCE: usize = 32;
/// The time between two renewals of one writer, where they go at their pace: a ttl of 15 s.
const EVERY: Duration = Duration::from_secs(5);

pub(crate) async fn crowd(bench: &mut Bench, place: &str, store: &Mongo) {
    let mut writers: Vec<Holding> = Vec::new();
    let mut took = Vec::new();
    for count in COUNTS {
        let joins = (writers.len()..count).map(|_| begins(store, "crowd", Mode::Writer));
        writers.extend(stream::iter(joins).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await);

        let start = SystemClock.now();
        let renewals = writers.iter().map(|one| timed(store, one, Duration::ZERO));
        let renewals = stream::iter(renewals).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await;
        let rate = count as f64 / SystemClock.now().since(start).as_secs_f64();
        let what = format!("{count} writers of one name, renewals with {AT_ONCE} under way");
        bench.counts(Figure::new(place, &what, rate.round(), "a second"));
        take(&mut writers, renewals);

        let every = EVERY / u32::try_from(count).unwrap();
        let due = (0_u32..).map(|i| every * i);
        let renewals = writers.iter().zip(due).map(|(one, due)| timed(store, one, due));
        let renewals = futures::future::join_all(renewals).await;
        took.push(take(&mut writers, renewals));
    }
    let title =
        format!("{place}: a renewal beside other writers of its name, each once in {EVERY:?}");
    bench.draws(Curve::of_times(&title, "writers", &COUNTS, &took));
}

/// One renewal that is due after this time, counted from then.
async fn timed(store: &Mongo, held: &Holding, due: Duration) -> (Duration, Holding) {
    let due = SystemClock.now().plus(due);
    SystemClock.sleep_until(due).await;
    let held = renewed(store, held).await.unwrap();
    (SystemClock.now().since(due), held)
}

/// Goes on with what was renewed; how long each took.
fn take(writers: &mut Vec<Holding>, renewals: Vec<(Duration, Holding)>) -> Times {
    let (took, next): (Times, Vec<_>) = renewals.into_iter().unzip();
    *writers = next;
    took
}
