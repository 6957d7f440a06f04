//! One of several candidates leads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::{StreamExt, future};
use lease_core::{
    BreakNote, CancellationToken, Coordinator, Election, Error, HolderInfo, LossReason, Policy,
    Timing,
};

use crate::world::{JOB, SECOND, World, job};

fn candidate(leases: &Coordinator) -> Election {
    Election::new(leases, job())
}

/// The first one leads, the second one follows when it steps down, under a higher epoch; and each is
/// told of the other.
#[tokio::test(start_paused = true)]
async fn steps_down_for_the_next() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 6), world.person("bob", SECOND * 6));
    let (ann, bob) = (candidate(&ann), candidate(&bob));
    let mut leaders = bob.leaders();
    assert_eq!(leaders.next().await.unwrap(), None);

    let first = ann.campaign().await.unwrap();
    assert!(ann.is_leader() && !bob.is_leader());
    assert_eq!(leaders.next().await.unwrap().unwrap().info.label, "ann");
    let waiting = tokio::spawn({
        let bob = bob.clone();
        async move { bob.campaign().await }
    });
    world.pass(SECOND * 20).await;
    assert!(!waiting.is_finished(), "ann leads on");

    let (epoch, fence) = (first.epoch(), first.fence().unwrap());
    first.step_down().await.unwrap();
    let second = waiting.await.unwrap().unwrap();
    assert!(!ann.is_leader() && bob.is_leader());
    assert!(second.epoch() > epoch && second.fence().unwrap().token() > fence.token());
    let told = leaders.next().await.unwrap();
    let told = match told {
        Some(leader) => leader,
        // The moment between both was seen as well.
        None => leaders.next().await.unwrap().unwrap(),
    };
    assert_eq!((told.info.label.as_str(), told.epoch), ("bob", second.epoch()));
    assert_eq!(ann.leader().await.unwrap(), Some(told));
}

/// One who steps down and stands again at once lets another one lead that waits.
#[tokio::test(start_paused = true)]
async fn who_stepped_down_comes_last() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 6), world.person("bob", SECOND * 6));
    let (ann, bob) = (candidate(&ann), candidate(&bob));
    let first = ann.campaign().await.unwrap();
    let bobs = tokio::spawn(async move { bob.campaign().await });
    world.pass(SECOND).await;
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }

    first.step_down().await.unwrap();
    let anns = tokio::spawn(async move { ann.campaign().await });
    let second = bobs.await.unwrap().unwrap();
    world.pass(SECOND * 60).await;
    assert!(!anns.is_finished(), "bob leads");
    drop(second);
    drop(anns.await.unwrap().unwrap());
}

/// Alone, it leads again after the rest.
#[tokio::test(start_paused = true)]
async fn alone_it_leads_again() {
    let world = World::new();
    let ann = world.person("ann", SECOND * 6);
    let rest = ann.timing().poll_to();
    let mut terms = Box::pin(candidate(&ann).terms());
    let mut last = None;
    for _ in 0..3 {
        let begun = world.now();
        let term = terms.next().await.unwrap().unwrap();
        assert!(Some(term.epoch()) > last);
        if last.is_some() {
            assert_eq!(world.now().since(begun), rest);
        }
        last = Some(term.epoch());
        term.step_down().await.unwrap();
    }
}

/// An operator breaks the lease: the work is dropped, and the next term begins with a higher epoch.
/// (A leader that never stands again: apache/flink#24132.)
#[tokio::test(start_paused = true)]
async fn is_elected_again_after_a_break() {
    let world = World::new();
    let ann = world.person("ann", SECOND * 6);
    let election = candidate(&ann);
    let (begun, ended) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let leading = tokio::spawn({
        let (election, begun, ended) = (election.clone(), begun.clone(), ended.clone());
        async move {
            let work = |fence: lease_core::Fence| {
                let nth = begun.fetch_add(1, Ordering::SeqCst);
                let over = Over(ended.clone());
                async move {
                    let _over = over;
                    if nth == 0 {
                        future::pending::<()>().await;
                    }
                    fence.epoch()
                }
            };
            election.lead(work).await
        }
    });
    world.pass(SECOND).await;
    let leader = election.leader().await.unwrap().unwrap();
    let note = BreakNote::new("op", "to see");
    ann.break_record(&job(), leader.nonce, &note).await.unwrap();

    let second = leading.await.unwrap().unwrap();
    assert!(second > leader.epoch);
    assert_eq!(begun.load(Ordering::SeqCst), 2);
    assert_eq!(ended.load(Ordering::SeqCst), 2, "the first work was dropped");
    assert!(world.is_free().await, "it stepped down when the work was done");
}

