//! Requests that come twice, late or not at all, and answers that are lost.

use std::sync::Arc;

use lease_core::backend::{Committed, Installed, Joined, Registered, Renewed, Taken};
use lease_core::layer::{Fault, Faulty, Method};
use lease_core::{Claim, Effect, Error, Grant, Holding, Mode, Name, Policy, State};

use super::{LONG, never_there};
use crate::{Fixture, Worker};

/// A registration that is repeated is the same one.
pub async fn a_repeated_register_is_the_same_one(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let claim = ann.writer(&name);

    let first = registers(&ann, &claim).await;
    let again = registers(&ann, &claim).await;
    assert!(matches!(first, Registered::Here(_)), "a fresh nonce is registered: {first:?}");
    assert_eq!(again, first, "a repeated registration must answer as the first did");
    assert_eq!(ann.sees(&name).await.writers.len(), 1, "one writer has one record");
    assert_eq!(store.records(&name).await, 1, "one writer has one record");
}

/// An installation that is repeated is the same one.
pub async fn a_repeated_install_is_the_same_one(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let claim = ann.exclusive(&name);
    let seen = ann.sees(&name).await;

    let first = ann.backend().install(&claim, &seen, None).await.expect("the store answers");
    let again = ann.backend().install(&claim, &seen, None).await.expect("the store answers");
    assert!(matches!(first, Installed::Here(_)), "the name is free: {first:?}");
    assert_eq!(again, first, "a repeated installation must answer as the first did");
    let there = ann.sees(&name).await.exclusive.expect("ann is installed");
    assert_eq!((there.nonce, there.state), (claim.nonce, State::Draining));
    assert_eq!(store.records(&name).await, 1, "one exclusive has one record");
}

/// A commit that is repeated gives the same epoch.
pub async fn a_repeated_commit_gives_the_same_epoch(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let claim = ann.exclusive(&name);
    let seen = ann.sees(&name).await;
    let installed = ann.backend().install(&claim, &seen, None).await.expect("the store answers");
    let Installed::Here(revision) = installed else { panic!("the name is free") };
    let mine = Holding::created(&claim, revision);

    let first = ann.backend().commit(&mine).await.expect("the store answers");
    let again = ann.backend().commit(&mine).await.expect("the store answers");
    let Committed::Granted { epoch, .. } = first else { panic!("nobody is in the way") };
    assert_eq!(again, first, "a repeated commit must answer as the first did");
    assert_eq!(ann.sees(&name).await.epoch, epoch, "a repeated commit must raise nothing");
}

/// A commit without a record, or after it was removed, is lost and raises nothing.
pub async fn a_commit_of_nothing_is_lost(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    let bobs = bob.takes(&name).await;
    let never = never_there(&ann, &name, Mode::Exclusive).await;
    let lost = ann.backend().commit(&never).await.expect("the store answers");
    assert_eq!(lost, Committed::Lost, "ann was never installed");
    bob.releases(&bobs.holding).await;
    let lost = bob.backend().commit(&bobs.holding).await.expect("the store answers");
    assert_eq!(lost, Committed::Lost, "bob has gone");
    assert_eq!(bob.sees(&name).await.epoch, bobs.epoch, "a commit of nothing must raise nothing");
    assert!(bob.sees(&name).await.is_free(), "a commit must create nothing");
}

/// The same renewal twice counts once: from when it was first there.
pub async fn a_repeated_renewal_counts_once(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let sent = ann.takes(&name).await.holding.next_beat();
    let first = ann.sends_this_renewal(&sent).await;
    ann.waits(ann.ttl() * 6 / 10).await;
    let again = ann.sends_this_renewal(&sent).await;
    assert_eq!(again, first, "a repeated renewal must answer as the first did");

    // The first one is a ttl ago now, and the second one half a ttl.
    ann.waits_until_it_expires(ann.ttl() * 4 / 10).await;
    bob.evicts_in_time(&name, &bob.sees(&name).await.exclusive.expect("expired").target()).await;
}

/// What was withdrawn, evicted or broken never comes back, however late its registration comes
/// again (rule R19).
pub async fn a_late_registration_revives_nothing(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await;
    let bob = Worker::new(store, "bob").await;

    let withdrawn = joins_as(&ann, &name).await;
    ann.releases(&withdrawn.1.holding).await;
    let broken = joins_as(&ann, &name).await;
    bob.breaks(&broken.1.holding).await;
    let evicted = joins_as(&ann, &name).await;
    ann.waits_until_it_expires(ann.ttl()).await;
    bob.evicts_in_time(&name, &bob.sees(&name).await.writers[0].target()).await;

    for (claim, _) in [withdrawn, broken, evicted] {
        let late = registers(&ann, &claim).await;
        assert_eq!(late, Registered::Void, "a spent nonce must not be registered again");
    }
    assert!(bob.sees(&name).await.is_free(), "a late registration must revive nothing");
    assert_eq!(store.records(&name).await, 0, "a late registration must revive nothing");
    bob.takes(&name).await;
}

/// The same for an installation.
pub async fn a_late_installation_revives_nothing(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;

    let seen = ann.sees(&name).await;
    let claim = ann.exclusive(&name);
    let Taken::Granted(grant) = ann.tries_to_take(&claim, None).await else { panic!("it is free") };
    ann.releases(&grant.holding).await;
    for seen in [seen, bob.sees(&name).await] {
        let late = ann.backend().install(&claim, &seen, None).await.expect("the store answers");
        assert_eq!(late, Installed::Refused, "a spent nonce must not be installed again");
    }
    assert!(bob.sees(&name).await.is_free(), "a late installation must revive nothing");
}

