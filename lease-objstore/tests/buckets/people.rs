//! People at a bucket.

use std::sync::Arc;
use std::time::Duration;

use lease_core::backend::{Joined, Taken};
use lease_core::{Backend, Claim, Grant, HolderInfo, Jitter, Mode, Name, Policy};

/// The ttl of whoever does not say otherwise.
pub(crate) const TTL: Duration = Duration::from_secs(60);

pub(crate) fn name() -> Name {
    Name::parse("payroll").unwrap()
}

/// One attempt to hold [`name`].
pub(crate) fn claim(mode: Mode) -> Claim {
    let info = Arc::new(HolderInfo::of_this_process().label("ann").build().unwrap());
    Claim { name: name(), nonce: Jitter::system().nonce(), mode, ttl: TTL, info }
}

/// A grant, or a panic.
pub(crate) async fn acquire(store: &dyn Backend, claim: &Claim) -> Grant {
    match claim.mode {
        Mode::Writer => match store.join(claim, &Policy::expired()).await.unwrap() {
            Joined::Granted(grant) => grant,
            Joined::Refused(by) => panic!("nobody is in the way: {by:?}"),
        },
        Mode::Exclusive => match store.take(claim, None, &Policy::expired()).await.unwrap() {
            Taken::Granted(grant) => grant,
            other => panic!("nobody is in the way: {other:?}"),
        },
    }
}
