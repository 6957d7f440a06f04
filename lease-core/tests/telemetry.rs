//! What the library tells of itself reaches those who listen.

#![cfg(feature = "metrics")]
#![expect(clippy::unwrap_used, reason = "a story fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_core::clock::PausedClock;
use lease_core::keeper::KeeperMode;
use lease_core::memory::Memory;
use lease_core::{BreakNote, Clock, Coordinator, Name, Timing};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

/// Ann takes a lease, keeps it for a minute, works under it and loses it; Bob is refused meanwhile.
async fn a_day() {
    let clock = Arc::new(PausedClock::start());
    let store = Arc::new(Memory::with_clock(clock.clone()));
    let person = || {
        let timing = Timing::with_ttl(Duration::from_secs(6)).build().unwrap();
        let builder = Coordinator::builder(store.clone()).clock(clock.clone()).timing(timing);
        builder.keeper(KeeperMode::CurrentRuntime).build()
    };
    let (ann, bob) = (person(), person());
    let lease = ann.exclusive("job").acquire().await.unwrap();
    bob.writer("job").acquire().await.unwrap_err();
    clock.sleep_until(clock.now().plus(Duration::from_secs(60))).await;
    lease.guard(|_| async {}).await.unwrap();
    let note = BreakNote::new("op", "to see");
    bob.break_record(&Name::parse("job").unwrap(), lease.nonce(), &note).await.unwrap();
    lease.lost().await;
    bob.writer("job").acquire().await.unwrap().release().await.unwrap();
}

fn block_on(work: impl Future<Output = ()>) {
    let builder = &mut tokio::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().unwrap().block_on(work);
}

#[test]
fn numbers_are_counted_under_their_names() {
    let recorder = DebuggingRecorder::new();
    let shown = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || block_on(a_day()));

    let mut numbers = BTreeMap::new();
    for (key, _, _, value) in shown.snapshot().into_vec() {
        let key = key.key();
        let mut name = key.name().to_owned();
        for label in key.labels() {
            if label.key() == "backend" {
                assert_eq!(label.value(), "memory");
            } else {
                name.push_str(&format!(" {}={}", label.key(), label.value()));
            }
        }
        let value = match value {
            DebugValue::Counter(count) => count as f64,
            DebugValue::Gauge(value) => value.into_inner(),
            DebugValue::Histogram(values) => {
                let time = |value: &f64| (0.0..=60.0).contains(value);
                assert!(values.iter().all(|value| time(value)), "{name}: {values:?} in seconds");
                values.len() as f64
            }
        };
        numbers.insert(name, value);
    }
    let number = |name: &str| numbers.get(name).copied();
    let granted = "leasehold_acquire_seconds mode=exclusive outcome=granted";
    assert_eq!(number(granted), Some(1.0), "{numbers:#?}");
    assert_eq!(number("leasehold_acquire_seconds mode=writer outcome=held"), Some(1.0));
    assert_eq!(number("leasehold_acquire_seconds mode=writer outcome=granted"), Some(1.0));
    assert_eq!(number("leasehold_losses_total mode=exclusive reason=displaced"), Some(1.0));
    assert_eq!(number("leasehold_losses_total mode=writer reason=displaced"), None);
    for gauge in ["leasehold_held", "leasehold_waiters"] {
        for mode in ["exclusive", "writer"] {
            assert_eq!(number(&format!("{gauge} mode={mode}")), Some(0.0), "{numbers:#?}");
        }
    }
    let renewed = number("leasehold_renewals_total outcome=renewed").unwrap();
    assert!(
        (20.0..=60.0).contains(&renewed),
        "{renewed} renewals in a minute of a ttl of six seconds"
    );
    let lost = number("leasehold_renewals_total outcome=lost").unwrap();
    assert_eq!(number("leasehold_left_seconds"), Some(renewed + lost));
}

/// Collects the names of spans and the events above `debug`.
#[derive(Clone, Default)]
struct Collector {
    spans: Arc<Mutex<BTreeSet<&'static str>>>,
    loud: Arc<Mutex<Vec<String>>>,
}

impl<S: Subscriber> Layer<S> for Collector {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.spans.lock().unwrap().insert(attributes.metadata().name());
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() < tracing::Level::DEBUG {
            self.loud.lock().unwrap().push(event.metadata().level().to_string());
        }
    }
}

#[test]
fn spans_have_stable_names_and_only_a_loss_is_loud() {
    let collector = Collector::default();
    let subscriber = tracing_subscriber::registry().with(collector.clone());
    tracing::subscriber::with_default(subscriber, || block_on(a_day()));
    let spans = collector.spans.lock().unwrap();
    let expected = ["lease.acquire", "lease.guard", "lease.release", "lease.renew"];
    assert_eq!(spans.iter().copied().collect::<Vec<_>>(), expected);
    assert_eq!(*collector.loud.lock().unwrap(), ["WARN"]);
}
