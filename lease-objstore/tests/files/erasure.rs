//! Somebody deletes by hand what he does not know.

use lease_core::backend::{Confirmed, Renewed};
use lease_core::{Backend, Error, Grant, Holding, LossReason};
use lease_objstore::{ObjStore, Options, connect};
use rstest::rstest;

use crate::people::{TTL, World, acquire, claim, exclusive, file, name, writer};

async fn renew(store: &dyn Backend, mine: &Holding) -> Renewed {
    store.renew(&[mine.next_beat()]).await.remove(0).unwrap()
}

/// The epoch rises although every trace of it is gone, and whoever held finds that it does not.
#[tokio::test]
async fn an_erased_name_starts_above_all_its_epochs() {
    let world = World::new();
    let (ann, bob) = (world.client().await, world.client().await);
    for _ in 0..6 {
        let grant = acquire(&ann, &exclusive()).await;
        ann.withdraw(&grant.holding).await.unwrap();
    }
    let anns = acquire(&ann, &exclusive()).await;
    world.pass(std::time::Duration::from_millis(1));
    world.store.uproot(|file| file.starts_with("payroll/")).await;

    let bobs = acquire(&bob, &exclusive()).await;
    assert!(bobs.epoch > anns.epoch);
    // Her heartbeat creates her file again; it neither holds nor is in anybody's way.
    assert_eq!(renew(&ann, &anns.holding).await, Renewed::Lost(LossReason::StateGone));
    assert_eq!(bob.confirm(&bobs.holding).await.unwrap(), Confirmed::Held { drain: false });
    assert!(matches!(renew(&bob, &bobs.holding).await, Renewed::Renewed { .. }));
    bob.withdraw(&bobs.holding).await.unwrap();
    assert!(acquire(&bob, &exclusive()).await.epoch > bobs.epoch);
}

#[rstest]
#[tokio::test]
async fn a_heartbeat_brings_nothing_back(
    #[values(lease_core::Mode::Writer, lease_core::Mode::Exclusive)] mode: lease_core::Mode,
) {
    let world = World::new();
    let (ann, bob) = (world.client().await, world.client().await);
    let anns = acquire(&ann, &claim(mode, TTL)).await;
    world.store.uproot(|file| file.starts_with("payroll/")).await;
    assert_eq!(renew(&ann, &anns.holding).await, Renewed::Lost(LossReason::StateGone));
    assert!(bob.observe(&name()).await.unwrap().is_free());
    acquire(&bob, &exclusive()).await;
}

/// An exclusive's grant: its own mark says so, or, where it was there last, the one before.
async fn grant(store: &ObjStore, was_there_last: bool) -> Grant {
    if was_there_last {
        store.withdraw(&acquire(store, &exclusive()).await.holding).await.unwrap();
    }
    acquire(store, &exclusive()).await
}

/// Only the first file is gone: the holder stops at its next check, and until its ttl is over it
/// keeps the others out all the same, since it may still be at work.
#[rstest]
#[tokio::test]
async fn a_holder_whose_genesis_is_gone_still_keeps_the_others_out(
    #[values(false, true)] was_there_last: bool,
) {
    let world = World::new();
    let (ann, bob) = (world.client().await, world.client().await);
    let anns = grant(&ann, was_there_last).await;
    world.pass(std::time::Duration::from_millis(1));
    world.store.uproot(|path| path == file("genesis")).await;

    assert!(crate::people::try_acquire(&bob, &writer()).await.is_none());
    assert_eq!(renew(&ann, &anns.holding).await, Renewed::Lost(LossReason::StateGone));
    assert!(crate::people::try_acquire(&bob, &writer()).await.is_none());
    let bobs = crate::people::acquire_in_time(&world, &bob, TTL * 2).await;
    assert!(bobs.epoch > anns.epoch);
}

/// Only the mark of the highest epoch is gone: it would be given to writers as if it had never been.
#[tokio::test]
async fn a_holder_whose_mark_is_gone_has_lost() {
    let world = World::new();
    let ann = world.client().await;
    let anns = acquire(&ann, &exclusive()).await;
    world.store.uproot(|path| path.ends_with(".granted")).await;
    let lost = Confirmed::Lost(LossReason::StateGone);
    assert_eq!(ann.confirm(&anns.holding).await.unwrap(), lost);
}

/// A lease folder that is gone, or is another one by now, is an error and never a free name.
#[tokio::test]
async fn a_folder_that_is_gone_is_not_free() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("leases");
    let store = connect(Options::local(&folder)).await.unwrap();
    let mine = acquire(&store, &exclusive()).await.holding;
    store.observe(&name()).await.unwrap();

    // As if it were unmounted: first it is not there, then something else is.
    std::fs::rename(&folder, parent.path().join("elsewhere")).unwrap();
    let gone = store.observe(&name()).await.unwrap_err();
    assert!(matches!(gone, Error::Unavailable { .. }), "{gone:?}");
    std::fs::create_dir(&folder).unwrap();
    for answer in [store.observe(&name()).await, store.inspect(&name()).await] {
        let other = answer.unwrap_err();
        assert!(matches!(other, Error::Misconfigured { .. }), "{other:?}");
    }

    // It is back, and so is the lease.
    std::fs::remove_dir(&folder).unwrap();
    std::fs::rename(parent.path().join("elsewhere"), &folder).unwrap();
    store.confirm(&mine).await.unwrap();
    assert!(matches!(renew(&store, &mine).await, Renewed::Renewed { .. }));
}

/// A folder that was copied to another name is nobody's lease.
#[tokio::test]
async fn a_copied_folder_is_told() {
    let world = World::new();
    let (ann, bob) = (world.client().await, world.client().await);
    acquire(&ann, &exclusive()).await;
    for (path, body) in world.store.files().await {
        if let Some(file) = path.strip_prefix("payroll/") {
            world.store.plant(&format!("wages/{file}"), body).await;
        }
    }
    let wages = lease_core::Name::parse("wages").unwrap();
    let told = bob.observe(&wages).await.unwrap_err();
    assert!(matches!(told, Error::Misconfigured { .. }), "{told:?}");
}
