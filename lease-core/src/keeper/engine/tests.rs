//! What the engine tells its leases.

use futures::future::join_all;

use super::*;
use crate::clock::ManualClock;
use crate::memory::Memory;
use crate::{Claim, Grant, Mode, Name, Policy};

const ID: LeaseId = LeaseId(1);

/// A lease's own requests, such as its next confirm, name the write that was acknowledged last: there
/// are stores that compare it.
#[tokio::test]
async fn a_lease_knows_its_last_acknowledged_write() {
    let clock = ManualClock::new();
    let (backend, clock_of_all): (Arc<dyn Backend>, Arc<dyn Clock>) =
        (Arc::new(Memory::with_clock(Arc::new(clock.clone()))), Arc::new(clock.clone()));
    let claim = Claim {
        name: Name::parse("job").unwrap(),
        nonce: Jitter::seeded(1).nonce(),
        mode: Mode::Writer,
        ttl: Timing::DEFAULT_TTL,
        info: Arc::default(),
    };
    let sent = clock.now();
    let joined = backend.join(&claim, &Policy::expired()).await.unwrap();
    let crate::backend::Joined::Granted(grant) = joined else { panic!("{joined:?}") };
    let Grant { holding, epoch, took_over } = grant;
    let until = sent.plus(Timing::DEFAULT_TTL);
    let grant = Grant { holding: holding.clone(), epoch, took_over };
    let shared = Arc::new(Shared::new(grant, clock_of_all.clone(), until, sent));
    let mut engine = Engine::new(backend.clone(), clock_of_all, Jitter::seeded(2));
    engine.add(ID, shared.clone(), Timing::default(), sent);
    assert_eq!(shared.holding(), holding);

    clock.advance(Timing::default().renew_every());
    for answers in join_all(engine.begin()).await {
        engine.finish(answers);
    }

    let seen = backend.observe(&claim.name).await.unwrap();
    assert_eq!(shared.holding().acknowledged, 1);
    assert_eq!(shared.holding().revision, seen.writers[0].revision);
}
