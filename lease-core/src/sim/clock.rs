//! A client's own clock: it shows another time, runs a little fast or slow, and counts while its
//! process is stopped.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::process::Process;

use crate::clock::{Clock, Moment, PausedClock};

/// A client's own clock, on the world's time.
#[derive(Clone, Debug)]
pub struct SimClock {
    world: PausedClock,
    shows: Duration,
    /// How fast it runs: 1.0 is the world's rate.
    rate: f64,
    /// Nobody wakes up in a process that is stopped.
    process: Arc<Process>,
}

impl SimClock {
    pub(super) const fn new(
        world: PausedClock,
        shows: Duration,
        rate: f64,
        process: Arc<Process>,
    ) -> Self {
        Self { world, shows, rate, process }
    }
}

impl Clock for SimClock {
    fn now(&self) -> Moment {
        let elapsed = self.world.now().since_origin().mul_f64(self.rate);
        Moment::after_origin(self.shows + elapsed)
    }

    fn sleep_until(&self, at: Moment) -> BoxFuture<'static, ()> {
        let elapsed = at.since_origin().saturating_sub(self.shows);
        // Rounded up, so that the moment has come by this clock when the world's timer fires.
        let nanos = elapsed.as_nanos() as f64 / self.rate;
        let until = if nanos < u64::MAX as f64 {
            Moment::after_origin(Duration::from_nanos(nanos.ceil() as u64 + 1))
        } else {
            Moment::after_origin(Duration::MAX)
        };
        let timer = self.world.sleep_until(until);
        let process = self.process.clone();
        Box::pin(async move {
            timer.await;
            process.runs().await;
        })
    }
}
