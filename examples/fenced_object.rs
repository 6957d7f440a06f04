//! A pointer to the latest snapshot that only the latest holder can move.
//!
//! `cargo run --example fenced_object`; in a bucket, with its feature, on `s3://bucket/prefix`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;
use std::time::Duration;

use leasehold::clock::ManualClock;
use leasehold::keeper::{Driven, KeeperMode};
use leasehold::objstore::{Fenced, FencedWrite, Options, connect};
use leasehold::{Coordinator, Error};

#[tokio::main(flavor = "current_thread")]
async fn main() -> leasehold::Result<()> {
    // An object store in memory on a clock in our hand, so that a stall takes no time here. A real one:
    // `Options::parse("s3://backups/leases?region=eu-central-1")?`.
    let clock = ManualClock::new();
    let options = Options::memory().clock(Arc::new(clock.clone()));
    let store = Arc::new(connect(options.clone()).await?);
    let instance = || {
        Coordinator::builder(store.clone())
            .clock(Arc::new(clock.clone()))
            .keeper(KeeperMode::Driven(Driven::new()))
            .build()
    };
    let latest = Fenced::new(options.object_store().await?, "snapshots/latest");

    // Each new holder announces itself at the object before it works.
    let first = instance().exclusive("backup").acquire().await?;
    first.announce(&latest).await?;
    let fence = first.confirm().await?;
    assert_eq!(latest.write(&fence, "2026-11-29T02:00").await?, FencedWrite::Done);

    // It stalls with its next write on its way, and an operator takes it for dead.
    let note = leasehold::BreakNote::new("ann", "it hangs");
    leasehold::Backend::break_record(&*store, first.name(), first.nonce(), &note).await?;
    clock.advance(Duration::from_secs(1));
    let second = instance().exclusive("backup").acquire().await?;
    second.announce(&latest).await?;

    // The late write is refused by the object itself, and the first learns of its loss.
    let late = latest.write(&fence, "2026-11-30T02:00, by the one that hung").await?;
    assert_eq!(late, FencedWrite::Refused { highest: second.token() });
    assert!(matches!(first.confirm().await, Err(Error::Lost { .. })));

    let fence = second.confirm().await?;
    latest.write(&fence, "2026-11-30T02:00").await?;
    println!("{}", String::from_utf8_lossy(&latest.read().await?.unwrap_or_default()));
    Ok(())
}
