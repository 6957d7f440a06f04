//! What a coordinator keeps in mind of its leases.

use super::*;
use crate::memory::Memory;

/// A process that writes under ever other names, or often under one, does not grow by that.
#[tokio::test]
async fn forgets_the_writers_that_are_gone() {
    let leases =
        Coordinator::builder(Arc::new(Memory::new())).keeper(KeeperMode::CurrentRuntime).build();
    let often = leases.writer("often").acquire().await.unwrap();
    for n in 0..1000 {
        for name in [&format!("name {n}"), "often"] {
            leases.writer(name).acquire().await.unwrap().release().await.unwrap();
        }
    }

    let writers = leases.parts.writers.lock().unwrap();
    assert!(writers.len() < 10, "{} names", writers.len());
    assert!(writers.values().all(|leases| leases.len() <= 2), "{writers:?}");
    drop(often);
}
