//! A holder that stops for longer than its ttl, and goes on.

use lease_core::keeper::Driven;
use lease_core::{Admission, Backend, Error, Gate, LossReason, Released, Status};

use crate::world::{JOB, SECOND, World, held_by, job};

/// Ann pays the salaries. Her machine freezes mid-payment for longer than her lease lasts, Bob
/// takes over and pays, and Ann wakes up with her next payment already on its way. The bank turns
/// it down, and Ann finds out the moment she asks. (Case 7.)
#[tokio::test(start_paused = true)]
async fn cannot_pay_twice() {
    let world = World::new();
    let (ann, _frozen) = world.frozen("ann", SECOND * 2);
    let bob = world.person("bob", SECOND * 2);
    let bank = Gate::new();

    // Ann takes the lease and pays the first salary.
    let anns = ann.exclusive(JOB).acquire().await.unwrap();
    let fence = anns.announce(&bank).await.unwrap();
    assert_eq!(bank.admit(&fence), Admission::Admitted);

    // Bob is told to wait, and for whom.
    assert_eq!(held_by(bob.exclusive(JOB).acquire().await), "ann");

    // Ann has checked her lease, and freezes before the payment leaves.
    let in_flight = anns.check().unwrap();
    world.pass(SECOND * 5).await;

    // Bob takes over where she left off.
    let bobs = bob.exclusive(JOB).acquire().await.unwrap();
    assert!(bobs.epoch() > anns.epoch());
    let fence = bobs.announce(&bank).await.unwrap();
    assert_eq!(bank.admit(&fence), Admission::Admitted);

    // Ann thaws. Her payment is refused by the bank, and she by her own clock.
    assert_eq!(bank.admit(&in_flight), Admission::Refused { highest: bobs.token() });
    assert!(matches!(anns.check(), Err(Error::Lost { .. })));
    assert_eq!(anns.lost().await, LossReason::Expired);
    let guarded = anns.guard(|_| async { panic!("the write must not run") }).await;
    assert!(matches!(guarded, Err(Error::Lost { .. })));

    // Her release hits nobody.
    assert_eq!(anns.release().await.unwrap(), Released::NotHeld);
    bobs.confirm().await.unwrap();
}

/// Nobody took over while she slept. The lease is lost all the same, and stays so: a lease never
/// comes back. (Case 8.)
#[tokio::test(start_paused = true)]
async fn stays_lost_though_nobody_took_over() {
    let world = World::new();
    let (ann, hand) = world.frozen("ann", SECOND * 2);
    let lease = ann.exclusive(JOB).acquire().await.unwrap();
    let epoch = lease.epoch();

    world.pass(SECOND * 5).await;
    hand.step().await;

    assert!(lease.check().is_err());
    world.pass(SECOND).await;
    hand.step().await;
    assert!(lease.check().is_err());
    assert_eq!(lease.status(), Status::Lost(LossReason::Expired));
    lease.release().await.unwrap();

    let again = ann.exclusive(JOB).acquire().await.unwrap();
    assert!(again.epoch() > epoch);
}

/// A holder that is awake is never lost by mistake, however long it holds.
#[tokio::test(start_paused = true)]
async fn is_not_lost_while_awake() {
    let world = World::new();
    let ann = world.person("ann", SECOND * 2);
    let lease = ann.exclusive(JOB).acquire().await.unwrap();

    for _ in 0..100 {
        world.pass(SECOND).await;
        lease.check().unwrap();
    }

    assert_eq!(lease.status(), Status::Held);
    assert!(world.store.last_break(&job()).await.unwrap().is_none());
}

/// `lost` needs neither the store nor the keeper: it fires by the holder's own clock, and before the
/// store would grant another.
#[tokio::test(start_paused = true)]
async fn is_told_before_the_store_could_grant_another() {
    let world = World::new();
    let (ann, _frozen) = world.frozen("ann", SECOND * 2);
    let start = world.now();
    let lease = ann.exclusive(JOB).acquire().await.unwrap();

    lease.lost().await;

    let told_after = world.now().since(start);
    assert!(told_after < SECOND * 2, "{told_after:?}");
    let bob = world.person("bob", SECOND * 2);
    assert_eq!(held_by(bob.exclusive(JOB).acquire().await), "ann");
}

/// Nobody has asked anything of the lease since it ran out: a look at its status finds it lost.
#[tokio::test(start_paused = true)]
async fn is_shown_as_lost() {
    let world = World::new();
    let (ann, _frozen) = world.frozen("ann", SECOND * 2);
    let lease = ann.exclusive(JOB).acquire().await.unwrap();
    assert_eq!(lease.status(), Status::Held);

    world.pass(SECOND * 5).await;

    assert_eq!(lease.status(), Status::Lost(LossReason::Expired));
}

/// A process that is frozen in a test goes on by hand: each turn sends what is due, and says
/// whether there is anybody to turn.
#[tokio::test(start_paused = true)]
async fn goes_on_by_hand() {
    let world = World::new();
    let (ann, hand) = world.frozen("ann", SECOND * 6);
    let lease = ann.exclusive(JOB).acquire().await.unwrap();
    world.pass(SECOND * 2).await;
    assert!(hand.step().await);
    assert!(lease.remaining() > SECOND * 5);

    lease.release().await.unwrap();
    drop(ann);
    assert!(!hand.step().await);
    assert!(!Driven::new().step().await);
}
