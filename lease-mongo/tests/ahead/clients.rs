//! Clients whose wall clocks differ by minutes come and go as if they agreed.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use lease_core::clock::SystemClock;
use lease_core::{Clock, Coordinator, Error, Lease, Timing};
use lease_mongo::Options;
use mongodb::Database;
use mongodb::bson::{DateTime, Document, doc};
use testbed::{Helper, Shim};

use crate::support::{fresh_database, shell, url};

const TTL: Duration = Duration::from_secs(2);
const HOLDS_FOR: Duration = Duration::from_millis(300);
/// How often each holds.
const GRANTS: usize = 6;
/// By how many seconds their clocks are ahead.
const CLOCKS: [i64; 3] = [-600, 0, 600];
/// A turn comes within some holds of the others; on a machine that is busy it takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// By how much the shim has been told to shift the clock.
const AHEAD: &str = "LEASE_TEST_AHEAD";
/// Tells a run of the test that it is one of the clients, and where the leases are.
const URL: &str = "LEASE_TEST_CLIENT_URL";

/// One grant, on the machine's own clock, which all its processes share and the shim leaves alone.
#[derive(Debug)]
struct Belief {
    epoch: u64,
    /// From when on, in nanoseconds.
    from: u128,
    /// Until when at the least.
    to: u128,
}

/// Three processes, one ten minutes behind and one ten minutes ahead, hold one name in turns: no two
/// at a time, each with a higher epoch than all before, and all for one ttl of the server's clock.
#[tokio::test(flavor = "multi_thread")]
async fn clients_whose_clocks_differ_never_overlap() {
    if let Ok(url) = std::env::var(URL) {
        return one_of_them(&url).await;
    }
    let (url, shim) = (url(&fresh_database()), Shim::build().expect("a C compiler"));
    let mut clients = CLOCKS.map(|seconds| {
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        let name = "clients::clients_whose_clocks_differ_never_overlap";
        command.args(["--exact", name, "--nocapture"]).env(URL, &url);
        shim.shift(&mut command, seconds);
        Helper::spawn(command).expect("it starts")
    });
    let mut beliefs = Vec::new();
    for client in &mut clients {
        for _ in 0..GRANTS {
            beliefs.push(heard(&client.line_with("belief", PATIENCE).expect("its turn")));
        }
        assert!(client.wait(PATIENCE).expect("it has had its turns").success());
    }
    beliefs.sort_by_key(|belief| belief.from);
    for (earlier, later) in beliefs.iter().zip(beliefs.iter().skip(1)) {
        assert!(earlier.to <= later.from, "two beliefs overlap: {earlier:?} {later:?}");
        assert!(earlier.epoch < later.epoch, "it does not rise: {earlier:?} {later:?}");
    }
}

fn heard(line: &str) -> Belief {
    let numbers = line.split_once("belief ").expect("a belief").1;
    let numbers: Vec<u128> =
        numbers.split(' ').map(|number| number.parse().expect("a number")).collect();
    let [epoch, from, to] = numbers[..] else { panic!("three numbers: {line}") };
    Belief { epoch: epoch.try_into().expect("an epoch"), from, to }
}

/// One client's life.
async fn one_of_them(url: &str) {
    let options = Options::parse(url).expect("a URL");
    let mongo = lease_mongo::connect(options).await.expect("the server is there");
    let timing = Timing::with_ttl(TTL).build().expect("possible");
    let coordinator = Coordinator::builder(Arc::new(mongo)).timing(timing).build();
    let driver = url.replace("&timeoutMS=10000", "");
    let database = shell(&driver).await.default_database().expect("it is named");
    let mut grants = 0;
    while grants < GRANTS {
        let asked = server_now(&database).await;
        match coordinator.exclusive("store").wait(PATIENCE).acquire().await {
            Ok(lease) => {
                let from = SystemClock.now();
                is_dated_by_the_server(&database, &lease, asked).await;
                let to = believes(&lease).await;
                let nanos = |moment: lease_core::Moment| moment.since_origin().as_nanos();
                println!("belief {} {} {}", lease.epoch().get(), nanos(from), nanos(to));
                grants += 1;
                // Where it does not go, the ttl does the rest.
                drop(lease.release().await);
            }
            Err(Error::Held { .. } | Error::Unavailable { .. }) => {}
            Err(error) => panic!("neither held nor away: {error}"),
        }
    }
}

/// Holds for a while; the last moment at which it surely believed.
async fn believes(lease: &Lease) -> lease_core::Moment {
    let from = SystemClock.now();
    let mut to = from;
    while SystemClock.now().since(from) < HOLDS_FOR {
        let now = SystemClock.now();
        if lease.check().is_err() {
            break;
        }
        to = now;
        SystemClock.sleep_until(now.plus(Duration::from_millis(10))).await;
    }
    to
}

/// The record begins at the server's now, and lives for one ttl from there; what the client thinks that
/// time it is is shown, and is as wrong as its clock.
async fn is_dated_by_the_server(database: &Database, lease: &Lease, asked: DateTime) {
    let leases = database.collection::<Document>(Options::COLLECTION);
    let own = doc! { "_id": lease.name().as_str(), "x.nonce": lease.nonce().to_string() };
    let Some(found) = leases.find_one(own).await.expect("an answer") else {
        assert!(lease.check().is_err(), "it was removed while it is believed in");
        return;
    };
    let record = found.get_document("x").expect("it is there");
    let at = *record.get_datetime("at").expect("a date");
    let now = server_now(database).await;
    assert!(asked <= at && at <= now, "not the server's time: {asked} {at} {now}");
    assert_eq!(record.get_i64("ttl"), Ok(i64::try_from(TTL.as_millis()).expect("short")));
    let ahead: i64 = std::env::var(AHEAD).expect("a clock").parse().expect("seconds");
    let told = record.get_document("info").and_then(|info| info.get_datetime("since"));
    let told = told.expect("a time").timestamp_millis();
    let shifted = |true_time: DateTime| true_time.timestamp_millis() + ahead * 1000;
    assert!((shifted(asked)..=shifted(now)).contains(&told), "its clock is not as it was set");
}

async fn server_now(database: &Database) -> DateTime {
    let hello = database.run_command(doc! { "hello": 1 }).await.expect("an answer");
    *hello.get_datetime("localTime").expect("a time")
}
