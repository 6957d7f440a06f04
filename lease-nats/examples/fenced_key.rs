//! The node that holds a lease may write a key, and no other, not even late.
//!
//! `cargo run -p lease-nats --example fenced_key -- nats://localhost:4222/leases`, with a bucket
//! `reports` on the same servers: `nats kv add reports`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;
use std::time::Duration;

use lease_core::{Coordinator, Result};
use lease_nats::{Options, Write, connect};

#[tokio::main]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "nats://localhost:4222".to_owned());
    let store = connect(Options::parse(url)?).await?;
    let leases = Coordinator::new(Arc::new(store.clone()));
    let report = store.fenced_key("reports", "today");

    let lease = leases.exclusive("report").wait(Duration::from_secs(60)).acquire().await?;
    println!("granted under epoch {}", lease.epoch());
    // From here on nothing that an earlier holder has sent gets through.
    lease.announce(&report).await?;
    let write = lease.guard(|fence| async move { report.write(&fence, "all is well").await });
    match write.await?? {
        Write::Stored { sequence } => println!("written as message {sequence}"),
        Write::Refused { highest } => println!("a later holder was here, with token {highest}"),
    }
    lease.release().await?;
    Ok(())
}