struct Over(Arc<AtomicU32>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The process is told to end: the work is dropped, and the office is free before it is gone.
#[tokio::test(start_paused = true)]
async fn told_to_end_it_steps_down() {
    let world = World::new();
    let ann = world.person("ann", SECOND * 6);
    let stop = CancellationToken::new();
    let election = candidate(&ann).cancelled_by(stop.clone());
    let leading = tokio::spawn({
        let election = election.clone();
        async move { election.lead(|_| future::pending::<()>()).await }
    });
    world.pass(SECOND).await;
    assert!(election.is_leader());

    stop.cancel();
    let told = leading.await.unwrap();
    assert!(matches!(told, Err(Error::Cancelled { .. })), "{told:?}");
    assert!(world.is_free().await && !election.is_leader());
    let told = election.campaign().await;
    assert!(matches!(told, Err(Error::Cancelled { .. })), "{told:?}");
}

/// The same where the term was won by hand: its work is dropped, and the office is free.
#[tokio::test(start_paused = true)]
async fn told_to_end_it_leaves_a_term_that_it_runs() {
    let world = World::new();
    let stop = CancellationToken::new();
    let election = candidate(&world.person("ann", SECOND * 6)).cancelled_by(stop.clone());
    let term = election.campaign().await.unwrap();
    let (ran, ()) = tokio::join!(term.run(future::pending::<()>()), async {
        world.pass(SECOND * 20).await;
        assert!(term.fence().is_ok());
        stop.cancel();
    });
    assert!(matches!(ran, Err(Error::Cancelled { .. })), "{ran:?}");
    assert!(world.is_free().await && !election.is_leader());
}

/// A leader dies. Another follows once its lease has run out, and begins after the grace.
#[tokio::test(start_paused = true)]
async fn a_dead_leader_is_followed_after_the_grace() {
    let world = World::new();
    let (dead, _frozen) = world.frozen("dead", SECOND * 6);
    let dead = candidate(&dead).campaign().await.unwrap();
    let timing = Timing::with_ttl(SECOND * 6).grace(SECOND * 3).build().unwrap();
    let info = HolderInfo::of_this_process().label("heir").build().unwrap();
    let heir = world.person("bob", SECOND * 6);
    let heir = candidate(&heir).timing(timing).candidate(info).policy(Policy::expired());

    let begun = world.now();
    let term = heir.campaign().await.unwrap();
    let after = world.now().since(begun);
    assert!(after >= SECOND * 9 && after < SECOND * 10, "{after:?}");
    assert_eq!(
        term.lease().guard(|fence| async move { fence.epoch() }).await.unwrap(),
        term.epoch()
    );
    assert_eq!(heir.leader().await.unwrap().unwrap().info.label, "heir");
    assert_eq!(dead.lost().await, LossReason::Expired);
    assert!(dead.fence().is_err());
}

/// Nobody can be told who leads while the one that led has let its lease expire.
#[tokio::test(start_paused = true)]
async fn an_expired_leader_is_none() {
    let world = World::new();
    let (dead, _frozen) = world.frozen("dead", SECOND * 6);
    let election = candidate(&dead);
    let term = election.campaign().await.unwrap();
    let mut leaders = candidate(&world.person("tool", SECOND)).leaders();
    assert!(leaders.next().await.unwrap().is_some());
    let begun = world.now();
    assert_eq!(leaders.next().await.unwrap(), None);
    let after = world.now().since(begun);
    assert!(after >= SECOND * 6 && after < SECOND * 7, "told as it runs out, not later: {after:?}");
    assert!(!election.is_leader());
    drop(term);
}

/// A store that does not answer is waited out; nobody leads without it.
#[tokio::test(start_paused = true)]
async fn without_the_store_nobody_leads() {
    use lease_core::Effect;
    use lease_core::keeper::KeeperMode;
    use lease_core::layer::{Fault, Faulty};

    let world = World::new();
    let layer = Faulty::new(Arc::new(world.store.clone()));
    layer.all(Fault::fails(Effect::Nothing));
    let reach = Arc::new(layer.clone());
    let ann = world.person_at("ann", SECOND * 6, reach, KeeperMode::CurrentRuntime);
    let campaign = tokio::spawn(async move { candidate(&ann).campaign().await });
    world.pass(SECOND * 600).await;
    assert!(!campaign.is_finished());
    layer.heal();
    let term = campaign.await.unwrap().unwrap();
    assert!(term.fence().is_ok());
    let free: Duration = Duration::ZERO;
    assert!(term.lease().remaining() > free, "{JOB} is led");
}
