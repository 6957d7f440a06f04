//! How long to wait between two tries, or two looks.

use std::time::Duration;

use crate::backend::Watch;
use crate::clock::Moment;
use crate::coordinator::Parts;
use crate::{Coordinator, Name, Standing, Timing};

/// Waits between tries: longer each time, spread by chance, woken by the store where it can, and no
/// longer than until the holder's record would run out.
#[derive(Debug)]
pub(crate) struct Waiter {
    coordinator: Coordinator,
    name: Name,
    started: Moment,
    deadline: Moment,
    pause: Option<Duration>,
    /// When the present wait ends at the latest; kept where the future that waits is dropped.
    until: Option<Moment>,
    watch: Option<Box<dyn Watch>>,
    may_watch: bool,
    /// How long after this try a push may end the wait at the earliest.
    quiet: Duration,
}

impl Waiter {
    /// How much longer each pause is than the last.
    const GROWTH: u32 = 2;

    /// The part of the shortest pause in which no push is listened to after the first one.
    const QUIET_PART: u32 = 32;

    pub(crate) fn new(coordinator: Coordinator, name: Name, at_most: Option<Duration>) -> Self {
        let parts = coordinator.parts();
        let started = parts.clock.now();
        let deadline = started.plus(at_most.unwrap_or(Duration::ZERO));
        let may_watch = parts.backend.capabilities().push;
        let (pause, watch, quiet) = (None, None, Duration::ZERO);
        Self { coordinator, name, started, deadline, pause, until: None, watch, may_watch, quiet }
    }

    /// Whether there is no time left to wait.
    pub(crate) fn is_over(&self) -> bool {
        self.parts().clock.now() >= self.deadline
    }

    pub(crate) fn waited(&self) -> Duration {
        self.parts().clock.now().since(self.started)
    }

    /// Starts again with the shortest pause: something has happened.
    pub(crate) const fn start_again(&mut self) {
        self.pause = None;
        self.quiet = Duration::ZERO;
    }

    fn parts(&self) -> &Parts {
        self.coordinator.parts()
    }

    /// Waits until the next try is due.
    ///
    /// # Cancel safety
    ///
    /// Safe: the next call waits for the rest of it.
    pub(crate) async fn wait(
        &mut self,
        timing: &Timing,
        standing: Option<&Standing>,
        draining: bool,
    ) {
        let until = match self.until {
            Some(until) => until,
            None => self.next_try(timing, standing, draining),
        };
        self.until = Some(until);
        let parts = self.coordinator.parts();
        let quiet_until = parts.clock.now().plus(parts.jitter.between(self.quiet / 2, self.quiet));
        let timer = parts.clock.sleep_until(until);
        let pushed = tokio::select! {
            biased;
            () = timer => false,
            () = self.woken(quiet_until) => true,
        };
        self.until = None;
        if pushed {
            // A store may tell a waiter of its own writes, such as the renewal of an exclusive that
            // drains, and a busy name changes all the time: pushes that change nothing for us count
            // for less each time, down to the rate of polling.
            let first = timing.poll_from() / Self::QUIET_PART;
            self.quiet = self.quiet.saturating_mul(Self::GROWTH).clamp(first, timing.poll_from());
        }
    }

    /// When the next try is due where nothing is pushed.
    fn next_try(&mut self, timing: &Timing, standing: Option<&Standing>, draining: bool) -> Moment {
        let longest = if draining {
            // Each round renews our own record, so rounds are at least as close as renewals.
            timing.poll_to().min(timing.renew_every())
        } else {
            timing.poll_to()
        };
        let pause = self.pause.unwrap_or_else(|| timing.poll_from()).min(longest);
        self.pause = Some(pause.saturating_mul(Self::GROWTH).min(longest));

        // Between a half and the whole of it, so that waiters who started together come apart.
        let parts = self.coordinator.parts();
        let jitter = &parts.jitter;
        let mut pause = jitter.between(pause / 2, pause);
        // One that has expired and is respected all the same will not be free by waiting.
        let free_in = standing.and_then(Standing::free_in).filter(|left| !left.is_zero());
        if let Some(free_in) = free_in {
            pause = pause.min(free_in + jitter.between(Duration::ZERO, timing.poll_from()));
        }
        parts.clock.now().plus(pause).min(self.deadline)
    }

    /// Ends when the store says that something changed, and not before `quiet_until`; never where
    /// it does not push.
    async fn woken(&mut self, quiet_until: Moment) {
        if self.may_watch && self.watch.is_none() {
            match self.parts().backend.watch(&self.name).await {
                // A change between the last look and this moment is found by the next poll.
                Ok(watch) => self.watch = Some(watch),
                Err(_) => self.may_watch = false,
            }
        }
        let Some(watch) = &mut self.watch else { return std::future::pending().await };
        if watch.changed().await.is_err() {
            self.watch = None;
            std::future::pending::<()>().await;
        }
        // It has been heard and is not heard again, whatever becomes of this future.
        self.until = self.until.map(|until| until.min(quiet_until));
        // What changes meanwhile is found by the same try.
        self.parts().clock.sleep_until(quiet_until).await;
    }
}
