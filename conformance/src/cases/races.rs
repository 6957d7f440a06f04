//! Many at once, with small pauses at random: whatever the order, never two who exclude each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lease_core::backend::{Joined, Renewed, Taken};
use lease_core::{Backend, Claim, Holding, Jitter, Mode, Name, Policy, Revision};

use super::{LONG, again, part};
use crate::interrupt::{pause, step_by_step};
use crate::worker::Watched;
use crate::{Fixture, Worker};

/// How often each race is run.
const ROUNDS: u64 = 60;

/// How often a racer asks again before the race counts as stuck.
const PATIENCE: usize = 5000;

/// Two writers and an exclusive come and go: nobody is ever inside together with the exclusive.
pub async fn a_writer_and_an_exclusive_never_both_hold(store: &dyn Fixture, name: Name) {
    for round in 0..ROUNDS {
        let mut clients = Vec::new();
        for _ in 0..3 {
            clients.push(store.connect().await);
        }
        meet(store, &name, round, &clients).await;
    }
}

/// The same with a pause at random before and after each single step of their handshakes.
pub async fn steps_of_two_handshakes_in_any_order_are_safe(store: &dyn Fixture, name: Name) {
    for round in 0..ROUNDS {
        let mut clients = Vec::new();
        for client in 0..3 {
            clients.push(step_by_step(store.connect().await, 10 * round + client));
        }
        meet(store, &name, round, &clients).await;
    }
}

/// A writer that has expired renews at the moment in which an exclusive clears it away: one of the
/// two gets on, never both.
pub async fn a_revived_writer_and_its_evictor_never_both_hold(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        rounds.push((round, ann.joins(&part(&name, round)).await.holding));
    }
    ann.waits_until_it_expires(ann.ttl()).await;

    for (round, anns) in rounds {
        let claim = bob.exclusive(&anns.name);
        let taken = revive_and_take(&ann, &anns, bob.backend(), claim, round).await;
        assert!(
            !matches!(taken, (Renewed::Renewed { .. }, Taken::Granted(_))),
            "a renewed writer and the exclusive that cleared it away must not both hold"
        );
    }
}

/// The same with an exclusive that has expired and its successor.
pub async fn a_revived_exclusive_and_its_successor_never_both_hold(
    store: &dyn Fixture,
    name: Name,
) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        rounds.push((round, ann.takes(&part(&name, round)).await.holding));
    }
    ann.waits_until_it_expires(ann.ttl()).await;

    for (round, anns) in rounds {
        let claim = bob.exclusive(&anns.name);
        let (renewed, taken) = revive_and_take(&ann, &anns, bob.backend(), claim, round).await;
        let Taken::Granted(bobs) = taken else { continue };
        assert!(
            matches!(renewed, Renewed::Lost(_)),
            "a renewed exclusive and its successor must not both hold"
        );
        bob.holds(&bobs.holding).await;
        assert!(Some(bobs.epoch) > anns.epoch, "a takeover must raise the epoch");
    }
}

/// Eight clients find the same expired exclusive and clear it: one of them follows it.
pub async fn an_expired_exclusive_has_one_successor(store: &dyn Fixture, name: Name) {
    const HEIRS: usize = 8;
    let ann = Worker::new(store, "ann").await;
    let mut heirs = Vec::new();
    for _ in 0..HEIRS {
        heirs.push(Worker::new(store, "heir").await);
    }
    let mut estates = Vec::new();
    for round in 0..8 {
        estates.push(ann.takes(&part(&name, round)).await.holding);
    }
    ann.waits_until_it_expires(ann.ttl()).await;

    for estate in estates {
        // A successor may have to ask again where the store removes in two steps.
        let (mut granted, mut watched) = (0, Watched::default());
        for _ in 0..50 {
            let asks = heirs.iter().enumerate().map(|(seed, heir)| {
                let (backend, claim) = (heir.backend(), heir.exclusive(&estate.name));
                tokio::spawn(async move {
                    pause(&Jitter::seeded(seed as u64), 4).await;
                    backend.take(&claim, None, &Policy::expired()).await.expect("an answer")
                })
            });
            for ask in asks.collect::<Vec<_>>() {
                let taken = ask.await.expect("an heir comes home");
                granted += usize::from(matches!(taken, Taken::Granted(_)));
            }
            if granted > 0 {
                break;
            }
            heirs[0].waits_a_step(&estate.name, &mut watched).await;
        }
        assert_eq!(granted, 1, "an expired exclusive must have exactly one successor");
        assert_eq!(ann.sees(&estate.name).await.record(estate.nonce).map(|r| r.nonce), None);
    }
}

