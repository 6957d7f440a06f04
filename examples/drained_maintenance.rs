//! Many writers at once, until maintenance needs the place for itself: it lets no new writer in, waits
//! for those that are there, and works alone.
//!
//! `cargo run --example drained_maintenance -- file:///tmp/leases`
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use leasehold::{Coordinator, Lease, StoreUrl, Timing};

const NAME: &str = "archive";
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main(flavor = "current_thread")]
async fn main() -> leasehold::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    // Two processes, as it were: one that held the name as a writer would wait for itself.
    let store = StoreUrl::parse(&url)?.open().await?;
    let (writers, maintenance) = (Coordinator::new(store.clone()), Coordinator::new(store));
    // Writers learn with their next renewal that somebody waits: here after a second.
    let timing = Timing::with_ttl(Duration::from_secs(3)).build()?;
    let anns = writers.writer(NAME).timing(timing).acquire().await?;
    let bobs = writers.writer(NAME).timing(timing).acquire().await?;
    println!("two writers, both under epoch {}", anns.epoch());
    tokio::try_join!(
        write_until_asked("ann", anns),
        write_until_asked("bob", bobs),
        maintain(&maintenance),
    )?;
    Ok(())
}

/// Writes piece after piece until an exclusive waits. It learns of that with its next renewal.
async fn write_until_asked(who: &str, lease: Lease) -> leasehold::Result<()> {
    lease.drain_requested().await;
    lease
        .guard(|fence| async move { println!("{who}: last piece, token {}", fence.token()) })
        .await?;
    lease.release().await?;
    Ok(())
}

async fn maintain(leases: &Coordinator) -> leasehold::Result<()> {
    let asked = leases.exclusive(NAME).wait(PATIENCE).on_wait(|waiting| {
        if let (true, Some(by)) = (waiting.draining, waiting.standing) {
            println!("maintenance waits for {} writers", by.writers);
        }
    });
    let lease = asked.acquire().await?;
    println!("maintenance is alone under epoch {}", lease.epoch());
    lease.release().await?;
    Ok(())
}
