//! A step of the handshake that may or may not have taken place.

use std::sync::Arc;

use lease_core::keeper::{Driven, KeeperMode};
use lease_core::layer::{Fault, Faulty, Method};
use lease_core::{Acquire, Backend, Coordinator, Effect, Error, Freshness, Timing};
use rstest::rstest;

use crate::world::{JOB, SECOND, World, job};

/// The step that makes a record, and who takes it.
#[derive(Clone, Copy, Debug)]
enum First {
    Register,
    Install,
}

impl First {
    fn method(self) -> Method {
        match self {
            Self::Register => Method::Register,
            Self::Install => Method::Install,
        }
    }

    fn ask(self, person: &Coordinator) -> Acquire {
        match self {
            Self::Register => person.writer(JOB),
            Self::Install => person.exclusive(JOB),
        }
    }
}

/// What the store refuses clearly did not take place: it is told at once, without a second look,
/// and not tried again by one who would wait.
#[rstest]
#[tokio::test(start_paused = true)]
async fn is_not_what_a_refusal_is(#[values(First::Register, First::Install)] first: First) {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let mode = KeeperMode::CurrentRuntime;
    let ann = world.person_at("ann", SECOND * 3, Arc::new(network.clone()), mode);
    network.next(first.method(), Fault::error(|| Error::misconfigured("no rights", "grant them")));
    let start = world.now();

    let refused = first.ask(&ann).wait(SECOND * 20).acquire().await;

    assert!(matches!(refused, Err(Error::Misconfigured { .. })), "{refused:?}");
    assert_eq!((world.now(), network.calls(Method::Observe)), (start, 1));
}

/// The first try made a record and never heard of it. The second one must not take that record for
/// its own: it would believe, from its own start on, in what began to run out long before. (Rule
/// R7.)
#[rstest]
#[tokio::test(start_paused = true)]
async fn lends_its_record_to_no_later_try(#[values(First::Register, First::Install)] first: First) {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let nobody_renews = KeeperMode::Driven(Driven::new());
    let ann = world.person_at("ann", SECOND * 3, Arc::new(network.clone()), nobody_renews);
    network.next(first.method(), Fault::hangs_after());

    let lease = first.ask(&ann).wait(SECOND * 20).acquire().await.unwrap();

    let seen = world.store.observe(&job()).await.unwrap();
    let record = seen.record(lease.nonce()).unwrap();
    let Freshness::Fresh { left } = record.freshness else { panic!("it is over: {record:?}") };
    assert!(lease.remaining() < left, "{:?} of belief, {left:?} of life", lease.remaining());
}

/// While an exclusive drains, one of its renewals fails and the answer to the next is lost. It
/// keeps its place: the same record goes on keeping new writers out.
#[tokio::test(start_paused = true)]
async fn does_not_cost_a_draining_exclusive_its_place() {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let mode = KeeperMode::CurrentRuntime;
    let ann = world.person_at("ann", SECOND * 3, Arc::new(network.clone()), mode);
    let writer = world.person("writer", SECOND * 3).writer(JOB).acquire().await.unwrap();
    let draining = tokio::spawn(ann.exclusive(JOB).wait(SECOND * 60).acquire());
    world.pass(SECOND / 100).await;
    let nonce = world.draining().await;

    network.next(Method::Renew, Fault::fails(Effect::Unknown));
    network.next(Method::Renew, Fault::answer_lost());
    world.pass(SECOND * 3).await;
    assert!(network.calls(Method::Renew) > 2);
    assert_eq!(world.draining().await, nonce);

    writer.release().await.unwrap();
    assert_eq!(draining.await.unwrap().unwrap().nonce(), nonce);
}

/// A renewal of the drain takes longer than the record lives, and a new writer clears the record
/// away. No operator was at work, so whoever waits begins again and is not told of a loss.
#[tokio::test(start_paused = true)]
async fn that_outlasts_the_drain_lets_it_begin_again() {
    let world = World::new();
    let network = Faulty::new(Arc::new(world.store.clone()));
    let mode = KeeperMode::CurrentRuntime;
    let ann = world.person_at("ann", SECOND * 10, Arc::new(network.clone()), mode);
    let patient = Timing::with_ttl(SECOND * 10)
        .call_timeout(SECOND * 10)
        .poll(SECOND * 2, SECOND * 2)
        .build()
        .unwrap();
    let first = world.person("first", SECOND * 60).writer(JOB).acquire().await.unwrap();
    // Sent a second or two after the last one, it arrives after those ten seconds.
    let late = Fault::late_request(Arc::new(world.clock), SECOND * 94 / 10);
    network.next(Method::Renew, late);
    let draining = tokio::spawn(ann.exclusive(JOB).timing(patient).wait(SECOND * 60).acquire());
    world.pass(SECOND).await;
    let nonce = world.draining().await;

    let later = world.person("later", SECOND).writer(JOB).wait(SECOND * 20).acquire().await;
    assert!(world.store.observe(&job()).await.unwrap().exclusive.is_none());
    world.pass(SECOND * 2).await;
    first.release().await.unwrap();
    later.unwrap().release().await.unwrap();

    assert_ne!(draining.await.unwrap().unwrap().nonce(), nonce);
}

impl World {
    /// The exclusive that drains.
    async fn draining(&self) -> lease_core::Nonce {
        self.store.observe(&job()).await.unwrap().exclusive.unwrap().nonce
    }
}
