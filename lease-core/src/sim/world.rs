//! One schedule: its time, its chance, its clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::client::Client;
use super::clock::SimClock;
use super::history::{Happening, History};
use super::judge::{Judge, Report};
use super::link::Link;
use super::process::Process;
use super::{OpenStore, Store, nemesis};
use crate::clock::{Clock, Moment, PausedClock};
use crate::{Backend, Gate, Jitter, Name};

/// What all of a schedule share.
pub(super) struct Shared {
    pub(super) clock: PausedClock,
    pub(super) chance: Chance,
    pub(super) history: History,
    pub(super) judge: Judge,
    pub(super) gate: Gate,
    faults: AtomicBool,
}

impl Shared {
    pub(super) fn faults_are_on(&self) -> bool {
        self.faults.load(Ordering::Relaxed)
    }

    pub(super) async fn pass(&self, time: Duration) {
        self.clock.sleep_until(self.clock.now().plus(time)).await;
    }
}

/// The choices of a schedule.
pub(super) struct Chance(Jitter);

impl Chance {
    pub(super) fn one_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(super) fn below(&self, n: u64) -> u64 {
        // Far more than any `n`, so that no number is drawn more often than another by rounding.
        let drawn = self.0.between(Duration::ZERO, Duration::from_nanos(1 << 50));
        u64::try_from(drawn.as_nanos()).unwrap_or(0) % n
    }

    pub(super) fn milliseconds(&self, from: u64, to: u64) -> Duration {
        Duration::from_micros(from * 1000 + self.below((to - from) * 1000 + 1))
    }
}

/// The clients of a schedule and what they share. Made by [`run`](super::run).
pub struct World {
    pub(super) shared: Arc<Shared>,
    pub(super) store: Arc<dyn OpenStore>,
    pub(super) clients: Vec<Client>,
    /// The way to the store of somebody who watches: its requests fare no better than others'.
    pub(super) operator: Arc<dyn Backend>,
}

impl World {
    /// How long the faults go on.
    const STORM: Duration = Duration::from_secs(40);

    /// How long all of them go on after that: some ttls.
    const CALM: Duration = Duration::from_secs(12);

    /// How long those have who had no luck till then, once nobody else asks any more: many ttls.
    const LAST_TURNS: Duration = Duration::from_secs(60);

    /// How often the judge looks at who believes.
    const LOOK: Duration = Duration::from_millis(25);

    async fn new(seed: u64, store: &dyn Store) -> Self {
        let clock = PausedClock::start();
        let shared = Arc::new(Shared {
            clock,
            chance: Chance(Jitter::seeded(seed)),
            history: History::new(clock),
            judge: Judge::default(),
            gate: Gate::new(),
            faults: AtomicBool::new(false),
        });
        // The store's clock starts far from zero: its time is where fresh epochs come from.
        let store = store.open(Arc::new(clock));
        let mut clients = Vec::new();
        for number in 0..2 + shared.chance.below(3) {
            let process = Arc::new(Process::default());
            let shows = shared.chance.milliseconds(0, 100_000_000);
            // Half a hundredth fast or slow; the margin is for a hundredth.
            let rate = 0.995 + shared.chance.below(1001) as f64 / 100_000.0;
            let client_clock = SimClock::new(clock, shows, rate, process.clone());
            let seed = seed + number;
            let number = clients.len();
            clients.push(Self::client(&shared, &*store, number, client_clock, process, seed).await);
        }
        let link = Link::new(shared.clone(), usize::MAX, Arc::default());
        let operator = store.connect(link, Arc::new(clock)).await;
        shared.faults.store(true, Ordering::Relaxed);
        Self { shared, store, clients, operator }
    }

    async fn client(
        shared: &Arc<Shared>,
        store: &dyn OpenStore,
        number: usize,
        clock: SimClock,
        process: Arc<Process>,
        seed: u64,
    ) -> Client {
        let link = || Link::new(shared.clone(), number, process.clone());
        let backend = store.connect(link(), Arc::new(clock.clone())).await;
        Client::new(shared.clone(), number, backend, link(), clock, process.clone(), seed)
    }

    pub(super) fn name() -> Name {
        // A constant that is a name.
        Name::parse("job").unwrap_or_else(|_| unreachable!("`job` is a name"))
    }

    async fn storm(&self) {
        let end = self.shared.clock.now().plus(Self::STORM);
        let watching = async {
            while self.shared.clock.now() < end {
                self.shared.pass(Self::LOOK).await;
                self.shared.judge.look();
            }
        };
        futures::future::join(watching, nemesis::strike(self, end)).await;
        self.shared.faults.store(false, Ordering::Relaxed);
        self.shared.history.add(usize::MAX, Happening::Calm);
        for client in &self.clients {
            client.go_on();
        }
    }

    /// Everybody who was not killed gets on, and in the end nothing is left.
    async fn calm(&self) {
        let shared = &self.shared;
        let before: Vec<usize> = self.clients.iter().map(Client::grants).collect();
        self.watch_until(shared.clock.now().plus(Self::CALM), || false).await;
        // There is no queue, so among others one may have no luck for long; but not alone.
        let all_got_on = || {
            let mut all = true;
            for (client, before) in self.clients.iter().zip(&before) {
                let got_on = client.is_crashed() || client.grants() > *before;
                if got_on {
                    client.leave();
                }
                all &= got_on;
            }
            all
        };
        self.watch_until(shared.clock.now().plus(Self::LAST_TURNS), all_got_on).await;
        for (client, before) in self.clients.iter().zip(&before) {
            if !client.is_crashed() && client.grants() == *before {
                shared.judge.says(format!("client {} never got on", client.number));
            }
        }
        for client in &self.clients {
            client.end().await;
        }
        self.nothing_is_left().await;
    }

    /// Lets the judge look again and again, until then or until it is enough.
    async fn watch_until(&self, end: Moment, enough: impl Fn() -> bool) {
        while self.shared.clock.now() < end && !enough() {
            self.shared.pass(Self::LOOK * 4).await;
            self.shared.judge.look();
        }
    }

    /// A newcomer gets the name alone, whatever the crashed have left, and leaves nothing.
    async fn nothing_is_left(&self) {
        let shared = &self.shared;
        let process = Arc::new(Process::default());
        let clock = SimClock::new(shared.clock, Duration::ZERO, 1.0, process.clone());
        let number = self.clients.len();
        let last = Self::client(shared, &*self.store, number, clock, process, 0).await;
        if !last.takes_it_alone().await {
            shared.judge.says("a newcomer did not get the name after all was over".into());
            return;
        }
        match self.operator.observe(&Self::name()).await {
            Ok(seen) if seen.is_free() => {}
            other => shared.judge.says(format!("something was left behind: {other:?}")),
        }
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("clients", &self.clients.len()).finish_non_exhaustive()
    }
}

pub(super) async fn play(seed: u64, store: &dyn Store) -> Report {
    let world = World::new(seed, store).await;
    for client in &world.clients {
        client.start();
    }
    world.storm().await;
    world.calm().await;
    let history = world.shared.history.take();
    let verdicts = world.shared.judge.lock();
    Report::new(seed, history, &verdicts)
}
