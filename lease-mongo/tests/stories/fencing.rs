//! A holder that was followed cannot write any more, however late it wakes up.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_core::backend::{Renewed, Taken};
use lease_core::clock::{SystemClock, within};
use lease_core::keeper::{Driven, KeeperMode};
use lease_core::{
    Admission, Backend, Claim, Clock, Coordinator, DurableGate, Effect, Error, Fence, Holding,
    Lease, Mode, Policy, Revision, Status, Timing,
};
use lease_mongo::{DocumentGate, Fenced, Mongo, Options, Write};
use mongodb::bson::{Document, doc};
use mongodb::{Client, Collection};

use crate::support::wire::{alone, claim, fail};
use crate::support::{PATIENCE, SET, connected, fresh_database, shell, url, url_of};

/// Long enough to take a few steps, short enough to wait for.
const TTL: Duration = Duration::from_secs(2);

struct Scene {
    mongo: Mongo,
    shell: Client,
    database: String,
}

impl Scene {
    async fn start() -> Self {
        let database = fresh_database();
        let shell = shell(&url(&database).replace("&timeoutMS=10000", "")).await;
        Self { mongo: connected(&database).await, shell, database }
    }

    /// A process that is stopped whenever we do not turn it: nothing of it is renewed.
    fn process(&self) -> Coordinator {
        // A machine that is busy with other tests takes its time.
        let timing = Timing::with_ttl(TTL).call_timeout(TTL * 2).build().expect("possible");
        Coordinator::builder(Arc::new(self.mongo.clone()))
            .timing(timing)
            .keeper(KeeperMode::Driven(Driven::new()))
            .build()
    }

    fn data(&self) -> Collection<Document> {
        self.shell.database(&self.database).collection("data")
    }

    /// Makes the exclusive's record as old as if the server's clock had jumped ahead.
    async fn age_the_lease(&self) {
        let leases = self.shell.database(&self.database).collection::<Document>("leases");
        let earlier = doc! { "$subtract": ["$x.at", 60_000_i64] };
        let older = vec![doc! { "$set": { "x.at": earlier } }];
        leases.update_one(doc! { "_id": "store" }, older).await.expect("an answer");
    }

    async fn value(&self, id: i32) -> Document {
        let found = self.data().find_one(doc! { "_id": id }).await;
        found.expect("an answer").expect("it is there")
    }
}

async fn takes(process: &Coordinator) -> Lease {
    process.exclusive("store").wait(TTL * 5).acquire().await.expect("it is free in time")
}

