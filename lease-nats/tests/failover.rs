//! Servers die, stop and are cut off in the middle of acquiring, renewing and releasing: nobody ever
//! holds beside another, no epoch is given twice, and everybody is told in bounded time.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_core::clock::SystemClock;
use lease_core::{Clock, Coordinator, Epoch, Error, Mode, Moment, Name, Timing};
use lease_nats::{Options, connect};
use rstest::rstest;
use serde_json::Value;

use support::bucket::Bucket;
use support::cut::{CutCluster, leader_of};
use support::server::{OLDEST, Server};
use support::{SECOND, eventually, name, pass};

const WORKERS: usize = 6;
const NAMES: usize = 2;
const TTL: Duration = Duration::from_secs(3);
/// How long a worker waits for a lease, and how long a request may take.
const WAITS: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(1);

/// One lease that was held.
#[derive(Clone, Debug)]
struct Held {
    name: Name,
    mode: Mode,
    epoch: Epoch,
    from: Moment,
    /// When it was given up, or was not believed in any more.
    until: Moment,
}

/// Workers that take leases, renew and release them, for as long as the field is open.
struct Field {
    bucket: Bucket,
    open: Arc<AtomicBool>,
    held: Arc<Mutex<Vec<Held>>>,
    slowest: Arc<Mutex<Duration>>,
    workers: Vec<tokio::task::JoinHandle<()>>,
}

impl Field {
    /// Workers that reach the servers by `doors` in turn; each is one URL or several.
    async fn start(doors: &[&str], replicas: u8) -> Self {
        let bucket = Bucket::at(&doors.join(","), replicas).await;
        // Three servers place no bucket before they agree on a leader.
        bucket.connect().await;
        let mut field = Self {
            bucket,
            open: Arc::new(AtomicBool::new(true)),
            held: Arc::default(),
            slowest: Arc::default(),
            workers: Vec::new(),
        };
        for worker in 0..WORKERS {
            let door = doors[worker % doors.len()].split(',');
            let options = Options::new(door, &field.bucket.bucket).timeout(TIMEOUT);
            let (open, held) = (Arc::clone(&field.open), Arc::clone(&field.held));
            let slowest = Arc::clone(&field.slowest);
            field.workers.push(tokio::spawn(async move {
                let store = eventually(|| async { connect(options.clone()).await.ok() }).await;
                let timing = Timing::with_ttl(TTL).build().unwrap();
                let leases = Coordinator::builder(Arc::new(store)).timing(timing).build();
                let mut round = worker;
                while open.load(Ordering::SeqCst) {
                    round += 1;
                    work(&leases, round, &held, &slowest).await;
                }
            }));
        }
        field
    }

    /// Which node leads the bucket.
    async fn leader(&self) -> usize {
        leader(&self.bucket).await
    }

    fn grants(&self) -> usize {
        self.held.lock().unwrap().len()
    }

    /// Waits until leases are granted again, many times.
    async fn goes_on(&self) {
        let before = self.grants();
        eventually(|| async { (self.grants() > before + 3 * WORKERS).then_some(()) }).await;
    }

    /// Closes the field and judges what happened.
    async fn judge(self) {
        self.open.store(false, Ordering::SeqCst);
        for worker in self.workers {
            worker.await.unwrap();
        }
        let mut held = std::mem::take(&mut *self.held.lock().unwrap());
        held.sort_by_key(|held| held.from);
        let mut last: BTreeMap<Name, (Epoch, Moment)> = BTreeMap::new();
        for (at, one) in held.iter().enumerate() {
            for other in &held[at + 1..] {
                let together = other.from < one.until && other.name == one.name;
                let exclude = one.mode == Mode::Exclusive || other.mode == Mode::Exclusive;
                assert!(!(together && exclude), "two held at once: {one:?} and {other:?}");
            }
            if let Some((epoch, _)) = last.get(&one.name) {
                let follows = match one.mode {
                    Mode::Exclusive => one.epoch > *epoch,
                    Mode::Writer => one.epoch >= *epoch,
                };
                assert!(follows, "the epoch must rise above {epoch}: {one:?}");
            }
            last.insert(one.name.clone(), (one.epoch, one.until));
        }
        let slowest = *self.slowest.lock().unwrap();
        assert!(slowest < WAITS + TTL + TIMEOUT, "somebody was not told for {slowest:?}");
    }
}

/// Takes one lease, holds it for some renewals, and gives it back.
async fn work(
    leases: &Coordinator,
    round: usize,
    held: &Mutex<Vec<Held>>,
    slowest: &Mutex<Duration>,
) {
    let name = name(&format!("store/{}", round % NAMES));
    let asks = match round % 3 {
        0 => leases.writer(name.as_str()),
        _ => leases.exclusive(name.as_str()),
    };
    let start = SystemClock.now();
    let answer = asks.wait(WAITS).acquire().await;
    note(slowest, start);
    let lease = match answer {
        Ok(lease) => lease,
        Err(Error::Held { .. } | Error::Unavailable { .. } | Error::Lost { .. }) => return,
        Err(other) => panic!("no error that the faults explain: {other:?}"),
    };
    let from = SystemClock.now();
    let mut until = from;
    let hold = Duration::from_millis(if round.is_multiple_of(5) { 2500 } else { 60 });
    while let Ok(fence) = lease.check() {
        let now = SystemClock.now();
        // Looked at before: what it says may have run out since.
        until = now.min(fence.believed_until());
        if now.since(from) > hold {
            break;
        }
        pass(Duration::from_millis(20)).await;
    }
    held.lock().unwrap().push(Held { name, mode: lease.mode(), epoch: lease.epoch(), from, until });
    let start = SystemClock.now();
    // Whatever comes of it, the ttl ends it.
    let _ = lease.release().await;
    note(slowest, start);
}

