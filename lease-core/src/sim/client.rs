//! One client: it asks, holds, writes and lets go, as chance wants it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::clock::SimClock;
use super::history::Happening;
use super::link::Link;
use super::process::Process;
use super::resource::Resource;
use super::world::{Shared, World};
use crate::clock::Clock;
use crate::keeper::KeeperMode;
use crate::{Admission, Backend, Coordinator, HolderInfo, Lease, Mode, Timing};

/// One client.
pub(super) struct Client {
    pub(super) number: usize,
    life: Arc<Life>,
    process: Arc<Process>,
    running: Mutex<Option<JoinHandle<()>>>,
}

/// What a client's own task works with.
struct Life {
    world: Arc<Shared>,
    number: usize,
    clock: SimClock,
    coordinator: Coordinator,
    resource: Resource,
    grants: AtomicUsize,
    crashed: AtomicBool,
    ends: AtomicBool,
}

impl Client {
    pub(super) fn new(
        world: Arc<Shared>,
        number: usize,
        backend: Arc<dyn Backend>,
        link: Link,
        clock: SimClock,
        process: Arc<Process>,
        seed: u64,
    ) -> Self {
        let ttl = Duration::from_secs(2 + world.chance.below(3));
        let timing = Timing::with_ttl(ttl).build().unwrap_or_default();
        // Each is a machine of its own: what this one's system knows of this process is not asked.
        let info = HolderInfo { label: format!("client {number}"), ..HolderInfo::default() };
        let coordinator = Coordinator::builder(backend)
            .info(info)
            .clock(Arc::new(clock.clone()))
            .keeper(KeeperMode::CurrentRuntime)
            .timing(timing)
            // Apart from all other clients' and schedules' seeds, so that no nonce repeats.
            .seed(seed.wrapping_mul(1_000_003).wrapping_add(number as u64 * 7919 + 1))
            .build();
        let life = Life {
            resource: Resource::new(world.clone(), link),
            world,
            number,
            clock,
            coordinator,
            grants: AtomicUsize::new(0),
            crashed: AtomicBool::new(false),
            ends: AtomicBool::new(false),
        };
        Self { number, life: Arc::new(life), process, running: Mutex::new(None) }
    }

    pub(super) fn start(&self) {
        let life = self.life.clone();
        let task = tokio::spawn(async move { life.live().await });
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    pub(super) fn grants(&self) -> usize {
        self.life.grants.load(Ordering::Relaxed)
    }

    pub(super) fn is_crashed(&self) -> bool {
        self.life.crashed.load(Ordering::Relaxed)
    }

    /// Stops its process for so long: nothing in it wakes up, and nothing leaves or reaches it.
    pub(super) fn stop_for(&self, time: Duration) {
        let (process, life) = (self.process.clone(), self.life.clone());
        tokio::spawn(async move {
            process.stop();
            life.world.pass(time).await;
            if !life.crashed.load(Ordering::Relaxed) {
                process.go_on();
            }
        });
    }

    /// Kills its process: what it has sent still arrives.
    pub(super) fn crash(&self) {
        self.life.crashed.store(true, Ordering::Relaxed);
        self.process.stop();
    }

    pub(super) fn go_on(&self) {
        if !self.is_crashed() {
            self.process.go_on();
        }
    }

    /// Tells it not to ask again.
    pub(super) fn leave(&self) {
        self.life.ends.store(true, Ordering::Relaxed);
    }

    /// Lets it finish what it is at, unless it was killed.
    pub(super) async fn end(&self) {
        self.leave();
        let task = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(task), false) = (task, self.is_crashed())
            && let Err(panic) = task.await
        {
            self.life.world.judge.says(format!("client {}: {panic}", self.number));
        }
    }

    /// Takes the name alone, once, and lets go again.
    pub(super) async fn takes_it_alone(&self) -> bool {
        let ask = self.life.coordinator.exclusive(World::name().as_str());
        match ask.wait(Duration::from_secs(60)).acquire().await {
            Ok(lease) => {
                self.life.holds(&lease);
                lease.release().await.is_ok()
            }
            Err(_) => false,
        }
    }
}

impl Life {
    async fn live(&self) {
        let chance = &self.world.chance;
        while !self.ends.load(Ordering::Relaxed) {
            self.pause(0, 800).await;
            let mode = if chance.one_in(2) { Mode::Writer } else { Mode::Exclusive };
            self.tell(Happening::Asks(mode));
            let ask = self.coordinator.ask(World::name().as_str(), mode);
            let ask = match chance.below(4) {
                0 => ask,
                _ => ask.wait(chance.milliseconds(100, 12_000)),
            };
            // Sometimes the caller goes away in the middle.
            let answer = if chance.one_in(8) {
                tokio::select! {
                    biased;
                    answer = ask.acquire() => answer,
                    () = self.pause(0, 500) => continue,
                }
            } else {
                ask.acquire().await
            };
            match answer {
                Ok(lease) => {
                    self.holds(&lease);
                    self.work(&lease).await;
                    self.let_go(lease).await;
                }
                Err(error) => self.tell(Happening::NotGranted(error.to_string())),
            }
        }
    }

    fn holds(&self, lease: &Lease) {
        self.grants.fetch_add(1, Ordering::Relaxed);
        self.tell(Happening::Granted(lease.mode(), lease.epoch()));
        self.world.judge.granted(lease.belief());
    }

    async fn work(&self, lease: &Lease) {
        // R22: announce, confirm, and only then work.
        while let Err(error) = lease.announce(&self.resource).await {
            if lease.check().is_err() {
                return self.tell(Happening::Over(error.to_string()));
            }
            self.pause(10, 100).await;
        }
        for _ in 0..self.world.chance.below(6) {
            self.pause(0, 1500).await;
            let write = |fence: crate::Fence| {
                let (world, belief, number) = (self.world.clone(), lease.belief(), self.number);
                let token = fence.token();
                self.resource.write(token, move |admission| {
                    let admitted = admission == Admission::Admitted;
                    world.history.add(number, Happening::Wrote { token, admitted });
                    world.judge.wrote(&belief, token, admitted);
                })
            };
            // A write that is not answered is given up: nobody waits for one for ever.
            let patience = self.pause(4000, 4001);
            let guarded = tokio::select! {
                biased;
                guarded = lease.guard(write) => guarded.map(|_| ()),
                () = patience => Ok(()),
            };
            if let (Err(error), Err(_)) = (guarded, lease.check()) {
                return self.tell(Happening::Over(error.to_string()));
            }
        }
    }

    async fn let_go(&self, lease: Lease) {
        match self.world.chance.below(4) {
            // Best effort: in the background.
            0 => drop(lease),
            _ => {
                let released = lease.release().await;
                self.tell(Happening::Over(format!("{released:?}")));
            }
        }
    }

    async fn pause(&self, from_ms: u64, to_ms: u64) {
        let time = self.world.chance.milliseconds(from_ms, to_ms);
        self.clock.sleep_until(self.clock.now().plus(time)).await;
    }

    fn tell(&self, happening: Happening) {
        self.world.history.add(self.number, happening);
    }
}
