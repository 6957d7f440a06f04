//! A writer that died, and the exclusive job that nobody may block for months.

use lease_core::{BreakNote, Freshness, Policy};

use crate::world::{JOB, SECOND, World, held_by, job};

/// One writer was killed, another works on for three seconds. The exclusive gets on as soon as the
/// living one is done and the dead one has run out, and says meanwhile whom it waits for; a writer
/// that comes later is held back and gets on afterwards. (Case 28.)
#[tokio::test(start_paused = true)]
async fn blocks_an_exclusive_no_longer_than_its_ttl() {
    let world = World::new();
    let (dead, _frozen) = world.frozen("dead", SECOND * 2);
    let alive = world.person("alive", SECOND * 2);
    let start = world.now();

    let deads = dead.writer(JOB).acquire().await.unwrap();
    let alives = alive.writer(JOB).acquire().await.unwrap();
    let (clock, until) = (world.clock, start.plus(SECOND * 3));
    tokio::spawn(async move {
        lease_core::clock::Clock::sleep_until(&clock, until).await;
        alives.release().await.unwrap();
    });

    let weekly = world.person("weekly", SECOND * 2);
    let exclusive = tokio::spawn(weekly.exclusive(JOB).wait(SECOND * 10).acquire());
    world.pass(SECOND).await;
    let seen = world.store_status().await;
    let mut labels: Vec<_> = seen.writers.iter().map(|w| w.info.label.clone()).collect();
    labels.sort();
    assert_eq!(labels, ["alive", "dead"]);

    let later = world.person("later", SECOND * 2);
    assert_eq!(held_by(later.writer(JOB).acquire().await), "weekly");
    let waiting = tokio::spawn(later.writer(JOB).wait(SECOND * 20).acquire());

    let exclusive = exclusive.await.unwrap().unwrap();
    let granted_after = world.now().since(start);
    assert!(granted_after >= SECOND * 3 && granted_after < SECOND * 5, "{granted_after:?}");

    let epoch = exclusive.epoch();
    exclusive.release().await.unwrap();
    let writer = waiting.await.unwrap().unwrap();
    assert_eq!(writer.epoch(), epoch);
    drop(deads);
}

/// Who wants a person to look first gets told so at once, and leaves nothing behind.
#[tokio::test(start_paused = true)]
async fn is_left_to_an_operator_where_the_policy_says_so() {
    let world = World::new();
    let (dead, _frozen) = world.frozen("dead", SECOND * 2);
    let kept = dead.writer(JOB).acquire().await.unwrap();
    world.pass(SECOND * 3).await;

    let careful = world.person("careful", SECOND * 2);
    let ask = || careful.exclusive(JOB).policy(Policy::refuse());
    assert_eq!(held_by(ask().acquire().await), "dead");

    let seen = world.store_status().await;
    assert!(seen.exclusive.is_none(), "the drain must not stay");
    assert_eq!(seen.writers[0].freshness, Freshness::Stale);

    drop(ask().force().acquire().await.unwrap());
    drop(kept);
}

/// Whoever waits for that person does not keep other writers out meanwhile.
#[tokio::test(start_paused = true)]
async fn keeps_nobody_out_while_it_is_left_to_an_operator() {
    let world = World::new();
    let (dead, _frozen) = world.frozen("dead", SECOND * 2);
    let kept = dead.writer(JOB).acquire().await.unwrap();
    world.pass(SECOND * 3).await;
    let careful = world.person("careful", SECOND * 2);
    let ask = careful.exclusive(JOB).policy(Policy::refuse()).wait(SECOND * 60);
    let waiting = tokio::spawn(ask.acquire());
    world.pass(SECOND * 5).await;

    world.person("later", SECOND * 2).writer(JOB).acquire().await.unwrap().release().await.unwrap();

    let note = BreakNote::new("an operator", "it is dead");
    careful.break_record(&job(), kept.nonce(), &note).await.unwrap();
    drop(waiting.await.unwrap().unwrap());
}

impl World {
    async fn store_status(&self) -> lease_core::Snapshot {
        lease_core::Backend::inspect(&self.store, &job()).await.unwrap()
    }
}