/// Remembers the longest that somebody had to wait for an answer.
fn note(slowest: &Mutex<Duration>, start: Moment) {
    let took = SystemClock.now().since(start);
    let mut slowest = slowest.lock().unwrap();
    *slowest = (*slowest).max(took);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_and_a_stopped_leader_let_nobody_in_twice() {
    let mut cluster = testbed::nats::Cluster::start().unwrap();
    let field = Field::start(&[cluster.url()], 3).await;
    field.goes_on().await;

    let leader = field.leader().await;
    cluster.node(leader).unwrap().kill().unwrap();
    field.goes_on().await;
    tokio::task::block_in_place(|| cluster.node(leader).unwrap().restart()).unwrap();
    field.goes_on().await;

    let leader = field.leader().await;
    cluster.node(leader).unwrap().pause().unwrap();
    pass(SECOND * 8).await;
    cluster.node(leader).unwrap().resume().unwrap();
    field.goes_on().await;
    field.judge().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_oldest_servers_let_nobody_in_twice_either() {
    let cluster = Server::cluster(OLDEST);
    let urls: Vec<&str> = cluster.iter().map(Server::url).collect();
    let field = Field::start(&[&urls.join(",")], 3).await;
    field.goes_on().await;

    let leader = field.leader().await;
    cluster[leader].process().pause().unwrap();
    pass(SECOND * 8).await;
    cluster[leader].process().resume().unwrap();
    field.goes_on().await;

    let leader = field.leader().await;
    cluster[leader].process().kill().unwrap();
    field.goes_on().await;
    field.judge().await;
}

#[rstest]
#[case::the_newest(None)]
#[case::the_oldest(Some(OLDEST))]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_is_cut_off_lets_nobody_in_twice(#[case] version: Option<&'static str>) {
    let cluster = CutCluster::start(version).await;
    // Two workers at each server: those at the one that is cut off have to find another.
    let field = Field::start(&cluster.urls(), 3).await;
    field.goes_on().await;

    let leader = field.leader().await;
    cluster.cut_off(leader);
    // Clients still reach it. It takes some seconds to notice, and goes on to answer reads.
    field.goes_on().await;
    pass(SECOND * 4).await;
    cluster.heal(leader);
    field.goes_on().await;
    field.judge().await;
}

/// A bucket of three replicas at these servers, and the number of the one that leads it.
async fn led_by(urls: &[&str]) -> (Bucket, usize) {
    let bucket = Bucket::at(&urls.join(","), 3).await;
    bucket.connect().await;
    let leader = leader(&bucket).await;
    (bucket, leader)
}

/// The number of the server that leads a bucket.
async fn leader(bucket: &Bucket) -> usize {
    let what = format!("STREAM.INFO.{}", bucket.stream());
    eventually(|| async { leader_of(&bucket.api(&what, &Value::Null).await) }).await
}

/// A client whose server is cut off from the others, the bucket's leader or not, goes to one of those:
/// while the server does not know it and stays silent, and when it knows and says that nobody is there.
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_at_a_server_that_is_cut_off_goes_to_another(
    #[values(false, true)] it_leads: bool,
    #[values(false, true)] it_knows: bool,
) {
    let cluster = CutCluster::start(None).await;
    let urls = cluster.urls();
    let (bucket, leader) = led_by(&urls).await;
    let victim = if it_leads { leader } else { (leader + 1) % 3 };
    let options = Options::new([urls[victim]], &bucket.bucket).timeout(TIMEOUT);
    let store = eventually(|| async { connect(options.clone()).await.ok() }).await;
    let leases = Coordinator::new(Arc::new(store));
    let takes = || async { leases.exclusive("job").acquire().await.ok() };
    eventually(takes).await.release().await.unwrap();

    cluster.cut_off(victim);
    if it_knows {
        cluster.hang_up(victim);
    }
    let start = SystemClock.now();
    eventually(takes).await.release().await.unwrap();
    let took = SystemClock.now().since(start);
    assert!(took < SECOND * 45, "nobody was asked for {took:?}");
}

/// Somebody who holds and asks for nothing else, with the settings that come by themselves: its server
/// is cut off, silent or aware of it, and it keeps its lease by way of another one.
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_whose_server_is_cut_off_keeps_its_lease(#[values(false, true)] it_knows: bool) {
    let cluster = CutCluster::start(None).await;
    let urls = cluster.urls();
    let (bucket, leader) = led_by(&urls).await;
    let options = Options::new([urls[leader]], &bucket.bucket);
    let store = eventually(|| async { connect(options.clone()).await.ok() }).await;
    let leases = Coordinator::new(Arc::new(store));
    let lease = eventually(|| async { leases.exclusive("job").acquire().await.ok() }).await;
    // From then on a server that was cut off tells what it knows of the bucket, as if it were not.
    pass(SECOND * 12).await;

    cluster.cut_off(leader);
    if it_knows {
        cluster.hang_up(leader);
    }
    pass(lease.timing().ttl() * 2).await;
    lease.check().unwrap();
    lease.confirm().await.unwrap();
    lease.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_that_dies_and_comes_back_lets_nobody_in_twice() {
    let mut server = support::server::own();
    let field = Field::start(&[server.url()], 1).await;
    field.goes_on().await;
    for _ in 0..2 {
        server.kill().unwrap();
        pass(SECOND).await;
        tokio::task::block_in_place(|| server.restart()).unwrap();
        field.goes_on().await;
    }
    server.pause().unwrap();
    pass(TTL + SECOND).await;
    server.resume().unwrap();
    field.goes_on().await;
    field.judge().await;
}
