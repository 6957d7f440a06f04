//! The primary is killed, stopped and deposed: no acknowledged lease is lost, no epoch is given
//! twice, no two beliefs overlap, and nobody waits for ever.

#![expect(clippy::print_stdout, reason = "it tells what it measured")]
#![expect(clippy::expect_used, reason = "helpers of tests: a failure is the test's failure")]

mod support;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_core::backend::{Confirmed, Taken};
use lease_core::clock::{SystemClock, within};
use lease_core::{
    Backend, Claim, Clock, Coordinator, Error, Lease, Mode, Moment, Policy, Status, Timing,
};
use lease_mongo::{Mongo, Options};
use mongodb::bson::doc;
use support::wire::claim;
use support::{fresh_database, shell, url_of};
use testbed::mongo::ReplicaSet;

/// What is done to the primary.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// `kill -9`; it comes back later.
    Kill,
    /// `SIGSTOP`, until there is another one; then it goes on where it stood.
    Stop,
    /// It is asked to step down.
    StepDown,
}

struct Cluster {
    set: ReplicaSet,
    url: String,
}

impl Cluster {
    fn start() -> Self {
        let set = ReplicaSet::start(3).expect("a replica set");
        let url = url_of(set.url(), &fresh_database(), "");
        Self { set, url }
    }

    async fn client(&self) -> Mongo {
        let options = Options::parse(&self.url).expect("a URL");
        lease_mongo::connect(options).await.expect("the replica set is there")
    }

    async fn coordinator(&self, ttl: Duration) -> Coordinator {
        let timing = Timing::with_ttl(ttl).build().expect("possible");
        Coordinator::builder(Arc::new(self.client().await)).timing(timing).build()
    }

    /// Hits the primary, waits for another, and mends the first.
    async fn hit(&mut self, fault: Fault) {
        let before = blocking(|| self.set.primary().expect("a primary"));
        let victim = self.set.members().nth(before).expect("a member");
        match fault {
            Fault::Kill => victim.kill().expect("it dies"),
            Fault::Stop => victim.pause().expect("it stops"),
            Fault::StepDown => {
                let client = shell(victim.url()).await;
                let order = doc! { "replSetStepDown": 5, "force": true };
                // Some versions close the connection in place of an answer.
                let _ = client.database("admin").run_command(order).await;
            }
        }
        pass(Duration::from_secs(1)).await;
        match fault {
            Fault::Kill => {
                blocking(|| self.set.primary().expect("another primary"));
                let victim = self.set.member(before).expect("a member");
                blocking(|| victim.restart().expect("it comes back"));
            }
            Fault::Stop => {
                // A frozen member answers no look of ours either: the election takes some seconds.
                pass(Duration::from_secs(7)).await;
                self.set.members().nth(before).expect("a member").resume().expect("it goes on");
            }
            Fault::StepDown => {}
        }
        blocking(|| self.set.settled().expect("all is well again"));
    }
}

fn blocking<T>(work: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(work)
}

