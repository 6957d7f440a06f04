//! What each step costs, request by request. Everything else is tuned by this table.

use std::sync::Arc;

use lease_core::backend::Taken;
use lease_core::{Backend, Claim, Policy};
use lease_objstore::{Options, Probe, connect};

use crate::people::{World, acquire, exclusive, file, writer};
use crate::store::Watched;

/// Takes, renews, confirms and releases, and tells the requests of each.
async fn cycle(store: &dyn Backend, view: &Watched, claim: &Claim) -> [String; 4] {
    view.log();
    let mut mine = acquire(store, claim).await.holding;
    let acquired = view.kinds();
    mine = mine.next_beat();
    store.renew(std::slice::from_ref(&mine)).await.remove(0).unwrap();
    let renewed = view.kinds();
    store.confirm(&mine).await.unwrap();
    let confirmed = view.kinds();
    store.withdraw(&mine).await.unwrap();
    [acquired, renewed, confirmed, view.kinds()]
}

/// The first one that opens a store tries out what creates do there; the marker tells the others.
#[tokio::test]
async fn opening_costs_a_probe_and_a_marker() {
    let world = World::new();
    let (_, view) = world.connect().await;
    let race = "Create ".repeat(5) + "Get ";
    let keys = "Delete ".repeat(4);
    assert_eq!(
        view.kinds(),
        format!("Get Put Head Create List Delete {}{keys}Create Get List", race.repeat(4))
    );
    let (_, view) = world.connect().await;
    assert_eq!(view.kinds(), "Get Put Head Create List Delete");
    let view = world.store.another();
    let options = Options::store(Arc::new(view.clone())).clock(Arc::new(world.clock.clone()));
    connect(options.clone().probe(Probe::Skip)).await.unwrap();
    assert_eq!(view.kinds(), "Get List");
    connect(options.read_only()).await.unwrap();
    assert_eq!(view.kinds(), "Get");
}

#[tokio::test]
async fn an_exclusive() {
    let world = World::new();
    let (store, view) = world.connect().await;
    let first = cycle(&store, &view, &exclusive()).await;
    assert_eq!(
        first,
        // The name is new: is this the right folder, and where do its epochs start?
        ["List Get Create Head List Create List Create List", "Put List", "List", "Put List"]
    );
    let next = cycle(&store, &view, &exclusive()).await;
    // Nobody else was there since: its number is known, the look after it is the first, and right
    // above a granted claim it needs no mark.
    let again = ["Create List", "Put List", "List", "Put List"];
    assert_eq!(next, again);

    // Somebody was: what was known is not any more, and was not asked twice.
    let (others, _) = world.connect().await;
    let theirs = acquire(&others, &exclusive()).await.holding;
    others.withdraw(&theirs).await.unwrap();
    let next = cycle(&store, &view, &exclusive()).await;
    assert_eq!(next[0], "Create Get List Create List Create List");
    world.pass(crate::people::SECOND * 61);
    let next = cycle(&store, &view, &exclusive()).await;
    assert_eq!(next[0], "List Create List Create List", "that is long ago");
}

/// Writers came since: one that lives is waited for, and nobody was taken over by that; one that has
/// expired is cleared away at once, where the policy lets it.
#[tokio::test]
async fn writers_who_came_since() {
    let world = World::new();
    let (store, _) = world.connect().await;
    let (others, _) = world.connect().await;
    let mine = acquire(&store, &exclusive()).await;
    store.withdraw(&mine.holding).await.unwrap();
    let theirs = acquire(&others, &writer()).await;
    let claim = exclusive();
    let taken = store.take(&claim, None, &Policy::expired()).await.unwrap();
    let Taken::Draining(draining) = taken else { panic!("a writer lives: {taken:?}") };
    assert_eq!(draining.waiting_for.holder.as_ref().unwrap().nonce, theirs.holding.nonce);
    others.withdraw(&theirs.holding).await.unwrap();
    let taken = store.take(&claim, Some(&draining), &Policy::expired()).await.unwrap();
    let Taken::Granted(grant) = taken else { panic!("nobody is in the way: {taken:?}") };
    assert!(!grant.took_over);

    store.withdraw(&grant.holding).await.unwrap();
    acquire(&others, &writer()).await;
    world.pass(crate::people::TTL * 2);
    assert!(acquire(&store, &exclusive()).await.took_over);
}

/// Others were there so often since that the number which was known is cleared away: the claim that
/// is made there counts for nothing, and the next one is the right one.
#[tokio::test]
async fn a_number_that_was_cleared_away() {
    let world = World::new();
    let (store, view) = world.connect().await;
    let (others, _) = world.connect().await;
    let mine = acquire(&store, &exclusive()).await;
    store.withdraw(&mine.holding).await.unwrap();
    let mut last = mine.epoch;
    for _ in 0..12 {
        let theirs = acquire(&others, &exclusive()).await;
        others.withdraw(&theirs.holding).await.unwrap();
        last = theirs.epoch;
    }
    let passed = file(&format!("x-{:016}", mine.epoch.get() + 1));
    assert!(!view.files().await.contains_key(&passed), "it was cleared away");
    view.log();
    let again = acquire(&store, &exclusive()).await;
    assert_eq!(again.epoch, last.next().unwrap());
    assert!(view.files().await.contains_key(&format!("{passed}.rel")), "it was made, and ended");
}

