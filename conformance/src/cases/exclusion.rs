//! Who may hold a name beside whom.

use std::sync::Arc;

use lease_core::backend::{Installed, Taken};
use lease_core::{Claim, Mode, Name, Policy};
use tokio::sync::Barrier;

use super::{never_there, part};
use crate::{Fixture, Worker};

/// How many ask for one name at the same moment.
const RACERS: usize = 12;

/// Clients that all saw a fresh name free install themselves at the same moment: the store decides,
/// and for one of them.
pub async fn only_one_racer_wins(store: &dyn Fixture, name: Name) {
    for round in 0..4 {
        let name = part(&name, round);
        let line = Arc::new(Barrier::new(RACERS));
        let mut racers = Vec::new();
        for _ in 0..RACERS {
            let racer = Worker::lasting(store, "racer").await;
            let (line, claim) = (Arc::clone(&line), racer.exclusive(&name));
            let backend = racer.backend();
            racers.push(tokio::spawn(async move {
                let seen = backend.observe(&claim.name).await.expect("the store answers");
                line.wait().await;
                let installed = backend.install(&claim, &seen, None).await;
                (claim, installed.expect("a lost race is an answer, not an error"))
            }));
        }

        let mut winners: Vec<Claim> = Vec::new();
        for racer in racers {
            let (claim, installed) = racer.await.expect("a racer comes home");
            if let Installed::Here(_) = installed {
                winners.push(claim);
            }
        }
        assert_eq!(winners.len(), 1, "exactly one of {RACERS} racers must win");
        let judge = Worker::lasting(store, "judge").await;
        let there = judge.sees(&name).await.exclusive.map(|record| record.nonce);
        assert_eq!(there, Some(winners[0].nonce), "the record must be the winner's");
    }
}

/// The same with the whole handshake: one is granted, and the others are refused by it.
pub async fn only_one_taker_is_granted(store: &dyn Fixture, name: Name) {
    for round in 0..4 {
        let name = part(&name, round);
        let line = Arc::new(Barrier::new(RACERS));
        let mut racers = Vec::new();
        for _ in 0..RACERS {
            let racer = Worker::new(store, "racer").await;
            let (line, claim) = (Arc::clone(&line), racer.exclusive(&name));
            let backend = racer.backend();
            racers.push(tokio::spawn(async move {
                line.wait().await;
                backend.take(&claim, None, &Policy::expired()).await.expect("the store answers")
            }));
        }

        let mut granted = 0;
        for racer in racers {
            match racer.await.expect("a racer comes home") {
                Taken::Granted(_) => granted += 1,
                Taken::Refused(_) => {}
                other => panic!("nobody is in the way but the winner: {other:?}"),
            }
        }
        assert_eq!(granted, 1, "exactly one of {RACERS} takers must be granted");
    }
}

/// Ann excludes. Bob, who asks for the same, is told who has it, and Ann is not disturbed.
pub async fn a_second_exclusive_is_refused(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    let anns = ann.takes(&name).await;
    let by = bob.is_refused_as_exclusive(&name).await;

    let holder = by.holder.expect("a refusal names the holder");
    assert_eq!(holder.info.label, "ann", "a refusal must name the holder, not the asker");
    assert_eq!((holder.nonce, holder.mode), (anns.holding.nonce, Mode::Exclusive));
    assert_eq!(by.epoch, anns.epoch, "a refusal must tell the epoch");
    ann.holds(&anns.holding).await;
}

/// Any number of writers hold one name at once.
pub async fn writers_share(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;
    let eve = Worker::new(store, "eve").await;

    let anns = ann.joins(&name).await;
    let bobs = bob.joins(&name).await;
    let eves = eve.joins(&name).await;

    for (worker, grant) in [(&ann, &anns), (&bob, &bobs), (&eve, &eves)] {
        let drain = worker.holds(&grant.holding).await;
        assert!(!drain, "no exclusive waits, so nobody is to be told of one");
    }
    assert_eq!(ann.sees(&name).await.writers.len(), 3, "each writer has a record of its own");
}

/// While Ann excludes, Bob may not write; after it he may.
pub async fn an_exclusive_keeps_writers_out(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    let anns = ann.takes(&name).await;
    let by = bob.is_refused_as_writer(&name).await;
    assert_eq!(by.holder.expect("a refusal names the holder").info.label, "ann");
    ann.holds(&anns.holding).await;

    ann.releases(&anns.holding).await;
    bob.joins(&name).await;
}

/// While Ann writes, Bob is not granted the exclusive; once she has ended he is.
pub async fn a_writer_keeps_an_exclusive_waiting(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let anns = ann.joins(&name).await;
    let (claim, draining) = bob.drains(&name).await;
    let waiting_for = draining.waiting_for.holder.as_ref().expect("it waits for somebody");
    assert_eq!(waiting_for.info.label, "ann", "a drain must tell whom it waits for");
    let draining = bob.still_drains(&claim, &draining).await;

    ann.releases(&anns.holding).await;
    bob.has_drained(&claim, &draining).await;
}

/// Two holders may share a label, and a third may have one that starts the same. Each is somebody
/// else all the same.
pub async fn a_label_is_no_identity(store: &dyn Fixture, name: Name) {
    let first = Worker::lasting(store, "node-1").await;
    let twin = Worker::lasting(store, "node-1").await;
    let longer = Worker::lasting(store, "node-10").await;

    let held = first.takes(&name).await;
    twin.is_refused_as_exclusive(&name).await;
    longer.is_refused_as_exclusive(&name).await;

    // What the twin does with its own nonce does not touch the first one's record.
    let foreign = never_there(&twin, &name, Mode::Exclusive).await;
    twin.has_lost(&foreign).await;
    twin.withdraws(&foreign).await;
    first.holds(&held.holding).await;
}
