//! What a client does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use leasehold::{BreakNote, Coordinator, Error, Fence, Lease, Mode, Name, Timing, Token};

use super::watcher::Watcher;
use super::{Orders, told};
use crate::chance::Chance;
use crate::event::{Answer, Resource, What, Who};
use crate::history::{Recorder, now};
use crate::resource::Remote;

/// How long the last turn may take: others have theirs, and the dead have left what they had.
const LAST_TURN: Duration = Duration::from_secs(90);

/// A client's life.
pub(super) struct Life {
    who: Who,
    orders: Orders,
    ttl: Duration,
    leases: Coordinator,
    recorder: Recorder,
    watcher: Watcher,
    calls: AtomicU64,
    ends: AtomicBool,
}

impl Life {
    pub(super) fn new(orders: Orders, leases: Coordinator, recorder: Recorder) -> Self {
        let (who, ttl) = (Who::Client(orders.number), Duration::from_millis(orders.ttl_ms));
        let watcher = Watcher::start(who, recorder.clone());
        let (calls, ends) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { who, orders, ttl, leases, recorder, watcher, calls, ends }
    }

    /// Ends its loops when they are through with what they hold.
    pub(super) fn leave(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }

    /// Asks, holds and lets go, again and again.
    pub(super) async fn live(self: &Arc<Self>, number: u64) {
        let chance = Chance::of(self.orders.seed, number);
        while !self.ends.load(Ordering::Relaxed) {
            tokio::time::sleep(chance.up_to(30, self.ttl)).await;
            let name = chance.one_of(&self.orders.names).clone();
            if chance.one_in(25) {
                self.break_somebody(&name).await;
                continue;
            }
            let mode = if chance.one_in(2) { Mode::Writer } else { Mode::Exclusive };
            if let Some(lease) = self.ask(&chance, &name, mode).await {
                self.hold(&chance, lease).await;
            }
        }
    }

    async fn ask(&self, chance: &Chance, name: &str, mode: Mode) -> Option<Lease> {
        let wait = if chance.one_in(4) { Duration::ZERO } else { chance.up_to(300, self.ttl) };
        let (patience, gives_up) = (chance.up_to(60, self.ttl), chance.one_in(8));
        let call = self.asks(name, mode, wait);
        tokio::select! {
            biased;
            answer = self.leases.ask(name, mode).wait(wait).acquire() => self.note(call, answer).ok(),
            // Sometimes the caller goes away in the middle.
            () = tokio::time::sleep(patience), if gives_up => {
                self.tell(What::GaveUp { call });
                None
            }
        }
    }

    fn asks(&self, name: &str, mode: Mode, wait: Duration) -> u64 {
        let (call, name, wait_ms) = (self.call(), name.to_owned(), milliseconds(wait));
        self.tell(What::Asks { call, name, mode, wait_ms });
        call
    }

    fn note(&self, call: u64, answer: leasehold::Result<Lease>) -> Result<Lease, String> {
        match answer {
            Ok(lease) => {
                let (mode, epoch, token) = (lease.mode(), lease.epoch(), lease.token());
                let (name, nonce) = (lease.name().to_string(), lease.nonce());
                self.tell(What::Granted { call, name, mode, epoch, token, nonce });
                Ok(lease)
            }
            Err(error) => {
                let why = told(&error);
                self.tell(What::NotGranted { call, why: why.clone() });
                Err(why)
            }
        }
    }

    async fn hold(self: &Arc<Self>, chance: &Chance, mut lease: Lease) {
        if chance.one_in(6) {
            self.retime(self.ttl + chance.up_to(100, self.ttl), &mut lease);
        }
        let nonce = lease.nonce();
        let lease = Arc::new(lease);
        self.watcher.add(Arc::clone(&lease));
        tokio::select! {
            reason = lease.lost() => self.tell(What::Lost { nonce, reason: reason.to_string() }),
            () = self.work(chance, &lease) => {}
        }
        self.let_go(lease, chance.one_in(4)).await;
    }

