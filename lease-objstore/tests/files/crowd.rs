//! More files than fit a page of anybody's listing.

use std::time::Duration;

use lease_core::backend::Taken;
use lease_core::clock::{Clock, SystemClock};
use lease_core::{Backend, Claim, Mode, Nonce, Policy};
use lease_objstore::{Options, connect};

use crate::people::{acquire, claim, exclusive};

/// A crash of twelve hundred writers, and one that lives and comes last in every listing: an
/// exclusive clears the dead away and waits for the living.
#[tokio::test]
async fn the_last_of_many_is_not_overlooked() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options::local(folder.path()).durable(false);
    let dead = connect(options()).await.unwrap();
    let short = Duration::from_millis(200);
    for _ in 0..1200 {
        dead.register(&claim(Mode::Writer, short)).await.unwrap();
    }
    let ann = connect(options()).await.unwrap();
    let nonce = Nonce::from_bytes([0xff; 16]);
    let living = Claim { nonce, ..claim(Mode::Writer, Duration::from_secs(600)) };
    let anns = acquire(&ann, &living).await.holding;
    SystemClock.sleep_until(SystemClock.now().plus(short * 2)).await;

    let bob = connect(options()).await.unwrap();
    let claim = Claim { ttl: Duration::from_secs(600), ..exclusive() };
    let policy = Policy::expired();
    let Taken::Draining(draining) = bob.take(&claim, None, &policy).await.unwrap() else {
        panic!("a writer lives")
    };
    assert_eq!(draining.waiting_for.writers, 1, "the dead are cleared away in one round");
    assert!(
        ann.confirm(&anns)
            .await
            .is_ok_and(|held| { held == lease_core::backend::Confirmed::Held { drain: true } })
    );

    ann.withdraw(&anns).await.unwrap();
    let taken = bob.take(&claim, Some(&draining), &policy).await.unwrap();
    assert!(matches!(taken, Taken::Granted(_)), "{taken:?}");
}
