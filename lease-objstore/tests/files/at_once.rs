//! Exclusives that the creation of their claim grants, for they come right after one that was granted.

use lease_core::backend::{
    Broken, Confirmed, Evicted, Installed, Joined, Renewed, Taken, Withdrawn,
};
use lease_core::{Backend, BreakNote, Grant, Holding, Judged, LossReason, Policy, Revision, State};
use lease_objstore::ObjStore;
use rstest::rstest;

use crate::people::{TTL, World, acquire, exclusive, file, info, name, try_acquire, writer};
use crate::store::{Op, Then, Watched, no_answer};

/// A client that was there last, its view, and what it was granted then.
async fn was_there_last(world: &World) -> (ObjStore, Watched, Grant) {
    let (store, view) = world.connect().await;
    let before = acquire(&store, &exclusive()).await;
    store.withdraw(&before.holding).await.unwrap();
    view.log();
    (store, view, before)
}

/// A client, its view, and what it was granted at once.
async fn granted_at_once(world: &World) -> (ObjStore, Watched, Grant) {
    let (store, view, before) = was_there_last(world).await;
    let grant = acquire(&store, &exclusive()).await;
    assert_eq!(view.kinds(), "Create List");
    assert!(grant.epoch > before.epoch);
    (store, view, grant)
}

async fn renewed(store: &ObjStore, mine: &Holding) -> Holding {
    let next = mine.next_beat();
    match store.renew(std::slice::from_ref(&next)).await.remove(0).unwrap() {
        Renewed::Renewed { revision, .. } => next.acknowledged(revision),
        lost => panic!("{lost:?}"),
    }
}

#[tokio::test]
async fn are_seen_by_everybody_as_granted() {
    let world = World::new();
    let (_, _, grant) = granted_at_once(&world).await;
    let seen = world.client().await.observe(&name()).await.unwrap();
    let shown = seen.exclusive.unwrap();
    assert_eq!((shown.nonce, shown.state), (grant.holding.nonce, State::Granted));
    assert_eq!(seen.epoch, grant.epoch);
}

/// However it ends, and whether it was renewed before: whoever comes next is ordered after it.
#[rstest]
#[tokio::test]
async fn raise_the_epoch(
    #[values("released", "released by another process", "expired", "broken")] how: &str,
    #[values(false, true)] renews: bool,
    #[values(false, true)] a_writer_is_next: bool,
) {
    let world = World::new();
    let (store, _, grant) = granted_at_once(&world).await;
    let mine = if renews { renewed(&store, &grant.holding).await } else { grant.holding };
    let others = world.client().await;
    let mut least = grant.epoch;
    match how {
        "released" => assert_eq!(store.withdraw(&mine).await.unwrap(), Withdrawn::Removed),
        "released by another process" => {
            assert_eq!(others.withdraw(&mine).await.unwrap(), Withdrawn::Removed);
        }
        "expired" => world.pass(TTL * 2),
        _ => {
            let note = BreakNote::new("eve", "it hangs");
            let broken = others.break_record(&name(), mine.nonce, &note).await.unwrap();
            let Broken::Broken { epoch } = broken else { panic!("{broken:?}") };
            assert!(epoch > grant.epoch, "the broken holder is fenced");
            least = epoch;
        }
    }
    if a_writer_is_next {
        assert_eq!(acquire(&others, &writer()).await.epoch, least);
    } else {
        let next = acquire(&others, &exclusive()).await;
        assert!(next.epoch > least);
        assert_eq!(next.took_over, how == "expired");
    }
    let lost = store.confirm(&mine).await.unwrap();
    assert!(matches!(lost, Confirmed::Lost(_)), "{lost:?}");
}

