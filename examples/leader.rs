//! One of several instances leads; when it ends, the next one takes over.
//!
//! `cargo run --example leader`
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> leasehold::Result<()> {
    // In production: "file:///mnt/shared/leases", the same on every machine.
    let leases = leasehold::connect("memory:").await?;
    let lead = |instance: &'static str| {
        let leases = leases.clone();
        async move {
            let lease = leases.exclusive("leader").wait(Duration::from_secs(60)).acquire().await?;
            println!("{instance} leads, epoch {}", lease.epoch());
            tokio::select! {
                () = work() => println!("{instance} is done"),
                reason = lease.lost() => println!("{instance} has to stop: {reason}"),
            }
            lease.release().await
        }
    };
    let (first, second) = tokio::join!(lead("the first"), lead("the second"));
    first?;
    second?;
    Ok(())
}

async fn work() {
    tokio::task::yield_now().await;
}
