//! Stopping a future in the middle, and slowing a client down step by step.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use lease_core::layer::{Fault, Faulty};
use lease_core::{Backend, Jitter};

/// Polls `work` at most `polls` times; nothing if it was not done by then and was dropped.
pub(crate) async fn polled<T>(polls: usize, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut left = polls;
    std::future::poll_fn(|context| {
        left -= 1;
        match work.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Lets the other tasks run, at random up to `most` times.
pub(crate) async fn pause(jitter: &Jitter, most: u32) {
    // A spread of nanoseconds is a spread of whole numbers.
    let times = jitter.between(Duration::ZERO, Duration::from_nanos(u64::from(most) + 1));
    for _ in 0..times.as_nanos() {
        tokio::task::yield_now().await;
    }
}

/// The same client with a pause at random before and after each single step of its handshakes.
pub(crate) fn step_by_step(inner: Arc<dyn Backend>, seed: u64) -> Arc<dyn Backend> {
    let layer = Faulty::new(inner);
    let jitter = Arc::new(Jitter::seeded(seed));
    layer.all(Fault::around(move || {
        let jitter = Arc::clone(&jitter);
        Box::pin(async move { pause(&jitter, 3).await })
    }));
    Arc::new(layer)
}

/// The same client, pending once before and once after each single step of its handshakes, so that
/// it can be dropped between any two.
pub(crate) fn with_a_stop_at_each_step(inner: Arc<dyn Backend>) -> Arc<dyn Backend> {
    let layer = Faulty::new(inner);
    layer.all(Fault::around(|| Box::pin(tokio::task::yield_now())));
    Arc::new(layer)
}