#[tokio::test]
async fn are_handed_to_another_process() {
    let world = World::new();
    let (store, _, grant) = granted_at_once(&world).await;
    let other = world.client().await;
    let theirs = grant.holding.next_beat();
    let adopted = other.adopt(&theirs, &info("bob")).await.unwrap();
    let Renewed::Renewed { revision, .. } = adopted else { panic!("{adopted:?}") };
    let theirs = renewed(&other, &theirs.acknowledged(revision)).await;
    let lost = store.confirm(&grant.holding).await.unwrap();
    assert_eq!(lost, Confirmed::Lost(LossReason::HandedOver));
    world.pass(TTL * 2);
    assert_eq!(acquire(&world.client().await, &writer()).await.epoch, theirs.epoch.unwrap());
}

/// A writer opened the name meanwhile: the claim that would be granted at once is not made.
#[tokio::test]
async fn do_not_come_after_a_writer() {
    let world = World::new();
    let (store, view, before) = was_there_last(&world).await;
    let (others, theirs) = world.connect().await;
    theirs.log();
    let first = acquire(&others, &writer()).await;
    assert!(theirs.kinds().ends_with("List Create List Create"), "it opens the name");
    let second = acquire(&others, &writer()).await;
    assert_eq!((first.epoch, second.epoch), (before.epoch, before.epoch));
    assert_eq!(theirs.kinds(), "List Create List", "it was open");
    view.log();
    let taken = try_acquire(&store, &exclusive()).await;
    assert!(taken.is_none(), "writers hold: {taken:?}");
    // Nor did the attempt raise their epoch (rule R20).
    assert_eq!(acquire(&others, &writer()).await.epoch, before.epoch);
}

/// A writer that has not looked yet, or left its file behind, is waited for in the usual way.
#[tokio::test]
async fn do_not_wait_for_writers() {
    let world = World::new();
    let (store, view, before) = was_there_last(&world).await;
    let others = world.client().await;
    let claim = writer();
    others.register(&claim).await.unwrap();
    view.log();
    let claim = exclusive();
    let taken = store.take(&claim, None, &Policy::expired()).await.unwrap();
    let Taken::Draining(draining) = taken else { panic!("{taken:?}") };
    assert_eq!(view.kinds(), "Create List Create Put List Get Create List");
    store.withdraw(&draining.holding).await.unwrap();
    let late = acquire(&world.client().await, &writer()).await;
    assert_eq!(late.epoch, before.epoch, "no epoch was given away");
}

/// A claim that a crash of the disk left unreadable may have been granted by being there.
#[tokio::test]
async fn count_as_granted_where_they_cannot_be_read() {
    let world = World::new();
    let (_, _, grant) = granted_at_once(&world).await;
    world.store.plant(&file(&format!("x-{:016}", grant.epoch.get())), "").await;
    let others = world.client().await;
    assert!(try_acquire(&others, &writer()).await.is_none());
    world.pass(TTL * 2);
    assert_eq!(acquire(&others, &writer()).await.epoch, grant.epoch);
}

/// Right above what was withdrawn there is a mark again, or an epoch would come of nothing.
#[tokio::test]
async fn come_only_after_one_that_was_granted() {
    let world = World::new();
    let (store, view, grant) = granted_at_once(&world).await;
    store.withdraw(&grant.holding).await.unwrap();
    let others = world.client().await;
    let seen = others.observe(&name()).await.unwrap();
    let claim = exclusive();
    let installed = others.install(&claim, &seen, None).await.unwrap();
    let Installed::Here(revision) = installed else { panic!("{installed:?}") };
    others.withdraw(&Holding::created(&claim, revision)).await.unwrap();
    view.log();
    let next = acquire(&store, &exclusive()).await;
    assert_eq!(view.kinds(), "Create Get List Create List Create List");
    assert!(Some(next.epoch) > grant.epoch.next());
}

