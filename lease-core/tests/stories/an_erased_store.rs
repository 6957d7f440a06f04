//! Somebody deletes the store's state by hand.

use lease_core::LossReason;

use crate::world::{JOB, SECOND, World, job};

/// Seven cycles, then all is gone, and the epoch rises on; the holder of before learns that its
/// lease has no ground any more. (Case 16.)
#[tokio::test(start_paused = true)]
async fn does_not_make_epochs_start_again() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 2), world.person("bob", SECOND * 2));
    for _ in 0..6 {
        ann.exclusive(JOB).acquire().await.unwrap().release().await.unwrap();
    }
    let seventh = ann.exclusive(JOB).acquire().await.unwrap();

    world.store.erase(&job());
    let bobs = bob.exclusive(JOB).acquire().await.unwrap();
    assert!(bobs.epoch() > seventh.epoch());

    assert_eq!(seventh.lost().await, LossReason::Displaced);
    world.store.erase(&job());
    assert_eq!(bobs.lost().await, LossReason::StateGone);
}
