//! Many live writers of one name, whose records meet in one document, stream or listing.

use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use leasehold::clock::{Moment, SystemClock};
use leasehold::{Backend, Clock, Holding, Mode};
use measure::{Bench, Curve, Figure, Times, hands};

/// How many writers there are, one crowd after the other.
const COUNTS: [usize; 3] = [10, 100, 1000];
/// Requests that are under way at the same time, where all go as fast as they can.
const AT_ONCE: usize = 32;

/// `pace` is the time between two renewals of one writer, where they do not go as fast as they can.
pub(crate) async fn crowd(bench: &mut Bench, place: &str, store: &dyn Backend, pace: Duration) {
    // So that the first of them does not open the connection.
    hands::cycle(store, "crowd", Mode::Writer).await;
    let mut writers: Vec<Holding> = Vec::new();
    let mut took = Vec::new();
    for count in COUNTS {
        let joins = (writers.len()..count).map(|_| hands::acquire(store, "crowd", Mode::Writer));
        let start = SystemClock.now();
        let joined = stream::iter(joins).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await;
        counts(bench, place, &format!("{count} writers of one name, joins"), start, joined.len());
        writers.extend(joined);

        let start = SystemClock.now();
        let renewals = writers.iter_mut().map(|one| renewed_at(store, one, start));
        stream::iter(renewals).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await;
        counts(bench, place, &format!("{count} writers of one name, renewals"), start, count);

        let (start, every) = (SystemClock.now(), pace / u32::try_from(count).unwrap());
        let due = (0_u32..).map(|i| start.plus(every * i));
        let renewals = writers.iter_mut().zip(due).map(|(one, due)| renewed_at(store, one, due));
        took.push(futures::future::join_all(renewals).await.into_iter().collect::<Times>());
    }
    let title =
        format!("{place}: a renewal beside other writers of its name, each once in {pace:?}");
    bench.draws(Curve::of_times(&title, "writers", &COUNTS, &took));
    let leaves = writers.iter().map(|one| store.withdraw(one));
    let left = stream::iter(leaves).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await;
    assert!(left.iter().all(Result::is_ok), "{place}: {left:?}");
}

/// How many were done in a second, since then.
fn counts(bench: &mut Bench, place: &str, what: &str, start: Moment, done: usize) {
    let rate = done as f64 / SystemClock.now().since(start).as_secs_f64();
    let what = format!("{what} with {} under way", AT_ONCE.min(done));
    bench.counts(Figure::new(place, &what, rate.round(), "a second"));
}

/// One renewal that is sent then; how long it took.
async fn renewed_at(store: &dyn Backend, held: &mut Holding, due: Moment) -> Duration {
    SystemClock.sleep_until(due).await;
    // Not from when it was due: the timer's own delay is longer than a renewal in memory.
    let start = SystemClock.now();
    hands::renew(store, std::slice::from_mut(held)).await;
    SystemClock.now().since(start)
}
