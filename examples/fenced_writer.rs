//! What only the resource can do: turn away a holder that stalled, by its token.
//!
//! `cargo run --example fenced_writer`
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;
use std::time::Duration;

use leasehold::clock::ManualClock;
use leasehold::keeper::{Driven, KeeperMode};
use leasehold::memory::Memory;
use leasehold::{Admission, Coordinator, Fence, Gate};

/// A file, a table, a bucket: it keeps the highest token it has seen, and refuses lower ones.
#[derive(Default)]
struct Ledger {
    gate: Gate,
    lines: Vec<String>,
}

impl Ledger {
    fn write(&mut self, fence: &Fence, line: &str) -> bool {
        let admitted = self.gate.admit(fence) == Admission::Admitted;
        if admitted {
            self.lines.push(line.to_owned());
        }
        admitted
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> leasehold::Result<()> {
    // A store on a clock in our hand, so that a stall takes no time here.
    let clock = ManualClock::new();
    let store = Arc::new(Memory::with_clock(Arc::new(clock.clone())));
    let instance = || {
        Coordinator::builder(store.clone())
            .clock(Arc::new(clock.clone()))
            .keeper(KeeperMode::Driven(Driven::new()))
            .build()
    };
    let mut ledger = Ledger::default();

    // Each new holder announces its token before it works, so that nothing older gets in after.
    let first = instance().exclusive("ledger").acquire().await?;
    let fence = first.announce(&ledger.gate).await?;
    assert!(ledger.write(&fence, "written by the first"));

    // It stalls for a minute with this write on its way; the second takes over.
    clock.advance(Duration::from_secs(60));
    let second = instance().exclusive("ledger").acquire().await?;
    let newer = second.announce(&ledger.gate).await?;
    assert!(ledger.write(&newer, "written by the second"));

    // The late write is refused, and the first learns of its loss.
    assert!(!ledger.write(&fence, "too late"));
    assert!(first.check().is_err());
    println!("{}", ledger.lines.join("\n"));
    Ok(())
}