/// Ann stops with her proof in her hand; Bob follows her; she goes on and writes.
async fn stopped_and_followed(scene: &Scene) -> (Lease, Fence, Lease) {
    let ann = takes(&scene.process()).await;
    let proof = ann.confirm().await.expect("she holds");
    let bob = takes(&scene.process()).await;
    assert!(bob.token() > ann.token());
    (ann, proof, bob)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_update_is_refused_by_its_document() {
    let scene = Scene::start().await;
    let data = Fenced::new(scene.data());
    scene.data().insert_one(doc! { "_id": 1, "value": "nobody's" }).await.expect("an answer");
    let (_ann, anns, bob) = stopped_and_followed(&scene).await;

    assert_eq!(data.stamp(&bob.check().expect("his"), doc! {}).await.expect("an answer"), 1);
    let bobs = bob.confirm().await.expect("he holds");
    let set = |value: &str| doc! { "$set": { "value": value }, "$max": { "most": 3 } };
    let written = data.update_one(&bobs, doc! { "_id": 1 }, set("bob's")).await;
    assert_eq!(written.expect("an answer"), Write::Done);
    let late = data.update_one(&anns, doc! { "_id": 1 }, set("ann's")).await;
    assert_eq!(late.expect("an answer"), Write::Refused { highest: bobs.token() });
    assert_eq!(scene.value(1).await.get_str("value"), Ok("bob's"));
    assert_eq!(scene.value(1).await.get_i32("most"), Ok(3), "the program's own operators count");
    let nowhere = data.update_one(&bobs, doc! { "_id": 2 }, set("bob's")).await;
    assert_eq!(nowhere.expect("an answer"), Write::NotThere);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_upsert_is_refused_by_its_document() {
    let scene = Scene::start().await;
    let data = Fenced::new(scene.data()).field("token").expect("a field");
    let (_ann, anns, bob) = stopped_and_followed(&scene).await;
    let bobs = bob.confirm().await.expect("he holds");
    let set = |value: &str| doc! { "$set": { "value": value } };
    for value in ["bob's", "bob's again"] {
        let written = data.upsert(&bobs, 1, set(value)).await;
        assert_eq!(written.expect("an answer"), Write::Done);
    }
    let late = data.upsert(&anns, 1, set("ann's")).await;
    assert_eq!(late.expect("an answer"), Write::Refused { highest: bobs.token() });
    assert_eq!(scene.value(1).await.get_str("value"), Ok("bob's again"));
}

/// Thirty-two make one document at the same moment, under one token: each is made or follows.
#[tokio::test(flavor = "multi_thread")]
async fn racing_upserts_of_one_holder_are_all_done() {
    let scene = Scene::start().await;
    let lease = takes(&scene.process()).await;
    let fence = lease.confirm().await.expect("held");
    let data = Arc::new(Fenced::new(scene.data()));
    let writes = (0..32).map(|_| {
        let (data, fence) = (Arc::clone(&data), fence.clone());
        tokio::spawn(async move { data.upsert(&fence, 1, doc! { "$inc": { "n": 1 } }).await })
    });
    for write in writes.collect::<Vec<_>>() {
        assert_eq!(write.await.expect("home").expect("an answer"), Write::Done);
    }
    assert_eq!(scene.value(1).await.get_i32("n"), Ok(32));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_keeps_a_late_holder_out() {
    let scene = Scene::start().await;
    let gate = DocumentGate::new(scene.data(), "gate");
    let ann = takes(&scene.process()).await;
    ann.announce(&gate).await.expect("she holds");
    ann.announce(&gate).await.expect("an equal token is let in");
    let bob = takes(&scene.process()).await;
    bob.announce(&gate).await.expect("he holds");
    let late = gate.admit(ann.token()).await.expect("an answer");
    assert_eq!(late, Admission::Refused { highest: bob.token() });
}

/// Ann was followed: her transaction is refused, though what it would write has no fence of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_transaction_is_refused_by_the_lease() {
    let scene = Scene::start().await;
    scene.shell.database(&scene.database).create_collection("data").await.expect("a collection");
    let ann = takes(&scene.process()).await;
    writes(&scene, &ann, 1).await.expect("she holds").expect("it was written");
    // By the server's clock she is gone, and by her own she is not.
    scene.age_the_lease().await;
    let bob = takes(&scene.process()).await;
    ann.check().expect("she does not know yet");

    let late = writes(&scene, &ann, 2).await;
    assert!(matches!(late, Err(Error::Lost { .. })), "she was followed: {late:?}");
    assert_eq!(scene.data().count_documents(doc! {}).await.expect("an answer"), 1);
    bob.check().expect("he is not disturbed");
}

/// Ann's transaction is under way when Bob, to whom she has expired, takes over. He waits for its
/// end: had she only read the lease, both would have gone on.
#[tokio::test(flavor = "multi_thread")]
async fn a_takeover_waits_for_a_transaction_that_is_under_way() {
    let scene = Scene::start().await;
    scene.shell.database(&scene.database).create_collection("data").await.expect("a collection");
    let timing = Timing::with_ttl(TTL * 10).build().expect("possible");
    let ann = scene.process().exclusive("store").timing(timing).acquire().await.expect("free");
    // What a first transaction leaves in the lease must not be what the next one writes there again.
    writes(&scene, &ann, 1).await.expect("she holds").expect("it was written");
    scene.age_the_lease().await;
    let (bob, bobs) = (scene.mongo.clone(), claim("store", Mode::Exclusive));
    let asked = Arc::new(Mutex::new(None));
    let data = scene.data();
    let written = scene.mongo.transaction(&scene.shell, &ann, |session| {
        let (bob, bobs, data) = (bob.clone(), bobs.clone(), data.clone());
        let mut taking =
            tokio::spawn(async move { bob.take(&bobs, None, &Policy::expired()).await });
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let asked = Arc::clone(&asked);
        Box::pin(async move {
            let waits = within(&clock, Duration::from_millis(300), &mut taking).await;
            assert!(waits.is_none(), "he must wait for her transaction: {waits:?}");
            *asked.lock().expect("no panic") = Some(taking);
            data.insert_one(doc! { "_id": 2 }).session(session).await.map(drop)
        })
    });
    written.await.expect("she holds").expect("it was written");
    let taking = asked.lock().expect("no panic").take().expect("he asked");
    let taken = taking.await.expect("home").expect("an answer");
    let Taken::Granted(grant) = taken else { panic!("she had expired: {taken:?}") };
    assert!(grant.epoch > ann.epoch());
    assert_eq!(scene.data().count_documents(doc! {}).await.expect("an answer"), 2);
}

/// A renewal meets a transaction that is under way on the same lease: it waits for it, for no longer than a
/// request may take, and is told as a failure and not as a loss. Then it goes through.
#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_meets_a_transaction_is_no_loss() {
    let scene = Scene::start().await;
    scene.shell.database(&scene.database).create_collection("data").await.expect("a collection");
    let process = scene.process();
    let timing = Timing::with_ttl(Duration::from_secs(60)).build().expect("possible");
    let ann = process.exclusive("store").timing(timing).acquire().await.expect("it is free");
    let short = Options::parse(&url_of(SET.url(), &scene.database, "&timeoutMS=1000"));
    let keeper = lease_mongo::connect(short.expect("a URL")).await.expect("the set is there");
    let anns = Claim { nonce: ann.nonce(), ..claim("store", Mode::Exclusive) };
    let anns = Holding::created(&anns, Revision::new("0.1"));
    let data = scene.data();

    let written = scene.mongo.transaction(&scene.shell, &ann, |session| {
        let (keeper, data, next) = (keeper.clone(), data.clone(), anns.next_beat());
        Box::pin(async move {
            let asked = SystemClock.now();
            let told = keeper.renew(&[next]).await.remove(0);
            let took = SystemClock.now().since(asked);
            let unclear = matches!(told, Err(Error::Unavailable { .. }));
            assert!(unclear, "it can be neither renewed nor lost: {told:?}");
            assert!(took < Duration::from_secs(2), "it must be told in time, not after {took:?}");
            data.insert_one(doc! { "_id": 1 }).session(session).await.map(drop)
        })
    });
    written.await.expect("she holds").expect("it was written");
    let renewed = scene.mongo.renew(&[anns.next_beat().next_beat()]).await.remove(0);
    assert!(matches!(renewed, Ok(Renewed::Renewed { .. })), "{renewed:?}");
    ann.confirm().await.expect("she holds on");
}

/// Ann's program works in a transaction for longer than a renewal may wait: her lease is in doubt, its end
/// stays where the last answer has put it, and it is held again when the transaction is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_in_doubt_while_its_own_transaction_is_long() {
    let scene = Scene::start().await;
    scene.shell.database(&scene.database).create_collection("data").await.expect("a collection");
    let ttl = Duration::from_secs(12);
    let timing = Timing::with_ttl(ttl).build().expect("possible");
    let process = Coordinator::builder(Arc::new(scene.mongo.clone())).timing(timing).build();
    let ann = Arc::new(process.exclusive("store").acquire().await.expect("it is free"));
    let data = scene.data();
    let status = ann.status_changes();
    let becomes = |wanted: Status| {
        let mut status = status.clone();
        async move { status.wait_for(|now| *now == wanted).await.map(drop).expect("it is told") }
    };

    let written = scene.mongo.transaction(&scene.shell, &ann, |session| {
        let (data, doubtful, ann) = (data.clone(), becomes(Status::Doubtful), Arc::clone(&ann));
        Box::pin(async move {
            doubtful.await;
            let left = ann.remaining();
            assert!(left < ttl - timing.renew_every(), "no renewal got through: {left:?} are left");
            data.insert_one(doc! { "_id": 1 }).session(session).await.map(drop)
        })
    });
    written.await.expect("she may believe in it").expect("it was written");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    within(&clock, ttl, becomes(Status::Held)).await.expect("a renewal gets through");
    ann.confirm().await.expect("she holds on");
    assert_eq!(scene.data().count_documents(doc! {}).await.expect("an answer"), 1);
}