/// Renews an expired record and asks for its name at the same moment.
async fn revive_and_take(
    ann: &Worker<'_>,
    anns: &Holding,
    bob: Arc<dyn Backend>,
    claim: Claim,
    round: u64,
) -> (Renewed, Taken) {
    let jitter = Jitter::seeded(round);
    let taking = tokio::spawn(async move {
        pause(&jitter, 2).await;
        bob.take(&claim, None, &Policy::expired()).await.expect("the store answers")
    });
    pause(&Jitter::seeded(!round), 6).await;
    let renewed = ann.sends_a_renewal(anns).await;
    (renewed, taking.await.expect("a racer comes home"))
}

/// Who is inside at this moment.
#[derive(Debug, Default)]
struct Arena {
    writers: AtomicUsize,
    exclusives: AtomicUsize,
    overlaps: AtomicUsize,
}

impl Arena {
    /// Holds for a while; counts whoever is there and must not be.
    async fn stay(&self, mine: &AtomicUsize, others: &AtomicUsize, jitter: &Jitter) {
        mine.fetch_add(1, Ordering::SeqCst);
        for _ in 0..3 {
            let inside = others.load(Ordering::SeqCst);
            self.overlaps.fetch_add(inside, Ordering::SeqCst);
            pause(jitter, 2).await;
        }
        mine.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The last client takes the name while the others join it; all leave again.
async fn meet(store: &dyn Fixture, name: &Name, round: u64, clients: &[Arc<dyn Backend>]) {
    let arena = Arc::new(Arena::default());
    let mut tasks = Vec::new();
    for (i, client) in clients.iter().enumerate() {
        let racer = Worker::with(store, Arc::clone(client), "racer").with_ttl(LONG);
        let racer = Racer {
            arena: Arc::clone(&arena),
            jitter: Jitter::seeded(100 * round + i as u64),
            backend: Arc::clone(client),
            claim: if i + 1 < clients.len() { racer.writer(name) } else { racer.exclusive(name) },
        };
        tasks.push(tokio::spawn(async move {
            pause(&racer.jitter, 8).await;
            match racer.claim.mode {
                Mode::Writer => racer.writes_once().await,
                Mode::Exclusive => racer.excludes_once().await,
            }
        }));
    }
    for task in tasks {
        task.await.expect("a racer comes home");
    }
    let overlaps = arena.overlaps.load(Ordering::SeqCst);
    assert_eq!(overlaps, 0, "a writer and an exclusive must never hold at the same time");
}

struct Racer {
    arena: Arc<Arena>,
    jitter: Jitter,
    backend: Arc<dyn Backend>,
    claim: Claim,
}

impl Racer {
    async fn writes_once(&self) {
        for _ in 0..PATIENCE {
            let answer = self.backend.join(&again(&self.claim), &Policy::expired()).await;
            if let Joined::Granted(grant) = answer.expect("the store answers") {
                self.arena.stay(&self.arena.writers, &self.arena.exclusives, &self.jitter).await;
                self.backend.withdraw(&grant.holding).await.expect("the store answers");
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("a writer must get in once the exclusive has gone");
    }

    async fn excludes_once(&self) {
        let (mut claim, mut draining) = (again(&self.claim), None);
        for _ in 0..PATIENCE {
            let answer = self.backend.take(&claim, draining.as_ref(), &Policy::expired()).await;
            match answer.expect("the store answers") {
                Taken::Granted(grant) => {
                    self.arena
                        .stay(&self.arena.exclusives, &self.arena.writers, &self.jitter)
                        .await;
                    self.backend.withdraw(&grant.holding).await.expect("the store answers");
                    return;
                }
                Taken::Draining(more) => draining = Some(more),
                Taken::Refused(_) => (claim, draining) = (again(&self.claim), None),
                // Another one was before it, which a first round may find out at its end.
                Taken::Displaced(_) if draining.is_none() => {
                    let left = Holding::created(&claim, Revision::new(""));
                    self.backend.withdraw(&left).await.expect("the store answers");
                    claim = again(&self.claim);
                }
                Taken::Displaced(_) => panic!("nobody displaces an exclusive that lives"),
            }
            tokio::task::yield_now().await;
        }
        panic!("an exclusive must get in once the writers have gone");
    }
}
