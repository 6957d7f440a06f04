//! Wall clocks that show another time: a member's that becomes primary, and those of clients.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![expect(clippy::expect_used, reason = "helpers of tests: a failure is the test's failure")]
#![expect(clippy::print_stdout, reason = "it tells what it saw")]

mod clients;
mod member;

#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;
use std::time::Duration;

use lease_core::clock::{SystemClock, within};
use lease_core::{Admission, Clock, Coordinator, DurableGate, Error, Timing};
use lease_mongo::{DocumentGate, Fenced, Options, Write};
use mongodb::bson::{Document, doc};
use testbed::Shim;

use member::Member;
use support::{fresh_database, shell};

/// Longer than an election, shorter than the clocks' difference, and not renewed before the election.
const TTL: Duration = Duration::from_secs(25);

async fn process(url: &str) -> Coordinator {
    let options = Options::parse(url).expect("a URL");
    let mongo = lease_mongo::connect(options).await.expect("the replica set is there");
    let timing = Timing::with_ttl(TTL).renew_every(Duration::from_secs(20));
    let timing = timing.build().expect("possible");
    Coordinator::builder(Arc::new(mongo)).timing(timing).build()
}

/// Ann holds and has announced herself. The primary dies, and the next one's clock says that she has
/// long expired: Bob follows her while she still believes. Whatever asks for the token is safe, and
/// she is told. Without a fence both would have worked at once: the page of this crate says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_primary_whose_clock_is_ahead_ends_a_lease_and_the_fence_holds() {
    let shim = Shim::build().expect("a C compiler");
    let members = [Member::start(None), Member::start(None), Member::start(Some((&shim, 30)))];
    let url = member::initiate(members.each_ref().map(Member::address), &fresh_database()).await;
    let program = shell(&url).await;
    let database = program.default_database().expect("it is named");
    let gate = DocumentGate::new(database.collection("gates"), "the resource");
    let data = Fenced::new(database.collection::<Document>("data"));
    let (ann, bob) = (process(&url).await, process(&url).await);

    let anns = ann.exclusive("store").acquire().await.expect("it is free");
    anns.announce(&gate).await.expect("she holds");
    let anns_proof = anns.confirm().await.expect("she holds");
    let set = |value: &str| doc! { "$set": { "value": value } };
    let written = data.upsert(&anns_proof, 1, set("ann's")).await;
    assert_eq!(written.expect("an answer"), Write::Done);

    let granted_at = SystemClock.now();
    members[0].kill();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let following = async {
        loop {
            // Without a primary nobody can say.
            match bob.exclusive("store").wait(TTL).acquire().await {
                Ok(lease) => return lease,
                Err(Error::Unavailable { .. } | Error::Held { .. }) => {}
                Err(error) => panic!("neither held nor away: {error}"),
            }
        }
    };
    let bobs = within(&clock, Duration::from_secs(100), following).await.expect("he follows her");
    println!(
        "bob holds after {:?}; ann believes: {}",
        SystemClock.now().since(granted_at),
        anns.check().is_ok()
    );
    assert!(bobs.epoch() > anns.epoch());
    bobs.announce(&gate).await.expect("he holds");
    let bobs_proof = bobs.confirm().await.expect("he holds");
    assert_eq!(data.stamp(&bobs_proof, doc! {}).await.expect("an answer"), 1);

    let late = data.update_one(&anns_proof, doc! { "_id": 1 }, set("ann's again")).await;
    assert_eq!(late.expect("an answer"), Write::Refused { highest: bobs.token() });
    let late = gate.admit(anns.token()).await.expect("an answer");
    assert_eq!(late, Admission::Refused { highest: bobs.token() });
    within(&clock, TTL, anns.lost()).await.expect("she is told within a ttl");
    assert!(matches!(anns.check(), Err(Error::Lost { .. })));
    bobs.check().expect("he is not disturbed");
}
