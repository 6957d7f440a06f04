//! A store with writers, and a repair that drains them: what hand-made leases of this kind have done
//! wrong, on a real server. (Most of it was seen in the leases of `httk-store`.)

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lease_core::backend::{Joined, Renewed, Taken};
use lease_core::clock::{SystemClock, within};
use lease_core::keeper::{Driven, KeeperMode};
use lease_core::{
    Backend, Claim, Clock, Coordinator, Error, LossReason, Mode, Name, Policy, Timing,
};
use lease_mongo::Mongo;
use testbed::{FaultProxy, Spoil};

use crate::support::wire::claim;
use crate::support::{PATIENCE, connected, fresh_database, primary_address};

const SHORT: Duration = Duration::from_millis(300);

async fn pass(time: Duration) {
    SystemClock.sleep_until(SystemClock.now().plus(time)).await;
}

/// A writer that fell silent, and its last renewal that was acknowledged.
async fn a_silent_writer(mongo: &Mongo) -> lease_core::Holding {
    let claim = Claim { ttl: SHORT, ..claim("store", Mode::Writer) };
    let joined = mongo.join(&claim, &Policy::expired()).await.expect("an answer");
    let Joined::Granted(grant) = joined else { panic!("it is free: {joined:?}") };
    pass(SHORT * 2).await;
    grant.holding
}

/// There, `force` went past an expired writer and left it, and its next heartbeat succeeded: a writer
/// and a repair at once. Here it is removed, and learns of it; nothing of it is left for later.
#[tokio::test(flavor = "multi_thread")]
async fn a_repair_by_force_ends_the_writer_that_it_passes() {
    let mongo = connected(&fresh_database()).await;
    let process = Coordinator::new(Arc::new(mongo.clone()));
    let silent = a_silent_writer(&mongo).await;
    let unforced = process.exclusive("store").policy(Policy::refuse()).acquire().await;
    assert!(matches!(unforced, Err(Error::Held { .. })), "an operator must say so: {unforced:?}");
    let repair = process.exclusive("store").policy(Policy::refuse()).force().acquire().await;
    let repair = repair.expect("it goes past what has expired");

    let woken = mongo.renew(&[silent.next_beat()]).await.remove(0).expect("an answer");
    assert!(matches!(woken, Renewed::Lost(LossReason::Displaced)), "it must be told: {woken:?}");
    repair.confirm().await.expect("the repair is alone");
    repair.release().await.expect("it was held");
    let next = process.exclusive("store").policy(Policy::refuse()).acquire().await;
    let next = next.expect("nothing is left that would need force again");
    next.release().await.expect("it was held");
}

/// There, a stale repair lease blocked all until it was cleared by hand, and whoever cleared it could
/// hit a holder that had just come back.
#[tokio::test(flavor = "multi_thread")]
async fn clearing_a_stale_repair_hits_no_holder_that_came_back() {
    let mongo = connected(&fresh_database()).await;
    // Long enough to be fresh for as long as a busy machine takes.
    let ttl = Duration::from_secs(4);
    let claim = Claim { ttl, ..claim("store", Mode::Exclusive) };
    let taken = mongo.take(&claim, None, &Policy::expired()).await.expect("an answer");
    let Taken::Granted(repair) = taken else { panic!("it is free: {taken:?}") };
    pass(ttl * 5 / 4).await;
    let process = Coordinator::builder(Arc::new(mongo.clone())).policy(Policy::refuse()).build();
    let blocked = process.writer("store").acquire().await;
    assert!(matches!(blocked, Err(Error::Held { .. })), "a stale one blocks too: {blocked:?}");

    let seen = mongo.observe(&claim.name).await.expect("an answer").exclusive.expect("there");
    mongo.renew(&[repair.holding.next_beat()]).await.remove(0).expect("an answer");
    let judged = lease_core::Judged::ByStore;
    let cleared = mongo.evict(&claim.name, &seen.target(), judged).await.expect("an answer");
    assert_eq!(cleared, lease_core::backend::Evicted::Kept, "it lives again");
}

