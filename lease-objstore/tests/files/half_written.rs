//! Records that are empty or cut off, by a crash or by hand.

use lease_core::backend::Broken;
use lease_core::{Backend, BreakNote, Epoch, State, Unreadable};
use rstest::rstest;

use crate::people::{TTL, World, acquire, exclusive, file, name, try_acquire, writer};

/// Held while it is young, for nobody knows; takeable once it stood still for a ttl, for its writer
/// is gone: a live one publishes its record whole.
#[rstest]
#[tokio::test]
async fn an_unreadable_record_is_held_for_a_ttl(
    #[values("x-1000000000000000", "s-ffffffffffffffffffffffffffffffff")] record: &str,
    #[values("", "{\"v\":1,\"name\":\"payr", "\0\0\0\0\0\0\0\0")] body: &'static str,
) {
    let world = World::new();
    let store = world.client().await;
    let before = acquire(&store, &exclusive()).await;
    store.withdraw(&before.holding).await.unwrap();
    world.store.plant(&file(record), body).await;

    let seen = store.observe(&name()).await.unwrap();
    let found = seen.exclusive.iter().chain(&seen.writers).next().expect("it is shown");
    assert!(matches!(found.unreadable, Some(Unreadable::Corrupt(_))));
    assert!(try_acquire(&store, &exclusive()).await.is_none());
    if record.starts_with('x') {
        assert!(try_acquire(&store, &writer()).await.is_none());
    }
    world.pass(TTL * 2);
    let after = acquire(&store, &exclusive()).await;
    assert!(after.epoch > before.epoch);
}

/// One that a newer version wrote is never taken, but an operator can break it.
#[tokio::test]
async fn a_newer_record_is_held_until_it_is_broken() {
    let world = World::new();
    let store = world.client().await;
    store.withdraw(&acquire(&store, &exclusive()).await.holding).await.unwrap();
    let newer = format!("{:016}", 2_000_000_000_000_000_u64);
    world.store.plant(&file(&format!("x-{newer}")), "{\"v\":99,\"holders\":[]}").await;
    world.pass(TTL * 1000);
    assert!(try_acquire(&store, &exclusive()).await.is_none());

    let shown = store.observe(&name()).await.unwrap().exclusive.expect("it is shown");
    assert_eq!(
        (&shown.unreadable, shown.state),
        (&Some(Unreadable::NewerVersion(99)), State::Draining)
    );
    let note = BreakNote::new("eve", "that host is gone");
    let broken = store.break_record(&name(), shown.nonce, &note).await.unwrap();
    assert!(matches!(broken, Broken::Broken { .. }));
    let grant = acquire(&store, &exclusive()).await;
    assert_eq!(Some(grant.epoch), Epoch::new(2_000_000_000_000_001));
}

/// A record that is being written is not there yet: nobody sees a half of it, and whoever takes the
/// name meanwhile has it.
#[tokio::test]
async fn a_record_under_way_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let store =
        lease_objstore::connect(lease_objstore::Options::local(folder.path())).await.unwrap();
    let before = acquire(&store, &exclusive()).await;
    store.withdraw(&before.holding).await.unwrap();
    let next = before.epoch.next().unwrap();
    std::fs::write(folder.path().join(format!("payroll/x-{next:016}#1")), "{\"v\":1,").unwrap();
    assert!(store.observe(&name()).await.unwrap().is_free());
    assert_eq!(acquire(&store, &exclusive()).await.epoch, next);
}
