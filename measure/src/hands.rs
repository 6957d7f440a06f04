//! A lease's steps, taken straight at a store: nobody keeps it, and no coordinator is in between.
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has nothing to say")]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use lease_core::backend::{Confirmed, Joined, Renewed, Taken};
use lease_core::{Backend, Claim, HolderInfo, Holding, Jitter, Mode, Name, Policy};

/// No bench lasts so long: what is held stays held without being renewed.
const TTL: Duration = Duration::from_secs(3600);

/// Who we are, read from the system once, as a coordinator does.
static INFO: LazyLock<Arc<HolderInfo>> =
    LazyLock::new(|| Arc::new(HolderInfo::of_this_process().label("bench").build().unwrap()));

/// Made once, as a coordinator does.
static JITTER: LazyLock<Jitter> = LazyLock::new(Jitter::system);

/// Acquires a lease that nobody is in the way of.
///
/// # Panics
///
/// If it is not granted at once.
pub async fn acquire(store: &dyn Backend, name: &str, mode: Mode) -> Holding {
    let claim = Claim {
        name: Name::parse(name).unwrap(),
        nonce: JITTER.nonce(),
        mode,
        ttl: TTL,
        info: Arc::clone(&INFO),
    };
    match mode {
        Mode::Writer => match store.join(&claim, &Policy::expired()).await.unwrap() {
            Joined::Granted(grant) => grant.holding,
            other => panic!("it is free: {other:?}"),
        },
        Mode::Exclusive => match store.take(&claim, None, &Policy::expired()).await.unwrap() {
            Taken::Granted(grant) => grant.holding,
            other => panic!("it is free: {other:?}"),
        },
    }
}

/// Renews them together.
///
/// # Panics
///
/// If one of them is lost.
pub async fn renew(store: &dyn Backend, held: &mut [Holding]) {
    let due: Vec<Holding> = held.iter().map(Holding::next_beat).collect();
    let answers = store.renew(&due).await;
    assert_eq!(answers.len(), due.len(), "each has its answer");
    for ((held, due), answer) in held.iter_mut().zip(due).zip(answers) {
        match answer.unwrap() {
            Renewed::Renewed { revision, .. } => *held = due.acknowledged(revision),
            Renewed::Lost(reason) => panic!("it is held: {reason:?}"),
        }
    }
}

/// Asks the store whether it is held.
///
/// # Panics
///
/// If it is not.
pub async fn confirm(store: &dyn Backend, held: &Holding) {
    let answer = store.confirm(held).await.unwrap();
    assert!(matches!(answer, Confirmed::Held { .. }), "{answer:?}");
}

/// Acquires it and releases it again.
///
/// # Panics
///
/// If it is not free.
pub async fn cycle(store: &dyn Backend, name: &str, mode: Mode) {
    let held = acquire(store, name, mode).await;
    store.withdraw(&held).await.unwrap();
}
