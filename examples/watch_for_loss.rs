//! Work that stops when its lease is lost, and a check before each step.
//!
//! `cargo run --example watch_for_loss`
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use leasehold::memory::Memory;
use leasehold::{BreakNote, Coordinator, Error};

#[tokio::main(flavor = "current_thread")]
async fn main() -> leasehold::Result<()> {
    let leases = Coordinator::new(Arc::new(Memory::new()));
    let lease = leases.exclusive("reindex").acquire().await?;

    for step in 1..=3 {
        // Cheap: asks this process's clock. `guard` asks the store as well, right before a write.
        lease.check()?;
        println!("step {step}");
        if step == 2 {
            let note = BreakNote::new("an operator", "to show what happens");
            leases.break_record(lease.name(), lease.nonce(), &note).await?;
            break;
        }
    }
    match lease.guard(|_| async { println!("never printed") }).await {
        Err(Error::Lost { reason, .. }) => println!("stopped: the lease was {reason}"),
        other => println!("unexpected: {other:?}"),
    }
    Ok(())
}