/// What the work gives back as an error aborts the transaction and is given back, and the lease is
/// as it was.
#[tokio::test(flavor = "multi_thread")]
async fn work_that_fails_writes_nothing() {
    let scene = Scene::start().await;
    scene.shell.database(&scene.database).create_collection("data").await.expect("a collection");
    let ann = takes(&scene.process()).await;
    let data = scene.data();
    let written = scene.mongo.transaction(&scene.shell, &ann, |session| {
        let data = data.clone();
        Box::pin(async move {
            data.insert_one(doc! { "_id": 1 }).session(session).await?;
            Err::<(), _>(mongodb::error::Error::custom("changed its mind"))
        })
    });
    let error = written.await.expect("the lease is held").expect_err("it is given back");
    assert_eq!(error.get_custom::<&str>(), Some(&"changed its mind"));
    assert_eq!(scene.data().count_documents(doc! {}).await.expect("an answer"), 0);
    ann.confirm().await.expect("she holds on");
}

/// Writes one document in a fenced transaction.
async fn writes(
    scene: &Scene,
    lease: &Lease,
    id: i32,
) -> lease_core::Result<Result<(), mongodb::error::Error>> {
    let data = scene.data();
    let written = scene.mongo.transaction(&scene.shell, lease, |session| {
        let data = data.clone();
        Box::pin(
            async move { data.insert_one(doc! { "_id": id }).session(session).await.map(drop) },
        )
    });
    written.await
}