async fn pass(time: Duration) {
    SystemClock.sleep_until(SystemClock.now().plus(time)).await;
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

/// Twenty leases of the usual ttl are held through a kill, a stop and a step down.
#[tokio::test(flavor = "multi_thread")]
async fn no_acknowledged_lease_is_lost() {
    let mut cluster = Cluster::start();
    let process = cluster.coordinator(Timing::DEFAULT_TTL).await;
    let mut leases = Vec::new();
    for i in 0..20 {
        let mode = if i % 2 == 0 { Mode::Writer } else { Mode::Exclusive };
        leases.push(process.ask(format!("lease {i}"), mode).acquire().await.expect("free"));
    }
    for fault in [Fault::Kill, Fault::Stop, Fault::StepDown] {
        cluster.hit(fault).await;
        for lease in &leases {
            lease.check().unwrap_or_else(|error| panic!("{fault:?}: {error}"));
            confirms(lease, fault).await;
        }
    }
    let other = cluster.client().await;
    for lease in leases {
        let seen = other.observe(lease.name()).await.expect("an answer");
        assert!(seen.record(lease.nonce()).is_some(), "{} must be there", lease.name());
        lease.release().await.expect("it was ours");
    }
}

/// The first requests after a failover may fail; soon they do not.
async fn confirms(lease: &Lease, fault: Fault) {
    let asked = async {
        while let Err(error) = lease.confirm().await {
            assert!(matches!(error, Error::Unavailable { .. }), "{fault:?}: {error}");
            pass(Duration::from_millis(50)).await;
        }
    };
    let told = within(&clock(), Duration::from_secs(10), asked).await;
    told.unwrap_or_else(|| panic!("{fault:?}: it must be confirmed soon"));
}

/// What somebody believed, and for how long at the least.
#[derive(Clone, Copy, Debug)]
struct Belief {
    mode: Mode,
    epoch: u64,
    from: Moment,
    to: Moment,
}

/// Five processes come and go while the primary is hit; their beliefs are laid beside each other.
#[tokio::test(flavor = "multi_thread")]
async fn beliefs_never_overlap_and_epochs_never_repeat() {
    let mut cluster = Cluster::start();
    let over = Arc::new(AtomicBool::new(false));
    let beliefs = Arc::new(Mutex::new(Vec::new()));
    let slowest = Arc::new(Mutex::new(Duration::ZERO));
    let mut processes = Vec::new();
    for i in 0..5 {
        let process = cluster.coordinator(Duration::from_secs(6)).await;
        let mode = if i < 3 { Mode::Exclusive } else { Mode::Writer };
        let (over, beliefs, slowest) =
            (Arc::clone(&over), Arc::clone(&beliefs), Arc::clone(&slowest));
        processes.push(tokio::spawn(async move {
            while !over.load(Ordering::SeqCst) {
                let asked = SystemClock.now();
                let lease = process.ask("store", mode).acquire().await;
                let from = SystemClock.now();
                longest(&slowest, from.since(asked));
                match lease {
                    Ok(lease) => {
                        let to = believes(&lease, from).await;
                        let epoch = lease.epoch().get();
                        beliefs.lock().expect("no panic").push(Belief { mode, epoch, from, to });
                        // Released as well as it goes; the ttl does the rest.
                        drop(lease);
                    }
                    Err(Error::Held { .. } | Error::Unavailable { .. }) => {}
                    Err(error) => panic!("neither held nor away: {error}"),
                }
                pass(Duration::from_millis(30)).await;
            }
        }));
    }
    for fault in [Fault::Kill, Fault::Stop] {
        pass(Duration::from_secs(2)).await;
        cluster.hit(fault).await;
    }
    let before = beliefs.lock().expect("no panic").len();
    pass(Duration::from_secs(8)).await;
    over.store(true, Ordering::SeqCst);
    for process in processes {
        process.await.expect("no panic");
    }

    let beliefs = beliefs.lock().expect("no panic").clone();
    assert!(beliefs.len() > before, "somebody gets on after the last fault");
    let mut epochs = HashSet::new();
    for one in beliefs.iter().filter(|one| one.mode == Mode::Exclusive) {
        assert!(epochs.insert(one.epoch), "an epoch was given twice: {one:?}");
        for other in &beliefs {
            let itself = other.mode == Mode::Exclusive && other.epoch == one.epoch;
            let apart = one.to <= other.from || other.to <= one.from;
            assert!(itself || apart, "two beliefs overlap: {one:?} {other:?}");
        }
    }
    let slowest = *slowest.lock().expect("no panic");
    println!("{} grants, {} epochs, the slowest try took {slowest:?}", beliefs.len(), epochs.len());
    // One belief's length, and a withdrawal after it.
    assert!(slowest < Duration::from_secs(12), "a try must end in bounded time: {slowest:?}");
}

fn longest(slowest: &Mutex<Duration>, took: Duration) {
    let mut slowest = slowest.lock().expect("no panic");
    *slowest = (*slowest).max(took);
}

/// Holds for a while; the last moment at which it surely believed.
async fn believes(lease: &Lease, from: Moment) -> Moment {
    let mut to = from;
    while SystemClock.now().since(from) < Duration::from_millis(200) {
        let now = SystemClock.now();
        if lease.check().is_err() {
            break;
        }
        to = now;
        pass(Duration::from_millis(10)).await;
    }
    to
}

/// A primary is stopped with requests in its ears, another is elected and gives the lease to Bob, and
/// the first goes on and answers. It confirms nothing, and shows nothing of the past (rule R3).
#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_was_stopped_confirms_nothing() {
    let cluster = Cluster::start();
    let before = blocking(|| cluster.set.primary().expect("a primary"));
    let old = cluster.set.members().nth(before).expect("a member");
    let database = cluster.url.rsplit_once('/').expect("a database").1;
    let database = database.split('?').next().expect("a name");
    // Knows this member only, and waits for it.
    let url = url_of(old.url(), database, "&timeoutMS=40000");
    let ann = lease_mongo::connect(Options::parse(&url).expect("a URL")).await.expect("there");
    let anns_claim = Claim { ttl: Duration::from_secs(2), ..claim("store", Mode::Exclusive) };
    let taken = ann.take(&anns_claim, None, &Policy::expired()).await.expect("an answer");
    let Taken::Granted(anns) = taken else { panic!("it is free: {taken:?}") };
    let bob = cluster.client().await;

    old.pause().expect("it stops");
    let asked = {
        let (ann, mine, name) = (ann.clone(), anns.holding.clone(), anns_claim.name.clone());
        tokio::spawn(async move { tokio::join!(ann.confirm(&mine), ann.observe(&name)) })
    };
    let taking = async {
        // The same attempt again and again: one whose answer was lost may have got through.
        let next = claim("store", Mode::Exclusive);
        loop {
            match bob.take(&next, None, &Policy::expired()).await {
                Ok(Taken::Granted(grant)) => return grant,
                Ok(_) | Err(Error::Unavailable { .. }) => pass(Duration::from_millis(100)).await,
                Err(error) => panic!("neither held nor away: {error}"),
            }
        }
    };
    let bobs = within(&clock(), Duration::from_secs(30), taking).await.expect("another primary");
    assert!(bobs.epoch > anns.epoch);
    old.resume().expect("it goes on");
    let (confirmed, observed) = asked.await.expect("no panic");
    assert!(!matches!(confirmed, Ok(Confirmed::Held { .. })), "bob holds: {confirmed:?}");
    if let Ok(seen) = observed {
        assert_eq!(seen.epoch, bobs.epoch, "an old state must not be shown");
    }
}

/// All members are gone: the holder is doubtful, then lost by its own clock; nothing hangs.
#[tokio::test(flavor = "multi_thread")]
async fn a_holder_without_a_majority_stops_in_time() {
    let cluster = Cluster::start();
    let process = cluster.coordinator(Duration::from_secs(6)).await;
    let lease = process.exclusive("store").acquire().await.expect("free");
    let started = SystemClock.now();
    for member in cluster.set.members() {
        member.pause().expect("it stops");
    }
    let mut changes = lease.status_changes();
    let doubtful = async {
        while *changes.borrow_and_update() == Status::Held {
            changes.changed().await.expect("the keeper tells");
        }
    };
    within(&clock(), Duration::from_secs(7), doubtful).await.expect("it must be told");
    within(&clock(), Duration::from_secs(7), lease.lost()).await.expect("it must end");
    assert!(SystemClock.now().since(started) < Duration::from_secs(8));
    assert!(lease.check().is_err());
    for member in cluster.set.members() {
        member.resume().expect("it goes on");
    }
}
