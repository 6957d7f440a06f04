//! The same job on several machines, started by their clocks: one runs it, the others leave it.
//!
//! `cargo run --example cron_guard -- file:///tmp/leases`. In a crontab `lease run` does this without
//! a line of code.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use leasehold::clock::SystemClock;
use leasehold::{Clock, Coordinator, Error, Fence};

#[tokio::main(flavor = "current_thread")]
async fn main() -> leasehold::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let leases = leasehold::connect(&url).await?;
    let (ran, left) = tokio::join!(machine(&leases, "one"), machine(&leases, "two"));
    let ran = [ran?, left?].into_iter().filter(|ran| *ran).count();
    println!("{ran} of 2 ran it");
    Ok(())
}

/// What each machine does at three o'clock; whether it was this one that ran the job.
async fn machine(leases: &Coordinator, name: &str) -> leasehold::Result<bool> {
    // No wait: whoever comes second has nothing to do. The job is dropped if the lease is lost.
    match leases.exclusive("nightly-report").run_while_held(report).await {
        Ok(()) => Ok(true),
        Err(Error::Held { .. }) => {
            println!("{name}: another machine does it");
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// The job: it takes a second.
async fn report(fence: Fence) {
    SystemClock.sleep_until(SystemClock.now().plus(Duration::from_secs(1))).await;
    println!("the report is written under epoch {}", fence.epoch());
}
