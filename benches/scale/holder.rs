//! One process that holds many leases: what its keeper costs, and how late its renewals are.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use leasehold::clock::SystemClock;
use leasehold::{Backend, Clock, Coordinator, Lease, Status, telemetry};
use measure::{Bench, Curve, Figure, Line, Times, Usage, Wish};
use metrics_util::debugging::DebugValue;

use crate::Recorder;

/// How long it is watched, with each number of leases: four rounds of renewals at a ttl of 15 s.
const WATCHED: Duration = Duration::from_secs(20);
/// Leases that are asked for at the same time, to begin with.
const AT_ONCE: usize = 32;

/// What the keeper told in the time that it was watched.
struct Told {
    renewed: u64,
    /// How much of its belief each of them had left when it was renewed.
    left: Vec<f64>,
}

pub(crate) async fn hold(
    bench: &mut Bench,
    place: &str,
    backend: Arc<dyn Backend>,
    counts: &[usize],
    recorder: &Recorder,
) {
    let before = Usage::now();
    let leases = Coordinator::new(Arc::clone(&backend));
    let (timing, capabilities) = (leases.timing(), backend.capabilities());
    // What is left of it when a renewal that is due is answered at once.
    let at_most_left = timing.belief(&capabilities).saturating_sub(timing.renew_every());
    let mut held: Vec<Lease> = Vec::new();
    let (mut shares, mut lates) = (Vec::new(), Vec::new());
    for &count in counts {
        let more = (held.len()..count).map(|n| leases.exclusive(format!("shard {n}")).acquire());
        let mut more = stream::iter(more).buffer_unordered(AT_ONCE);
        while let Some(lease) = more.next().await {
            held.push(lease.unwrap());
        }
        told(recorder);
        let start = Usage::now();
        SystemClock.sleep_until(SystemClock.now().plus(WATCHED)).await;
        let (end, told) = (Usage::now(), told(recorder));
        let lost = held.iter().filter(|lease| lease.status() != Status::Held).count();
        assert_eq!(lost, 0, "{place}: of {count} leases");

        let late =
            |left: &f64| Duration::from_secs_f64((at_most_left.as_secs_f64() - left).max(0.0));
        let late = told.left.iter().map(late).collect::<Times>().percentile(99);
        let at = format!("{place}, one process with {count} leases");
        shares.push(end.share_since(start) * 100.0);
        lates.push(late.as_secs_f64() * 1e3);
        let every = timing.renew_every();
        let rounds = WATCHED.as_secs_f64() / every.as_secs_f64();
        let renewed = told.renewed as f64 / rounds;
        bench.counts(Figure::new(&at, &format!("renewals in {every:?}"), renewed.round(), ""));
        bench.counts(Figure::new(
            &at,
            "one renewal in a hundred is later than",
            lates[lates.len() - 1],
            "ms",
        ));
        let core = Figure::new(&at, "of one core", shares[shares.len() - 1], "%");
        // What the client itself needs, with no driver in between.
        let wished = place == "memory" && Some(&count) == counts.last();
        bench.counts(if wished { core.wish(Wish::AtMost(5.0)) } else { core });
    }
    // The first one only: what the others need is taken from what this one gave back.
    if place == "memory" {
        let megabytes = Usage::now().megabytes_since(before);
        let at = format!("{place}, one process with {} leases", held.len());
        let memory = Figure::new(&at, "memory for them, and for the store", megabytes, "MB");
        bench.counts(memory.wish(Wish::AtMost(50.0)));
    }
    let curve = |what: &str, unit: &str, values| Curve {
        title: format!("{place}: {what}"),
        x: "leases of one process".to_owned(),
        y: unit.to_owned(),
        at: counts.iter().map(|&count| count as f64).collect(),
        lines: vec![Line { name: unit.to_owned(), values }],
    };
    bench.draws(curve("the processor time of the process that holds them", "% of a core", shares));
    bench.draws(curve("how late one renewal in a hundred is", "ms", lates));
    let mut releases = stream::iter(held).map(Lease::release).buffer_unordered(AT_ONCE);
    while let Some(released) = releases.next().await {
        released.unwrap();
    }
}

/// What was told since this was asked the last time.
fn told(recorder: &Recorder) -> Told {
    let mut told = Told { renewed: 0, left: Vec::new() };
    for (key, _, _, value) in recorder.snapshot().into_vec() {
        match (key.key().name(), value) {
            (telemetry::RENEWALS_TOTAL, DebugValue::Counter(count)) => told.renewed += count,
            (telemetry::LEFT_SECONDS, DebugValue::Histogram(values)) => {
                told.left.extend(values.into_iter().map(f64::from));
            }
            _ => {}
        }
    }
    told
}