/// A renewal that was overtaken by the next one changes nothing when it comes at last.
pub async fn an_overtaken_renewal_changes_nothing(store: &dyn Fixture, name: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(LONG);
    let mine = ann.joins(&name).await.holding;

    let overtaken = Holding { ttl: ann.ttl() * 2, ..mine.next_beat() };
    let next = ann.sends_this_renewal(&mine.next_beat().next_beat()).await;
    let Renewed::Renewed { revision, .. } = next else {
        panic!("a renewal that has not come in must not keep the next one out: {next:?}")
    };
    ann.sends_this_renewal(&overtaken).await;
    let there = ann.sees(&name).await.record(mine.nonce).expect("ann writes").clone();
    assert_eq!(there.revision, revision, "an overtaken renewal must change nothing");
    assert_eq!(there.ttl, mine.ttl, "an overtaken renewal must change nothing");
}

/// Ann's renewal got through and its answer did not. Her next one is accepted (rule R8).
pub async fn an_unanswered_renewal_is_followed_by_the_next(store: &dyn Fixture, name: Name) {
    let (faulty, ann) = spoilt(store).await;
    let mut mine = ann.takes(&name).await.holding;
    for fault in [Fault::answer_lost(), Fault::fails(Effect::Unknown)] {
        faulty.next(Method::Renew, fault.clone());
        let sent = mine.next_beat();
        let answer = ann.backend().renew(std::slice::from_ref(&sent)).await.remove(0);
        assert!(matches!(answer, Err(Error::Unavailable { effect: Effect::Unknown, .. })));
        // Nothing is assumed of it: neither its beat nor its revision is acknowledged.
        mine = ann.renews(&sent).await;
        ann.holds(&mine).await;
    }
    ann.releases(&mine).await;
}

/// The answer to a registration is lost. The writer looks and finds itself.
pub async fn a_join_survives_a_lost_answer(store: &dyn Fixture, name: Name) {
    let (faulty, ann) = spoilt(store).await;
    faulty.next(Method::Register, Fault::answer_lost());
    let anns = ann.joins(&name).await.holding;
    let anns = ann.renews(&anns).await;
    assert_eq!(store.records(&name).await, 1, "one writer has one record");
    ann.releases(&anns).await;
    assert_eq!(store.records(&name).await, 0, "it was hers");
}

/// The answer to an installation is lost. The exclusive looks and finds itself.
pub async fn a_take_survives_a_lost_installation(store: &dyn Fixture, name: Name) {
    let (faulty, ann) = spoilt(store).await;
    faulty.next(Method::Install, Fault::answer_lost());
    let anns = ann.takes(&name).await;
    ann.renews(&anns.holding).await;
    assert_eq!(store.records(&name).await, 1, "one exclusive has one record");
}

/// The answer to a commit is lost. The next round finds the grant, under the epoch that it has.
pub async fn a_take_survives_a_lost_commit(store: &dyn Fixture, name: Name) {
    let (faulty, ann) = spoilt(store).await;
    let bob = Worker::new(store, "bob").await;
    let bobs = bob.joins(&name).await;
    let (claim, draining) = ann.drains(&name).await;
    bob.releases(&bobs.holding).await;

    faulty.next(Method::Commit, Fault::answer_lost());
    let lost = ann.backend().take(&claim, Some(&draining), &Policy::expired()).await;
    assert!(matches!(lost, Err(Error::Unavailable { effect: Effect::Unknown, .. })), "{lost:?}");
    let granted = bob.sees(&name).await.epoch;
    assert!(granted > bobs.epoch, "the commit got through");

    let anns = ann.has_drained(&claim, &draining.after_a_failed_round()).await;
    assert_eq!(anns.epoch, granted, "a repeated commit must raise nothing");
    ann.renews(&anns.holding).await;
}

/// A registration that surely failed leaves nothing; one whose check failed takes itself out again.
pub async fn a_failed_join_leaves_nothing(store: &dyn Fixture, name: Name) {
    let (faulty, ann) = spoilt(store).await;
    let bob = Worker::new(store, "bob").await;
    for (method, call) in [(Method::Register, 1), (Method::Observe, 3)] {
        faulty.nth(method, call, Fault::fails(Effect::Nothing));
        let joined = ann.backend().join(&ann.writer(&name), &Policy::expired()).await;
        assert!(joined.is_err(), "nothing was proven: {joined:?}");
        assert_eq!(store.records(&name).await, 0, "a join that failed must leave nothing behind");
    }
    bob.takes(&name).await;
}

/// A worker whose requests and answers may go astray.
async fn spoilt(store: &dyn Fixture) -> (Faulty, Worker<'_>) {
    let faulty = Faulty::new(store.connect().await);
    let worker = Worker::with(store, Arc::new(faulty.clone()), "ann").with_ttl(LONG);
    (faulty, worker)
}

async fn registers(worker: &Worker<'_>, claim: &Claim) -> Registered {
    worker.backend().register(claim).await.expect("the store answers")
}

async fn joins_as(worker: &Worker<'_>, name: &Name) -> (Claim, Grant) {
    let claim = worker.writer(name);
    match worker.backend().join(&claim, &Policy::expired()).await {
        Ok(Joined::Granted(grant)) => (claim, grant),
        other => panic!("nobody is in the way: {other:?}"),
    }
}