/// There, four writers that came back at once kept a repair out for ten seconds, for each was seen as
/// a live writer while it was being refused; and a writer that joined between two looks was taken for
/// an expired one. Here one that is refused leaves nothing to be seen.
#[tokio::test(flavor = "multi_thread")]
async fn writers_that_come_back_at_once_starve_no_repair() {
    let mongo = connected(&fresh_database()).await;
    let over = Arc::new(AtomicBool::new(false));
    let writes = Arc::new(AtomicU64::new(0));
    let mut writers = Vec::new();
    for _ in 0..4 {
        let (mongo, over, writes) = (mongo.clone(), Arc::clone(&over), Arc::clone(&writes));
        writers.push(tokio::spawn(async move {
            while !over.load(Ordering::SeqCst) {
                let claim = claim("store", Mode::Writer);
                match mongo.join(&claim, &Policy::refuse()).await.expect("an answer") {
                    Joined::Granted(grant) => {
                        writes.fetch_add(1, Ordering::SeqCst);
                        mongo.withdraw(&grant.holding).await.expect("an answer");
                    }
                    Joined::Refused(_) => {}
                }
            }
        }));
    }
    let process = Coordinator::builder(Arc::new(mongo)).policy(Policy::refuse()).build();
    let mut last = None;
    for round in 0..20 {
        let repair = process.exclusive("store").wait(PATIENCE).acquire().await;
        let repair = repair.unwrap_or_else(|error| panic!("in round {round}: {error}"));
        assert!(last < Some(repair.epoch()), "each grant has an epoch of its own");
        last = Some(repair.epoch());
        repair.release().await.expect("it was held");
        let before = writes.load(Ordering::SeqCst);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let flow = async {
            while writes.load(Ordering::SeqCst) == before {
                pass(Duration::from_millis(5)).await;
            }
        };
        within(&clock, PATIENCE, flow).await.expect("writers flow again");
    }
    over.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.await.expect("no panic");
    }
}

/// There, a first write whose answer was lost left a lease that nobody held, and blocked every writer
/// until somebody cleared it. Here it is withdrawn, long before its ttl.
#[tokio::test(flavor = "multi_thread")]
async fn an_acquire_whose_answer_was_lost_leaves_nothing_behind() {
    let database = fresh_database();
    let proxy = FaultProxy::start(primary_address()).await.expect("a proxy");
    let url =
        format!("mongodb://{}/{database}?directConnection=true&timeoutMS=2000", proxy.address());
    let options = lease_mongo::Options::parse(&url).expect("a URL");
    let behind = lease_mongo::connect(options).await.expect("the server is there");
    let timing = Timing::with_ttl(Duration::from_secs(600)).build().expect("possible");
    let ann = Coordinator::builder(Arc::new(behind)).timing(timing).build();
    let bob = connected(&database).await;
    for mode in [Mode::Writer, Mode::Exclusive] {
        let name = format!("store for a {mode}");
        proxy.lose_answer_to("findAndModify", Spoil::Reset);
        // It may try once more by itself: what it gives is one grant, or none.
        let lease = ann.ask(&name, mode).acquire().await;
        proxy.heal();
        let name = Name::parse(&name).expect("a name");
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let wanted = usize::from(lease.is_ok());
        let settled = async {
            loop {
                let seen = bob.observe(&name).await.expect("an answer");
                if seen.writers.len() + usize::from(seen.exclusive.is_some()) == wanted {
                    break;
                }
                pass(Duration::from_millis(50)).await;
            }
        };
        let settled = within(&clock, PATIENCE, settled).await;
        settled.unwrap_or_else(|| panic!("{mode}: what nobody holds must go: {lease:?}"));
    }
}

/// A holder without a heartbeat judges itself: there, nothing told it that its time was over.
#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_was_stopped_knows_by_its_own_clock() {
    let mongo = connected(&fresh_database()).await;
    let ttl = Duration::from_secs(2);
    let timing = Timing::with_ttl(ttl).build().expect("possible");
    let stopped = Coordinator::builder(Arc::new(mongo)).timing(timing);
    let stopped = stopped.keeper(KeeperMode::Driven(Driven::new())).build();
    let lease = stopped.exclusive("store").acquire().await.expect("it is free");
    lease.check().expect("it was just granted");
    pass(ttl).await;
    assert!(matches!(lease.check(), Err(Error::Lost { .. })), "no request is needed to know");
}