/// Writers may run transactions side by side; what conflicts is run again.
#[tokio::test(flavor = "multi_thread")]
async fn writers_transactions_are_run_again_after_a_conflict() {
    let scene = Arc::new(Scene::start().await);
    scene.shell.database(&scene.database).create_collection("data").await.expect("a collection");
    let process = scene.process();
    let timing = Timing::with_ttl(Duration::from_secs(30)).build().expect("possible");
    let mut writers = Vec::new();
    for _ in 0..4 {
        writers.push(process.writer("store").timing(timing).acquire().await.expect("free"));
    }
    let all = writers.into_iter().enumerate().map(|(id, lease)| {
        let scene = Arc::clone(&scene);
        tokio::spawn(async move {
            let id = i32::try_from(id).expect("small");
            writes(&scene, &lease, id).await.expect("it is held").expect("it was written");
        })
    });
    for one in all.collect::<Vec<_>>() {
        one.await.expect("home");
    }
    assert_eq!(scene.data().count_documents(doc! {}).await.expect("an answer"), 4);
}

/// The commit is on its way when the belief ends: it gets through later, so nobody may say that
/// nothing was written.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_was_not_answered_in_time_may_have_got_through() {
    let _alone = alone().await;
    let scene = Scene::start().await;
    scene.shell.database(&scene.database).create_collection("data").await.expect("a collection");
    let slow = format!("{}&appName={}", url(&scene.database), scene.database);
    let program = shell(&slow.replace("&timeoutMS=10000", "")).await;
    let ann = takes(&scene.process()).await;
    let commit = doc! { "failCommands": ["commitTransaction"], "blockConnection": true,
    "blockTimeMS": i64::try_from(TTL.as_millis() * 2).expect("small") };
    fail(&scene.shell, &scene.database, 1, commit).await;

    let data = program.database(&scene.database).collection::<Document>("data");
    let written = scene.mongo.transaction(&program, &ann, |session| {
        let data = data.clone();
        Box::pin(async move { data.insert_one(doc! { "_id": 1 }).session(session).await.map(drop) })
    });
    let told = written.await;
    let unclear = matches!(told, Err(Error::Unavailable { effect: Effect::Unknown, .. }));
    assert!(unclear, "it may have been written: {told:?}");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let there = async {
        while scene.data().count_documents(doc! {}).await.expect("an answer") == 0 {
            SystemClock.sleep_until(SystemClock.now().plus(Duration::from_millis(50))).await;
        }
    };
    within(&clock, PATIENCE, there).await.expect("it got through");
}
