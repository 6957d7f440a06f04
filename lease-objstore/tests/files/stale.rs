//! Several clear the same stale lease away, one of them too late.

use std::sync::{Arc, Mutex};

use futures::future::join_all;
use lease_core::backend::{Committed, Installed, Renewed, Withdrawn};
use lease_core::{Backend, Grant, Holding};
use tokio::sync::Notify;

use crate::people::{TTL, World, acquire, exclusive, try_acquire};
use crate::store::{Op, Then, Watched};

/// Parks a client before its next write, that is between its judgement and the act.
fn park(view: &Watched) -> (Arc<Notify>, Arc<Notify>) {
    let (parked, goes_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, wait, once) = (Arc::clone(&parked), Arc::clone(&goes_on), Mutex::new(false));
    view.hook(move |op, path| {
        let probe = path.filename().is_some_and(|file| file.starts_with("p-"));
        let writes = matches!(op, Op::Create | Op::Put) && !probe;
        let mut once = once.lock().unwrap();
        if !writes || std::mem::replace(&mut *once, writes) {
            return Then::Go;
        }
        tell.notify_one();
        let wait = Arc::clone(&wait);
        Then::Wait(Box::pin(async move { wait.notified().await }))
    });
    (parked, goes_on)
}

/// Seven clear it away and one of them wins; the eighth had judged before, and acts now.
#[tokio::test]
async fn who_judged_long_ago_wins_nothing() {
    let world = World::new();
    let mut last = None;
    for round in 0..300 {
        let ann = world.client().await;
        let before = acquire(&ann, &exclusive()).await;
        assert!(Some(before.epoch) > last, "round {round}");
        world.pass(TTL * 2);

        let (late, view) = world.connect().await;
        let (parked, goes_on) = park(&view);
        let late = tokio::spawn(async move {
            let grant = try_acquire(&late, &exclusive()).await;
            (late, grant)
        });
        parked.notified().await;
        let others = (0..7).map(|_| async {
            let client = world.client().await;
            let grant = try_acquire(&client, &exclusive()).await;
            (client, grant)
        });
        let mut all = join_all(others).await;
        goes_on.notify_one();
        all.push(late.await.unwrap());

        let won: Vec<_> = all.into_iter().filter_map(|(c, grant)| Some((c, grant?))).collect();
        let [(client, Grant { holding, epoch, .. })] = &won[..] else {
            panic!("{} winners in round {round}", won.len())
        };
        assert!(*epoch > before.epoch);
        client.confirm(holding).await.unwrap();
        client.withdraw(holding).await.unwrap();
        last = Some(*epoch);
    }
}

/// The old holder wakes up and renews between the judgement and the act: it and the winner never
/// both go on.
#[tokio::test]
async fn the_old_holder_and_the_winner_never_both_go_on() {
    for lands_first in [true, false] {
        let world = World::new();
        let ann = world.client().await;
        let anns = acquire(&ann, &exclusive()).await.holding;
        world.pass(TTL * 2);

        let (bob, view) = world.connect().await;
        let (parked, goes_on) = park(&view);
        let bobs = tokio::spawn(async move { try_acquire(&bob, &exclusive()).await.is_some() });
        parked.notified().await;
        let renew = async || {
            let answer = ann.renew(&[anns.next_beat()]).await.remove(0).unwrap();
            matches!(answer, Renewed::Renewed { .. })
        };
        let renewed = if lands_first {
            let renewed = renew().await;
            goes_on.notify_one();
            renewed
        } else {
            goes_on.notify_one();
            tokio::task::yield_now().await;
            renew().await
        };
        assert!(!(bobs.await.unwrap() && renewed), "both went on");
        // Whatever became of it, the name is not blocked for longer than a ttl.
        world.pass(TTL * 2);
        acquire(&world.client().await, &exclusive()).await;
    }
}

/// A client left a record behind, which nobody renews: it judges it like anybody else's.
#[tokio::test]
async fn ones_own_leftover_is_taken_over_too() {
    let world = World::new();
    let ann = world.client().await;
    let left = acquire(&ann, &exclusive()).await;
    world.pass(TTL * 2);
    assert!(acquire(&ann, &exclusive()).await.epoch > left.epoch);
}

/// Whoever gives another nonce for somebody's claim ends nothing by it.
#[tokio::test]
async fn a_release_goes_by_nonce() {
    let world = World::new();
    let (ann, bob) = (world.client().await, world.client().await);
    let anns = acquire(&ann, &exclusive()).await.holding;
    let foreign = Holding::created(&exclusive(), anns.revision.clone());
    assert_eq!(bob.withdraw(&foreign).await.unwrap(), Withdrawn::NotThere);
    ann.confirm(&anns).await.unwrap();
    assert!(try_acquire(&bob, &exclusive()).await.is_none());
}

/// Its create came late, when the numbers around it had been used and cleared away: there is a higher
/// claim, whose holder need not have seen this one. (Rule F9.)
#[tokio::test]
async fn a_claim_below_another_is_never_granted() {
    let world = World::new();
    let ann = world.client().await;
    let claim = exclusive();
    let seen = ann.observe(&claim.name).await.unwrap();
    let Installed::Here(revision) = ann.install(&claim, &seen, None).await.unwrap() else {
        panic!("nobody is there")
    };
    let files = world.store.files().await;
    let (own, body) = files.iter().find(|(path, _)| path.contains("/x-")).unwrap();
    let (folder, n) = own.rsplit_once("x-").unwrap();
    let higher = format!("{folder}x-{:016}", n.parse::<u64>().unwrap() + 1);
    let nonce = claim.nonce.to_string();
    let body = String::from_utf8(body.clone()).unwrap().replace(&nonce, &"7".repeat(nonce.len()));
    world.store.plant(&higher, body).await;

    let committed = ann.commit(&Holding::created(&claim, revision)).await.unwrap();

    assert_eq!(committed, Committed::Lost);
}