    fn retime(&self, ttl: Duration, lease: &mut Lease) {
        let nonce = lease.nonce();
        self.tell(What::Retimes { nonce, ttl_ms: milliseconds(ttl) });
        let timing = Timing::with_ttl(ttl).build();
        if let Err(error) = timing.and_then(|timing| lease.retime(timing)) {
            self.tell(What::NotWritten { nonce, why: told(&error) });
        }
    }

    async fn let_go(&self, lease: Arc<Lease>, by_dropping: bool) {
        let nonce = lease.nonce();
        self.watcher.remove(nonce);
        self.tell(What::LetsGo { nonce });
        match Arc::into_inner(lease) {
            // Best effort, in the background.
            Some(lease) if by_dropping => drop(lease),
            Some(lease) => {
                let answer = match lease.release().await {
                    Ok(released) => format!("{released:?}"),
                    Err(error) => told(&error),
                };
                self.tell(What::Released { nonce, answer });
            }
            None => unreachable!("the watcher has given it back"),
        }
    }

    async fn work(self: &Arc<Self>, chance: &Chance, lease: &Lease) {
        let nonce = lease.nonce();
        let address = self.orders.resources;
        let remote = Remote { address, nonce, name: lease.name().to_string() };
        // R22: announce, confirm, and only then work.
        while let Err(error) = lease.announce(&remote).await {
            self.tell(What::NotWritten { nonce, why: told(&error) });
            if lease.check().is_err() {
                return;
            }
            tokio::time::sleep(self.ttl / 20).await;
        }
        for _ in 0..chance.below(6) {
            tokio::time::sleep(chance.up_to(60, self.ttl)).await;
            let late = chance.one_in(5).then(|| chance.up_to(250, self.ttl));
            let write = |fence: Fence| self.write(remote.clone(), fence.token(), late);
            if let Err(error) = lease.guard(write).await {
                self.tell(What::NotWritten { nonce, why: told(&error) });
                if lease.check().is_err() {
                    return;
                }
            }
        }
    }

    /// To both resources: at once, or by a write that is on its way for so long, perhaps for longer
    /// than the belief lasts.
    async fn write(self: &Arc<Self>, remote: Remote, token: Token, late: Option<Duration>) {
        let life = Arc::clone(self);
        let write = async move {
            tokio::time::sleep(late.unwrap_or_default()).await;
            for resource in [Resource::Unfenced, Resource::Fenced] {
                let sent = now();
                let admitted = remote.write(resource, token).await.ok();
                life.tell(What::Wrote { nonce: remote.nonce, resource, sent, admitted });
            }
        };
        match late {
            None => write.await,
            Some(_) => drop(tokio::spawn(write)),
        }
    }

    /// As an operator who takes whoever is there for a leftover.
    async fn break_somebody(&self, name: &str) {
        let Ok(name) = Name::parse(name) else { return };
        let Ok(seen) = self.leases.status(&name).await else { return };
        let Some(nonce) = seen.standing().holder.map(|holder| holder.nonce) else { return };
        let call = self.call();
        self.tell(What::Breaks { call, name: name.to_string(), nonce });
        let note = BreakNote::new(format!("{:?}", self.who), "a trial");
        let broken = self.leases.break_record(&name, nonce, &note).await;
        let (answer, said) = match broken {
            Ok(epoch) => (Answer::Done, epoch.to_string()),
            Err(error @ Error::Held { .. }) => (Answer::NotDone, told(&error)),
            Err(error) => (Answer::Unclear, told(&error)),
        };
        self.tell(What::Broke { call, answer, said });
    }

    /// Alone, once, and gone.
    pub(super) async fn last_turn(&self, name: &str) {
        let call = self.asks(name, Mode::Exclusive, LAST_TURN);
        let answer = self.leases.exclusive(name).wait(LAST_TURN).acquire().await;
        let problem = match self.note(call, answer) {
            Ok(lease) => {
                let lease = Arc::new(lease);
                self.watcher.add(Arc::clone(&lease));
                self.let_go(lease, false).await;
                None
            }
            Err(why) => Some(why),
        };
        self.tell(What::Turn { name: name.to_owned(), problem });
    }

    fn call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    fn tell(&self, what: What) {
        self.recorder.add(self.who, what);
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