#[tokio::test]
async fn a_writer() {
    let world = World::new();
    let (store, view) = world.connect().await;
    let first = cycle(&store, &view, &writer()).await;
    assert_eq!(first, ["List Get Create Head Create List", "Put List", "List", "Delete List"]);
    let next = cycle(&store, &view, &writer()).await;
    assert_eq!(next, ["List Create List", "Put List", "List", "Delete List"]);
}

#[tokio::test]
async fn waiting_costs_a_listing_and_a_body_for_each_heartbeat_that_grew_old() {
    let world = World::new();
    let (anns, _) = world.connect().await;
    let (bobs, view) = world.connect().await;
    let mut mine = acquire(&anns, &exclusive()).await.holding;
    view.log();
    bobs.observe(&mine.name).await.unwrap();
    assert_eq!(view.kinds(), "List Get");

    for _ in 0..3 {
        mine = mine.next_beat();
        anns.renew(std::slice::from_ref(&mine)).await.remove(0).unwrap();
        bobs.observe(&mine.name).await.unwrap();
        assert_eq!(view.kinds(), "List");
    }
    world.pass(mine.ttl * 6 / 10);
    bobs.observe(&mine.name).await.unwrap();
    // It may have another ttl by now, and the store's time was not looked at for a while.
    assert_eq!(view.kinds(), "List Get Put Head Delete");
    bobs.observe(&mine.name).await.unwrap();
    assert_eq!(view.kinds(), "List");
}

#[tokio::test]
async fn a_takeover() {
    let world = World::new();
    let (anns, _) = world.connect().await;
    let (bobs, view) = world.connect().await;
    acquire(&anns, &exclusive()).await;
    world.pass(crate::people::TTL * 2);
    view.log();
    acquire(&bobs, &exclusive()).await;
    assert_eq!(
        view.kinds(),
        "List Get Put Head Delete \
         List Get Create Head Put Head Head Put List Create \
         List Create List"
    );
}

#[tokio::test]
async fn sixty_four_renewals_of_one_name_share_a_listing() {
    let world = World::new();
    let (store, view) = world.connect().await;
    let mut mine = Vec::new();
    for _ in 0..64 {
        mine.push(acquire(&store, &writer()).await.holding.next_beat());
    }
    view.log();
    assert!(store.renew(&mine).await.into_iter().all(|answer| answer.is_ok()));
    assert_eq!(view.kinds(), format!("{}List", "Put ".repeat(64)));
}

/// However often a name was held, what is left of it stays a handful of files.
#[tokio::test]
async fn what_has_ended_is_cleared_away() {
    let world = World::new();
    let (store, view) = world.connect().await;
    for _ in 0..50 {
        let grant = acquire(&store, &exclusive()).await;
        store.withdraw(&grant.holding).await.unwrap();
    }
    let files = view.files().await;
    assert!(files.len() < 25, "{:?}", files.keys());
    assert!(files.contains_key(&file("genesis")));

    // The highest epoch outlives all clean-ups.
    world.pass(crate::people::TTL * 1000);
    let grant = acquire(&store, &exclusive()).await;
    store.withdraw(&grant.holding).await.unwrap();
    let after = acquire(&world.client().await, &writer()).await;
    assert_eq!(after.epoch, grant.epoch);
}

/// An exclusive that withdraws before it is granted leaves three files; they go after four ttls.
#[tokio::test]
async fn what_was_withdrawn_is_cleared_away_later() {
    let world = World::new();
    let (anns, _) = world.connect().await;
    let (bobs, view) = world.connect().await;
    let held = acquire(&anns, &writer()).await.holding;
    let mut most = 0;
    for beat in 0..100 {
        assert!(crate::people::try_acquire(&bobs, &exclusive()).await.is_none());
        let held = lease_core::Holding { beat: beat + 1, acknowledged: beat, ..held.clone() };
        anns.renew(&[held]).await.remove(0).unwrap();
        world.pass(crate::people::SECOND * 5);
        most = most.max(view.files().await.len());
    }
    assert!(most < 70, "at most {most} files");
}

/// Each look at a folder looks at each file that is there, so what is over goes at once.
#[tokio::test]
async fn a_folder_keeps_the_last_two_grants() {
    let folder = tempfile::tempdir().unwrap();
    let store = connect(Options::local(folder.path())).await.unwrap();
    for _ in 0..5 {
        let mine = acquire(&store, &exclusive()).await.holding;
        store.withdraw(&mine).await.unwrap();
    }
    let own = folder.path().join(crate::people::name().portable());
    let files = std::fs::read_dir(own).unwrap().count();
    assert_eq!(files, 1 + 2 * 3, "where its epochs start, and of each a claim and two marks");
}