/// A layer between makes the writer's steps one by one.
#[tokio::test]
async fn do_not_come_after_a_writer_that_joined_step_by_step() {
    let world = World::new();
    let (store, _, grant) = granted_at_once(&world).await;
    store.withdraw(&grant.holding).await.unwrap();
    let others = world.client().await;
    let joined = lease_core::handshake::join(&others, &writer(), &Policy::expired()).await.unwrap();
    assert!(matches!(joined, Joined::Granted(_)), "{joined:?}");
    assert!(try_acquire(&store, &exclusive()).await.is_none(), "a writer holds");
    assert_eq!(acquire(&others, &writer()).await.epoch, grant.epoch, "as the first one has");
}

/// What it stood above is gone: nobody takes it for granted any more, not even its owner.
#[tokio::test]
async fn count_as_granted_only_right_above_one_that_was() {
    let world = World::new();
    let (store, _, grant) = granted_at_once(&world).await;
    let own = format!("x-{:016}", grant.epoch.get());
    world.store.uproot(|path| path.contains("/x-") && !path.ends_with(&own)).await;
    let seen = world.client().await.observe(&name()).await.unwrap();
    assert_eq!(seen.exclusive.unwrap().state, State::Draining);
    assert!(seen.epoch < grant.epoch);
    let lost = store.confirm(&grant.holding).await.unwrap();
    assert_eq!(lost, Confirmed::Lost(LossReason::StateGone));
}

/// A listing that shows the next claim and not yet that this one was released: it is not ended as if
/// it had never held.
#[tokio::test]
async fn are_not_voided_by_a_listing_of_no_one_moment() {
    let world = World::new();
    let (store, _, grant) = granted_at_once(&world).await;
    let (others, view) = world.connect().await;
    let shown = others.observe(&name()).await.unwrap().exclusive.unwrap();
    store.withdraw(&grant.holding).await.unwrap();
    let next = acquire(&store, &exclusive()).await;
    let released = file(&format!("x-{:016}.fin", grant.epoch.get()));
    let once = std::sync::Mutex::new(true);
    view.hook(move |op, _| match op {
        Op::List if std::mem::take(&mut *once.lock().unwrap()) => Then::Without(released.clone()),
        _ => Then::Go,
    });
    world.pass(TTL * 2);
    let evicted = others.evict(&name(), &shown.target(), Judged::ByStore).await.unwrap();
    assert_eq!(evicted, Evicted::Kept);
    store.withdraw(&next.holding).await.unwrap();
    let seen = others.observe(&name()).await.unwrap();
    assert!(seen.epoch >= grant.epoch, "{seen:?}");
}

/// The claim right above the last grant was given up, and is long over. Whoever was about to end it
/// when its creation had granted it, as it seemed, may still come and seal it: it must find the mark.
#[tokio::test]
async fn that_came_to_nothing_are_not_cleared_away_before_the_next_grant() {
    let world = World::new();
    let (store, view, before) = was_there_last(&world).await;
    // It is made, and its look fails.
    view.hook(|op, _| if op == Op::List { Then::Fail(no_answer()) } else { Then::Go });
    let claim = exclusive();
    store.take(&claim, None, &Policy::expired()).await.unwrap_err();
    view.hook(|_, _| Then::Go);
    store.withdraw(&Holding::created(&claim, Revision::new(""))).await.unwrap();
    let given_up = file(&format!("x-{:016}", before.epoch.next().unwrap().get()));
    let mark = format!("{given_up}.granted");
    assert!(view.files().await.contains_key(&mark));

    // A writer holds meanwhile, and exclusives come and go.
    let others = world.client().await;
    let mut held = acquire(&others, &writer()).await.holding;
    let mut highest = 0;
    for _ in 0..30 {
        assert!(try_acquire(&store, &exclusive()).await.is_none());
        held = renewed(&others, &held).await;
        world.pass(TTL / 2);
        let files = view.files().await;
        assert!(files.contains_key(&given_up) && files.contains_key(&mark), "{:?}", files.keys());
        highest = highest.max(files.keys().filter(|file| file.ends_with(".rel")).count());
    }
    assert!((2..25).contains(&highest), "those above it go: {highest}");
    assert_eq!(held.epoch, Some(before.epoch));
}
