//! The write under a lease, and when it does not happen.

use std::sync::Arc;

use lease_core::keeper::{Driven, KeeperMode};
use lease_core::layer::{Fault, Faulty, Method};
use lease_core::{Clock, Error, Gate, LossReason, Timing};

use crate::world::{JOB, SECOND, World};

/// Bob took over from Ann, who let hers expire: her last write may be on its way, so his first one
/// waits out the grace. After a release there is nothing to wait for.
#[tokio::test(start_paused = true)]
async fn waits_out_the_grace_after_a_takeover() {
    let world = World::new();
    let (ann, _frozen) = world.frozen("ann", SECOND * 2);
    let with_grace = Timing::with_ttl(SECOND * 2).grace(SECOND * 3).build().unwrap();
    let anns = ann.exclusive(JOB).acquire().await.unwrap();
    let bob = world.person("bob", SECOND * 2);

    let bobs = bob.exclusive(JOB).timing(with_grace).wait(SECOND * 9).acquire().await.unwrap();
    let Err(Error::NotYet { after, .. }) = bobs.guard(|_| async {}).await else {
        panic!("the grace runs")
    };
    assert!(after <= SECOND * 3 && after > SECOND * 2, "{after:?}");
    world.pass(after).await;
    bobs.guard(|_| async {}).await.unwrap();
    bobs.release().await.unwrap();

    let calm = bob.exclusive(JOB).timing(with_grace).acquire().await.unwrap();
    calm.guard(|_| async {}).await.unwrap();
    drop(anns);
}

#[tokio::test(start_paused = true)]
async fn is_dropped_at_the_end_of_the_belief_where_asked() {
    let world = World::new();
    let (ann, _frozen) = world.frozen("ann", SECOND * 2);
    let lease = ann.exclusive(JOB).acquire().await.unwrap();
    let clock = world.clock;

    let endless = lease.guard_bounded(|_| clock.sleep_until(clock.now().plus(SECOND * 60))).await;

    assert!(matches!(endless, Err(Error::Lost { reason: LossReason::Expired, .. })));
    assert!(lease.check().is_err());
}

/// Both modes announce before they work; a resource that has seen a later holder ends the lease.
#[tokio::test(start_paused = true)]
async fn is_refused_where_a_later_holder_was_seen() {
    let world = World::new();
    let (ann, _frozen) = world.frozen("ann", SECOND * 2);
    let gate = Gate::new();
    let anns = ann.writer(JOB).acquire().await.unwrap();
    world.pass(SECOND * 3).await;
    let bobs = world.person("bob", SECOND * 2).exclusive(JOB).acquire().await.unwrap();
    bobs.announce(&gate).await.unwrap();
    let again = ann.exclusive("another").acquire().await.unwrap();

    // A holder that believes in an older token finds out at the resource.
    let stale = Gate::having_seen(lease_core::Token::from_number(u64::MAX));
    assert!(matches!(again.announce(&stale).await, Err(Error::Lost { .. })));
    assert!(again.check().is_err());
    assert!(anns.announce(&gate).await.is_err());
    drop(bobs);
}

/// A lease that was shortened is judged, and believed in, by the shorter ttl at once (rule R17).
#[tokio::test(start_paused = true)]
async fn by_a_shortened_lease_ends_sooner() {
    let world = World::new();
    let ann = world.person("ann", SECOND * 60);
    let mut lease = ann.exclusive(JOB).acquire().await.unwrap();

    lease.retime(Timing::with_ttl(SECOND * 2).build().unwrap()).unwrap();
    world.pass(SECOND / 10).await;
    assert!(lease.remaining() <= SECOND * 2);

    world.pass(SECOND * 10).await;
    lease.check().unwrap();
    assert!(lease.retime(Timing::with_ttl(SECOND * 5).build().unwrap()).is_ok());
    world.pass(SECOND / 10).await;
    assert!(lease.remaining() > SECOND * 4);
}

/// The store confirms, and its answer arrives at the very moment at which the belief ends. The look
/// at one's own clock after it refuses the write. (Rule R23.)
#[tokio::test(start_paused = true)]
async fn is_refused_when_the_proof_comes_too_late() {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let nobody_renews = KeeperMode::Driven(Driven::new());
    let ann = world.person_at("ann", SECOND * 4, Arc::new(network.clone()), nobody_renews);
    let patient = Timing::with_ttl(SECOND * 4).call_timeout(SECOND * 8).build().unwrap();
    let lease = ann.exclusive(JOB).timing(patient).acquire().await.unwrap();
    network.next(Method::Confirm, Fault::late_answer(Arc::new(world.clock), lease.remaining()));

    let written = lease.guard(|_| async { "written" }).await;

    assert!(matches!(written, Err(Error::Lost { .. })), "{written:?}");
}
