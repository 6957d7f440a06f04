//! The faults do what they say.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;

use super::*;
use crate::clock::ManualClock;
use crate::memory::Memory;
use crate::{Effect, Jitter, Mode};

const TTL: Duration = Duration::from_secs(15);

fn name() -> Name {
    Name::parse("faulty").unwrap()
}

fn claim() -> Claim {
    let nonce = Jitter::seeded(1).nonce();
    Claim { name: name(), nonce, mode: Mode::Writer, ttl: TTL, info: Arc::default() }
}

fn store() -> (Memory, Faulty) {
    let memory = Memory::new();
    let faulty = Faulty::new(Arc::new(memory.clone()));
    (memory, faulty)
}

async fn writers(memory: &Memory) -> usize {
    memory.observe(&name()).await.unwrap().writers.len()
}

#[tokio::test]
async fn a_request_that_fails_does_not_take_place() {
    let (memory, faulty) = store();
    faulty.next(Method::Register, Fault::fails(Effect::Unknown));

    let error = faulty.register(&claim()).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { effect: Effect::Unknown, .. }), "{error}");
    assert_eq!(writers(&memory).await, 0);

    // Once was all.
    faulty.register(&claim()).await.unwrap();
    assert_eq!((writers(&memory).await, faulty.calls(Method::Register)), (1, 2));
}

#[tokio::test]
async fn a_lost_answer_is_one_to_a_request_that_took_place() {
    let (memory, faulty) = store();
    faulty.next(Method::Register, Fault::answer_lost());

    let error = faulty.register(&claim()).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { effect: Effect::Unknown, .. }), "{error}");
    assert_eq!(writers(&memory).await, 1);
}

#[tokio::test]
async fn a_fault_of_a_step_hits_the_handshake_that_takes_it() {
    let (memory, faulty) = store();
    faulty.nth(Method::Observe, 2, Fault::fails(Effect::Nothing));

    // The writer has inserted, cannot check, and takes itself out again.
    faulty.join(&claim(), &Policy::expired()).await.unwrap_err();
    assert_eq!((writers(&memory).await, faulty.calls(Method::Withdraw)), (0, 1));
}

#[tokio::test]
async fn a_whole_layer_strikes_the_composite_step_instead() {
    let (_, faulty) = store();
    let faulty = faulty.whole();
    faulty.always(Method::Observe, Fault::fails(Effect::Nothing));
    faulty.join(&claim(), &Policy::expired()).await.unwrap();

    faulty.all(Fault::error(|| Error::misconfigured("no rights", "grant them")));
    let error = faulty.join(&claim(), &Policy::expired()).await.unwrap_err();
    assert!(matches!(error, Error::Misconfigured { .. }), "{error}");
}

#[tokio::test]
async fn an_outage_fails_each_renewal_of_a_batch_and_heals() {
    let (_, faulty) = store();
    let joined = faulty.join(&claim(), &Policy::expired()).await.unwrap();
    let crate::backend::Joined::Granted(grant) = joined else { panic!("refused") };
    let batch = [grant.holding.next_beat(), grant.holding.next_beat()];

    faulty.all(Fault::fails(Effect::Nothing));
    let answers = faulty.renew(&batch).await;
    assert_eq!((answers.len(), answers.iter().all(Result::is_err)), (2, true));

    faulty.heal();
    assert!(faulty.renew(&batch).await.iter().all(Result::is_ok));
}

#[tokio::test]
async fn a_held_call_waits_for_the_test() {
    let (memory, faulty) = store();
    let gate = faulty.hold(Method::Register);
    let mine = claim();
    let mut call = Box::pin(faulty.register(&mine));

    assert!((&mut call).now_or_never().is_none());
    gate.reached().await;
    assert_eq!(writers(&memory).await, 0);

    gate.open();
    call.await.unwrap();
    assert_eq!(writers(&memory).await, 1);
}

#[tokio::test]
async fn a_late_answer_comes_by_the_clock_and_a_hanging_one_never() {
    let clock = ManualClock::new();
    let (memory, faulty) = store();
    let mine = claim();

    faulty.next(Method::Register, Fault::late_answer(Arc::new(clock.clone()), TTL));
    let mut call = Box::pin(faulty.register(&mine));
    assert!((&mut call).now_or_never().is_none());
    assert_eq!(writers(&memory).await, 1);
    clock.advance(TTL);
    call.await.unwrap();

    faulty.next(Method::Observe, Fault::late_request(Arc::new(clock.clone()), TTL));
    let subject = name();
    let mut call = Box::pin(faulty.observe(&subject));
    assert!((&mut call).now_or_never().is_none());
    clock.advance(TTL);
    call.await.unwrap();

    faulty.next(Method::Observe, Fault::hangs());
    faulty.next(Method::Names, Fault::hangs_after());
    assert!(faulty.observe(&name()).now_or_never().is_none());
    assert!(faulty.names().now_or_never().is_none());
}
