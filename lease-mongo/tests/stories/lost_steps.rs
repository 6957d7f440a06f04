//! Of each further step the request is lost, or its answer: what is told, and what the same attempt
//! finds then. (Take, join, renew and withdraw: `lost_answers`.)

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use lease_core::backend::{
    Broken, Committed, Confirmed, Draining, Evicted, Installed, Joined, Renewed, Taken,
};
use lease_core::clock::SystemClock;
use lease_core::keeper::{Driven, KeeperMode};
use lease_core::{
    Backend, BreakNote, Clock, Coordinator, Error, Grant, Holding, Judged, LossReason, Mode, Name,
    Policy, Revision, Snapshot, Timing,
};
use lease_mongo::{Fenced, Mongo, Write};
use mongodb::bson::{Document, doc};
use mongodb::{Client, Collection};
use rstest::rstest;
use testbed::{FaultProxy, Spoil};

use crate::lost_answers::{again, behind_a_proxy, is_unclear};
use crate::support::wire::claim;
use crate::support::{PATIENCE, fresh_database, shell, url};

/// What the network does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    /// The request does not arrive.
    Request,
    /// It arrives, and its answer does not.
    Answer,
}

/// The timeout of a client behind the proxy is two seconds.
const BOUND: Duration = Duration::from_millis(3500);

struct Scene {
    ann: Mongo,
    bob: Mongo,
    proxy: FaultProxy,
    database: String,
}

impl Scene {
    async fn start() -> Self {
        let database = fresh_database();
        let (ann, bob, proxy) = behind_a_proxy(&database).await;
        Self { ann, bob, proxy, database }
    }

    /// Asks while the network loses the request or its answer, which is told in time; then the network
    /// is well again.
    async fn fails<T, W>(&self, lost: Lost, command: &str, bound: Duration, ask: impl Fn() -> W)
    where
        T: Debug,
        W: Future<Output = Result<T, Error>>,
    {
        match lost {
            Lost::Request => self.proxy.black_hole(),
            Lost::Answer => self.proxy.lose_answer_to(command, Spoil::Reset),
        }
        let asked = SystemClock.now();
        is_unclear(&ask().await);
        let took = SystemClock.now().since(asked);
        assert!(took < bound, "it must be told in time, not after {took:?}");
        assert!(!self.proxy.is_armed(), "the request must have got through");
        self.proxy.heal();
    }

    async fn sees(&self, name: &Name) -> Snapshot {
        self.bob.observe(name).await.expect("an answer")
    }

    /// Bob holds, and whatever he did before is of no account.
    async fn bob_takes(&self, name: &str) -> Grant {
        match self.bob.take(&claim(name, Mode::Exclusive), None, &Policy::expired()).await {
            Ok(Taken::Granted(grant)) => grant,
            other => panic!("it is free: {other:?}"),
        }
    }

    async fn bob_joins(&self, name: &str) -> Grant {
        match self.bob.join(&claim(name, Mode::Writer), &Policy::expired()).await {
            Ok(Joined::Granted(grant)) => grant,
            other => panic!("it is free: {other:?}"),
        }
    }

    /// A program's own client, behind the same network, that notices soon what is wrong with it.
    async fn program(&self) -> Client {
        let options = "directConnection=true&retryWrites=false&connectTimeoutMS=500\
                       &heartbeatFrequencyMS=500";
        shell(&format!("mongodb://{}/?{options}", self.proxy.address())).await
    }

    /// A process whose own network is well, and that renews nothing by itself.
    fn process(&self, ttl: Duration) -> Coordinator {
        let timing = Timing::with_ttl(ttl).call_timeout(ttl * 2).build().expect("possible");
        Coordinator::builder(Arc::new(self.bob.clone()))
            .timing(timing)
            .keeper(KeeperMode::Driven(Driven::new()))
            .build()
    }

    /// The documents of that program.
    fn data(&self, client: &Client) -> Collection<Document> {
        client.database(&self.database).collection("data")
    }

