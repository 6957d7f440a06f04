//! A few clients that acquire, hold, renew, stop for a while, crash and come back, at random; their
//! requests in any order, some of them late. Nobody may ever believe beside an exclusive.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use lease_core::backend::{Draining, Joined, Renewed, Taken};
use lease_core::{Backend, Claim, Clock, Grant, Holding, Jitter, Mode, Moment, Policy, Token};
use lease_objstore::ObjStore;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::people::{RESOLUTION, World, claim};
use crate::store::{Op, Then, no_answer};
use crate::turns::Turns;

const CLIENTS: usize = 4;
const TURNS: usize = 3_000;
const TTL: Duration = Duration::from_secs(2);

/// What is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    Nothing,
    /// Now and then a listing shows what the last one did.
    Lists,
    /// Holders believe for longer than their ttl.
    Beliefs,
}

impl Broken {
    fn belief(self) -> Duration {
        match self {
            Self::Beliefs => TTL * 2,
            _ => TTL - TTL / 20 - RESOLUTION,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Held {
    who: usize,
    token: Token,
    mode: Mode,
    until: Moment,
}

/// Who believes what, and what went wrong.
#[derive(Default)]
struct Ledger {
    held: Vec<Held>,
    highest: Option<Token>,
    grants: usize,
    losses: usize,
    violations: Vec<String>,
}

impl Ledger {
    fn granted(&mut self, now: Moment, new: Held) {
        self.grants += 1;
        self.held.retain(|held| now < held.until && held.who != new.who);
        for held in &self.held {
            if new.mode == Mode::Exclusive || held.mode == Mode::Exclusive {
                self.violations.push(format!("{new:?} beside {held:?} at {now:?}"));
            } else if held.token != new.token {
                self.violations.push(format!("two epochs at once: {new:?} and {held:?}"));
            }
        }
        let in_order = match new.mode {
            Mode::Exclusive => self.highest < Some(new.token),
            Mode::Writer => self.highest <= Some(new.token),
        };
        if !in_order {
            self.violations.push(format!("{new:?} after {:?}", self.highest));
        }
        self.highest = self.highest.max(Some(new.token));
        self.held.push(new);
    }

    fn believes(&mut self, who: usize, until: Moment) {
        self.held.iter_mut().filter(|held| held.who == who).for_each(|held| held.until = until);
    }

    fn ended(&mut self, who: usize) {
        self.held.retain(|held| held.who != who);
    }
}

/// One client's life.
struct Client {
    who: usize,
    store: ObjStore,
    turns: Turns,
    clock: lease_core::clock::ManualClock,
    rng: SmallRng,
    claim: Claim,
    ledger: Arc<Mutex<Ledger>>,
    broken: Broken,
}

impl Client {
    async fn live(mut self) {
        loop {
            self.turns.next().await;
            let mode = if self.rng.random_ratio(1, 2) { Mode::Writer } else { Mode::Exclusive };
            let nonce = Jitter::system().nonce();
            let claim = Claim { mode, nonce, ..self.claim.clone() };
            let granted = self.acquire(&claim).await;
            if let Some((grant, until)) = granted {
                let token = Token::new(mode, grant.epoch);
                let held = Held { who: self.who, token, mode, until };
                self.ledger.lock().unwrap().granted(self.clock.now(), held);
                self.hold(grant.holding, until).await;
            }
        }
    }

    /// A grant that still stands, and until when.
    async fn acquire(&mut self, claim: &Claim) -> Option<(Grant, Moment)> {
        let mut draining: Option<Draining> = None;
        for _ in 0..self.rng.random_range(1..6) {
            let until = self.clock.now().plus(self.broken.belief());
            let granted = match claim.mode {
                Mode::Writer => match self.store.join(claim, &Policy::expired()).await {
                    Ok(Joined::Granted(grant)) => Some(grant),
                    Ok(Joined::Refused(_)) | Err(_) => break,
                },
                Mode::Exclusive => {
                    let taken = self.store.take(claim, draining.as_ref(), &Policy::expired()).await;
                    match taken {
                        Ok(Taken::Granted(grant)) => Some(grant),
                        Ok(Taken::Draining(more)) => {
                            draining = Some(more);
                            None
                        }
                        Ok(Taken::Refused(_) | Taken::Displaced(_)) => return None,
                        // A first round that failed is not gone on with: see `take`.
                        Err(_) => match draining.take() {
                            Some(before) => {
                                draining = Some(before.after_a_failed_round());
                                None
                            }
                            None => break,
                        },
                    }
                }
            };
            match granted {
                Some(grant) if self.clock.now() < until => return Some((grant, until)),
                Some(_) => break,
                None => self.turns.next().await,
            }
        }
        let mine = Holding::created(claim, lease_core::Revision::new(""));
        let mine = draining.map_or(mine, |draining| draining.holding);
        self.store.withdraw(&mine).await.ok();
        None
    }

    async fn hold(&mut self, mut mine: Holding, mut until: Moment) {
        for _ in 0..self.rng.random_range(0..8) {
            self.turns.next().await;
            if self.clock.now() >= until {
                break;
            }
            mine = mine.next_beat();
            let longer = self.clock.now().plus(self.broken.belief());
            let answer = self.store.renew(std::slice::from_ref(&mine)).await.remove(0);
            // What comes after the belief's end is dropped: that is the keeper's part.
            let in_time = self.clock.now() < until;
            match answer {
                Ok(Renewed::Renewed { revision, .. }) if in_time => {
                    mine = mine.acknowledged(revision);
                    until = longer;
                    self.ledger.lock().unwrap().believes(self.who, until);
                }
                Ok(Renewed::Lost(_)) => {
                    self.ledger.lock().unwrap().losses += 1;
                    break;
                }
                Ok(Renewed::Renewed { .. }) | Err(_) => {}
            }
        }
        if self.rng.random_ratio(1, 4) {
            // A crash: it never comes back to this record, whose belief runs on.
            for _ in 0..20 {
                self.turns.next().await;
            }
            self.ledger.lock().unwrap().ended(self.who);
            return;
        }
        self.ledger.lock().unwrap().ended(self.who);
        self.store.withdraw(&mine).await.ok();
    }
}

async fn run(seed: u64, broken: Broken) -> Ledger {
    let mut rng = SmallRng::seed_from_u64(seed);
    let world = World::new();
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let mut clients: Vec<(Turns, BoxFuture<'static, ()>)> = Vec::new();
    for who in 0..CLIENTS {
        let (store, view) = world.connect().await;
        let turns = Turns::default();
        let (own, fate) = (turns.clone(), Mutex::new(SmallRng::seed_from_u64(rng.random())));
        let store_in_common = view.clone();
        view.hook(move |op, _| {
            let roll = fate.lock().unwrap().random_range(0..1000);
            let writes = matches!(op, Op::Create | Op::Put);
            match roll {
                // One at a time is late, as in the model.
                0..10 if writes && store_in_common.late() == 0 => Then::Late,
                10..15 => Then::Fail(no_answer()),
                15..20 if op != Op::List => Then::Lose(no_answer()),
                20..320 if op == Op::List && broken == Broken::Lists => Then::Stale,
                _ => Then::Wait(own.next()),
            }
        });
        let (clock, ledger) = (world.clock.clone(), Arc::clone(&ledger));
        let rng = SmallRng::seed_from_u64(rng.random());
        let claim = claim(Mode::Writer, TTL);
        let client = Client { who, store, turns: turns.clone(), clock, rng, claim, ledger, broken };
        clients.push((turns, Box::pin(client.live())));
    }

    let mut stopped = [0_usize; CLIENTS];
    for turn in 0..TURNS {
        let who = rng.random_range(0..CLIENTS);
        if stopped[who] > turn {
            continue;
        }
        let (turns, client) = &mut clients[who];
        turns.give(client);
        match rng.random_range(0..1000) {
            0..5 => stopped[who] = turn + rng.random_range(1..400),
            5..15 if world.store.late() > 0 => world.store.land(0).await,
            15..20 => world.pass(TTL.mul_f64(rng.random_range(0.5..3.0))),
            20..600 => world.pass(TTL.mul_f64(rng.random_range(0.0..0.02))),
            _ => {}
        }
    }
    drop(clients);
    Arc::into_inner(ledger).unwrap().into_inner().unwrap()
}

#[tokio::test]
async fn no_beliefs_overlap_and_tokens_only_rise() {
    // More of them for whoever has the time.
    let seeds = std::env::var("LEASE_TORTURE_SEEDS").ok().and_then(|text| text.parse().ok());
    let (mut grants, mut losses) = (0, 0);
    for seed in 0..seeds.unwrap_or(14) {
        let ledger = run(seed, Broken::Nothing).await;
        assert!(ledger.violations.is_empty(), "seed {seed}: {:#?}", ledger.violations);
        grants += ledger.grants;
        losses += ledger.losses;
    }
    assert!(grants > 150, "{grants} grants are no torture");
    assert!(losses > 2, "{losses} losses are no torture");
}

/// The control: each of these is seen.
#[rstest::rstest]
#[tokio::test]
async fn what_is_broken_is_seen(#[values(Broken::Lists, Broken::Beliefs)] broken: Broken) {
    for seed in 0..20 {
        if !run(seed, broken).await.violations.is_empty() {
            return;
        }
    }
    panic!("{broken:?} went unseen");
}
