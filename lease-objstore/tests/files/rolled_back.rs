//! The store goes back to an older state: somebody restored a backup, or a snapshot of a disk.

use lease_core::Backend;
use lease_core::backend::{Confirmed, Renewed};
use rstest::rstest;

use crate::people::{TTL, World, acquire, acquire_in_time, claim, exclusive, try_acquire};

/// Ann held when the backup was made. Bob, whose grant is not in it, learns at his next look that he does
/// not hold; what Ann held counts for her ttl, and what comes after it is above that.
#[rstest]
#[tokio::test]
async fn who_came_after_the_backup_is_told_and_who_held_in_it_is_respected(
    #[values(lease_core::Mode::Writer, lease_core::Mode::Exclusive)] bobs: lease_core::Mode,
) {
    let world = World::new();
    let (ann, bob, carl) = (world.client().await, world.client().await, world.client().await);
    let anns = acquire(&ann, &exclusive()).await;
    let backup = world.store.files().await;
    ann.withdraw(&anns.holding).await.unwrap();
    let bobs = acquire(&bob, &claim(bobs, TTL)).await;

    world.store.uproot(|file| !backup.contains_key(file)).await;
    let confirmed = bob.confirm(&bobs.holding).await.unwrap();
    assert!(matches!(confirmed, Confirmed::Lost(_)), "{confirmed:?}");
    let renewed = bob.renew(&[bobs.holding.next_beat()]).await.remove(0).unwrap();
    assert!(matches!(renewed, Renewed::Lost(_)), "{renewed:?}");
    let confirmed = ann.confirm(&anns.holding).await.unwrap();
    assert!(matches!(confirmed, Confirmed::Lost(_)), "she had let go: {confirmed:?}");

    assert!(
        try_acquire(&carl, &exclusive()).await.is_none(),
        "who restored it may be Ann's friend"
    );
    assert!(acquire_in_time(&world, &carl, TTL * 3).await.epoch > anns.epoch);
}