    async fn written(&self) -> u64 {
        let shell = shell(&url(&self.database).replace("&timeoutMS=10000", "")).await;
        self.data(&shell).count_documents(doc! {}).await.expect("an answer")
    }
}

/// A round that goes on draining, and one that is granted: the grant is one, however often it is asked
/// for.
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_round_of_a_drain_counts_once(#[values(Lost::Request, Lost::Answer)] lost: Lost) {
    let scene = Scene::start().await;
    let policy = Policy::expired();
    let writer = scene.bob_joins("a").await;
    let claim = claim("a", Mode::Exclusive);
    let round = |before: Option<Draining>| {
        let (ann, claim, policy) = (&scene.ann, &claim, &policy);
        async move { ann.take(claim, before.as_ref(), policy).await }
    };
    let Taken::Draining(first) = again(|| round(None)).await else { panic!("a writer is there") };

    scene.fails(lost, "findAndModify", BOUND, || round(Some(first.clone()))).await;
    let second = again(|| round(Some(first.clone()))).await;
    let Taken::Draining(second) = second else { panic!("the writer is there yet: {second:?}") };
    let drains = scene.sees(&claim.name).await;
    assert_eq!(drains.epoch, writer.epoch, "nothing is granted yet");
    assert_eq!(drains.writers.len(), 1, "the writer is left alone");

    scene.bob.withdraw(&writer.holding).await.expect("an answer");
    scene.fails(lost, "findAndModify", BOUND, || round(Some(second.clone()))).await;
    let third = second.after_a_failed_round();
    let granted = again(|| round(Some(third.clone()))).await;
    let Taken::Granted(grant) = granted else { panic!("nobody is there: {granted:?}") };
    assert_eq!(Some(grant.epoch), writer.epoch.next(), "it counts once");
    let seen = scene.sees(&claim.name).await;
    assert_eq!((seen.epoch, seen.exclusive.expect("hers").nonce), (grant.epoch, claim.nonce));
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_counts_once(#[values(Lost::Request, Lost::Answer)] lost: Lost) {
    let scene = Scene::start().await;
    let claim = claim("a", Mode::Exclusive);
    let before = scene.sees(&claim.name).await;
    let Ok(Installed::Here(revision)) = scene.bob.install(&claim, &before, None).await else {
        panic!("it is free")
    };
    let installed = scene.sees(&claim.name).await;
    let mine = Holding::created(&claim, revision);

    scene.fails(lost, "findAndModify", BOUND, || scene.ann.commit(&mine)).await;
    let committed = again(|| scene.ann.commit(&mine)).await;
    let Committed::Granted { epoch, .. } = committed else { panic!("it is hers: {committed:?}") };
    assert_eq!(Some(epoch), installed.epoch.next(), "it counts once");
    assert_eq!(scene.sees(&claim.name).await.epoch, epoch);
}

/// Waiters are woken by a counter of removals, which moves once.
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn an_eviction_counts_once(
    #[values(Lost::Request, Lost::Answer)] lost: Lost,
    #[values(Mode::Writer, Mode::Exclusive)] mode: Mode,
) {
    let scene = Scene::start().await;
    let silent = match mode {
        Mode::Writer => scene.bob_joins("a").await,
        Mode::Exclusive => scene.bob_takes("a").await,
    };
    let name = &silent.holding.name;
    let before = scene.sees(name).await;
    let target = before.record(silent.holding.nonce).expect("it is there").target();
    assert_eq!(before.anchor, Revision::new("0"));

    let evict = || scene.ann.evict(name, &target, Judged::Observed);
    scene.fails(lost, "findAndModify", BOUND, evict).await;
    let found = match lost {
        Lost::Request => Evicted::Condemned,
        Lost::Answer => Evicted::Kept,
    };
    assert_eq!(again(evict).await, found);
    let after = scene.sees(name).await;
    assert!(after.is_free(), "it was removed: {after:?}");
    assert_eq!((after.anchor, after.epoch), (Revision::new("1"), before.epoch));
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_break_counts_once(#[values(Lost::Request, Lost::Answer)] lost: Lost) {
    let scene = Scene::start().await;
    let bobs = scene.bob_takes("a").await;
    let (name, nonce) = (&bobs.holding.name, bobs.holding.nonce);
    let note = BreakNote::new("ann", "he does not answer");

    let breaks = || scene.ann.break_record(name, nonce, &note);
    scene.fails(lost, "findAndModify", BOUND, breaks).await;
    let raised = bobs.epoch.next().expect("there is one");
    let found = match lost {
        Lost::Request => Broken::Broken { epoch: raised },
        Lost::Answer => Broken::NotThere,
    };
    assert_eq!(again(breaks).await, found);
    let after = scene.sees(name).await;
    assert!(after.is_free() && after.epoch == raised, "it is fenced once: {after:?}");
    let told = scene.bob.last_break(name).await.expect("an answer").expect("a note");
    assert_eq!((told.by, told.why), (note.by.clone(), note.why.clone()));
    let late = scene.bob.renew(&[bobs.holding.next_beat()]).await.remove(0).expect("an answer");
    assert!(matches!(late, Renewed::Lost(LossReason::Displaced)), "{late:?}");
}

/// A ticket is good once, so whoever has no answer cannot use it again. It is moved once or not at
/// all, and whoever gave it away holds no more.
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn an_adoption_happens_once(#[values(Lost::Request, Lost::Answer)] lost: Lost) {
    let scene = Scene::start().await;
    let bobs = scene.bob_takes("a").await.holding;
    let info = claim("a", Mode::Exclusive).info;
    let mine = bobs.next_beat();

    let adopt = || scene.ann.adopt(&mine, &info);
    scene.fails(lost, "findAndModify", BOUND, adopt).await;
    let told = again(adopt).await;
    match lost {
        Lost::Request => assert!(matches!(told, Renewed::Renewed { .. }), "{told:?}"),
        Lost::Answer => assert_eq!(told, Renewed::Lost(LossReason::HandedOver)),
    }
    let seen = scene.sees(&bobs.name).await.exclusive.expect("nothing is lost");
    assert_eq!(
        (seen.nonce, seen.revision, seen.info),
        (bobs.nonce, Revision::new("1.1"), (*info).clone())
    );
    let late = scene.bob.renew(std::slice::from_ref(&mine)).await.remove(0).expect("an answer");
    assert_eq!(late, Renewed::Lost(LossReason::HandedOver));
}

/// What only looks.
#[derive(Clone, Copy, Debug)]
enum Look {
    Observe,
    Inspect,
    Confirm,
    LastBreak,
    Names,
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_look_that_is_not_answered_says_so(
    #[values(Lost::Request, Lost::Answer)] lost: Lost,
    #[values(Look::Observe, Look::Inspect, Look::Confirm, Look::LastBreak, Look::Names)] look: Look,
) {
    let scene = Scene::start().await;
    let broken = scene.bob_takes("a").await.holding;
    let note = BreakNote::new("bob", "to see");
    scene.bob.break_record(&broken.name, broken.nonce, &note).await.expect("an answer");
    let mine = scene.bob_takes("a").await.holding;

    // Whether it sees what is there.
    let sees = || async {
        let (ann, name) = (&scene.ann, &mine.name);
        let is_mine = |seen: Snapshot| seen.exclusive.is_some_and(|it| it.nonce == mine.nonce);
        Ok(match look {
            Look::Observe => is_mine(ann.observe(name).await?),
            Look::Inspect => is_mine(ann.inspect(name).await?),
            Look::Confirm => ann.confirm(&mine).await? == Confirmed::Held { drain: false },
            Look::LastBreak => ann.last_break(name).await?.is_some_and(|it| it.why == note.why),
            Look::Names => ann.names().await? == [name.clone()],
        })
    };
    // A list may be long, and has time for more answers than one.
    let bound = if matches!(look, Look::Names) { BOUND * 4 } else { BOUND };
    scene.fails(lost, "find", bound, sees).await;
    assert!(again(sees).await, "it is there as before");
}

/// The same write again is the same, and not made any more once somebody has followed.
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_update_may_be_made_again(#[values(Lost::Request, Lost::Answer)] lost: Lost) {
    let scene = Scene::start().await;
    let program = scene.program().await;
    let data = Fenced::new(scene.data(&program));
    scene.data(&program).insert_one(doc! { "_id": 1, "by": "nobody" }).await.expect("an answer");
    let process = scene.process(Duration::from_secs(60));
    let anns = process.exclusive("store").acquire().await.expect("it is free");
    let proof = anns.confirm().await.expect("she holds");

    let by = |who: &str| doc! { "$set": { "by": who } };
    let write = || data.update_one(&proof, doc! { "_id": 1 }, by("ann"));
    scene.fails(lost, "update", BOUND, write).await;
    assert_eq!(again(write).await, Write::Done);
    anns.release().await.expect("an answer");
    let bobs = process.exclusive("store").acquire().await.expect("it is free");
    let bobs = bobs.confirm().await.expect("he holds");
    let written = data.update_one(&bobs, doc! { "_id": 1, "by": "ann" }, by("bob")).await;
    assert_eq!(written.expect("an answer"), Write::Done);
    let late = write().await.expect("an answer");
    assert_eq!(late, Write::Refused { highest: bobs.token() });
}

/// An answer inside a transaction is lost: it is run again as a whole, and committed once.
#[rstest]
#[case::that_the_lease_is_there("update")]
#[case::of_the_work("insert")]
#[case::of_the_commit("commitTransaction")]
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_whose_answer_is_lost_is_made_once(#[case] command: &str) {
    let scene = Scene::start().await;
    let program = scene.program().await;
    let data = scene.data(&program);
    data.insert_one(doc! { "by": "nobody" }).await.expect("an answer");
    let lease = scene.process(Duration::from_secs(60)).exclusive("store").acquire().await;
    let lease = lease.expect("it is free");

    scene.proxy.lose_answer_to(command, Spoil::Reset);
    let written = scene.bob.transaction(&program, &lease, |session| {
        let data = data.clone();
        Box::pin(
            async move { data.insert_one(doc! { "by": "ann" }).session(session).await.map(drop) },
        )
    });
    written.await.expect("she holds").expect("it was written");
    assert!(!scene.proxy.is_armed(), "the answer must have been lost");
    assert_eq!(scene.written().await, 2, "it counts once");
    lease.confirm().await.expect("she holds on");
}

/// The network goes in the middle of the work: it ends with the belief, and nothing was written. The
/// server, which was not told, keeps the transaction and with it the name, until somebody ends it.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_loses_its_network_writes_nothing() {
    let ttl = Duration::from_secs(3);
    let scene = Scene::start().await;
    let program = scene.program().await;
    let data = scene.data(&program);
    data.insert_one(doc! { "by": "nobody" }).await.expect("an answer");
    let process = scene.process(ttl);
    let lease = process.exclusive("store").acquire().await.expect("it is free");

    let asked = SystemClock.now();
    let mut left = None;
    let written = scene.bob.transaction(&program, &lease, |session| {
        scene.proxy.black_hole();
        left = Some(session.id().clone());
        let data = data.clone();
        Box::pin(
            async move { data.insert_one(doc! { "by": "ann" }).session(session).await.map(drop) },
        )
    });
    let told = written.await;
    let is_told = matches!(told, Err(Error::Lost { .. } | Error::Unavailable { .. }));
    assert!(is_told, "it was not written: {told:?}");
    let took = SystemClock.now().since(asked);
    assert!(took < ttl + Duration::from_secs(1), "it must end with the belief, not after {took:?}");

    scene.proxy.heal();
    let shell = shell(&url(&scene.database).replace("&timeoutMS=10000", "")).await;
    let ends = doc! { "killSessions": [left.expect("it was begun")] };
    shell.database("admin").run_command(ends).await.expect("an answer");
    let next = process.exclusive("store").wait(PATIENCE).acquire().await.expect("it ends");
    assert!(next.epoch() > lease.epoch());
    assert_eq!(scene.written().await, 1, "nothing was written");
}
