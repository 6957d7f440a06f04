//! A backend of one's own is a value: here one that logs, around another.
//!
//! `cargo run --example own_backend` uses it, and `cargo test --example own_backend` runs the whole
//! conformance suite on it: whatever passes that may be used anywhere another backend is.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use async_trait::async_trait;
use leasehold::backend::{
    Backend, Broken, Committed, Confirmed, Evicted, Installed, Registered, Renewed, Withdrawn,
};
use leasehold::memory::Memory;
use leasehold::{
    BreakNote, Capabilities, Claim, Coordinator, HolderInfo, Holding, Judged, Name, Nonce, Result,
    Snapshot, Target,
};

#[derive(Debug)]
struct Logged(Memory);

#[async_trait]
impl Backend for Logged {
    fn kind(&self) -> &'static str {
        "logged"
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities().with_push(false)
    }

    async fn observe(&self, name: &Name) -> Result<Snapshot> {
        println!("observe {name}");
        self.0.observe(name).await
    }

    async fn inspect(&self, name: &Name) -> Result<Snapshot> {
        self.0.inspect(name).await
    }

    async fn register(&self, claim: &Claim) -> Result<Registered> {
        println!("register a writer of {}", claim.name);
        self.0.register(claim).await
    }

    async fn install(
        &self,
        claim: &Claim,
        seen: &Snapshot,
        over: Option<(&Target, Judged)>,
    ) -> Result<Installed> {
        println!("install an exclusive of {}", claim.name);
        self.0.install(claim, seen, over).await
    }

    async fn commit(&self, mine: &Holding) -> Result<Committed> {
        println!("commit");
        self.0.commit(mine).await
    }

    async fn renew(&self, mine: &[Holding]) -> Vec<Result<Renewed>> {
        self.0.renew(mine).await
    }

    async fn confirm(&self, mine: &Holding) -> Result<Confirmed> {
        self.0.confirm(mine).await
    }

    async fn withdraw(&self, mine: &Holding) -> Result<Withdrawn> {
        println!("withdraw");
        self.0.withdraw(mine).await
    }

    async fn evict(&self, name: &Name, target: &Target, judged: Judged) -> Result<Evicted> {
        self.0.evict(name, target, judged).await
    }

    async fn break_record(&self, name: &Name, nonce: Nonce, note: &BreakNote) -> Result<Broken> {
        self.0.break_record(name, nonce, note).await
    }

    async fn last_break(&self, name: &Name) -> Result<Option<BreakNote>> {
        self.0.last_break(name).await
    }

    async fn adopt(&self, mine: &Holding, info: &HolderInfo) -> Result<Renewed> {
        self.0.adopt(mine, info).await
    }

    async fn names(&self) -> Result<Vec<Name>> {
        self.0.names().await
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let leases = Coordinator::new(Arc::new(Logged(Memory::new())));
    let lease = leases.exclusive("nightly").acquire().await?;
    println!("held under epoch {}", lease.epoch());
    lease.release().await?;
    Ok(())
}

/// What the suite needs to know of a store: how to reach it, and how to do what only its owner can.
#[cfg(test)]
mod suite {
    use lease_conformance::{Damage, Fixture};
    use leasehold::clock::{Clock, ManualClock};
    use leasehold::layer::{Fault, Faulty};
    use leasehold::{Effect, Unreadable};

    use super::*;

    struct Bench(Memory, ManualClock);

    #[async_trait]
    impl Fixture for Bench {
        async fn start() -> Self {
            let clock = ManualClock::new();
            Self(Memory::with_clock(Arc::new(clock.clone())), clock)
        }

        async fn connect(&self) -> Arc<dyn Backend> {
            Arc::new(Logged(self.0.clone()))
        }

        async fn unreachable(&self) -> Arc<dyn Backend> {
            let layer = Faulty::new(self.connect().await);
            layer.all(Fault::fails(Effect::Nothing));
            Arc::new(layer)
        }

        async fn read_only(&self) -> Option<Arc<dyn Backend>> {
            None
        }

        async fn erase(&self, name: &Name) {
            self.0.erase(name);
        }

        async fn damage(&self, name: &Name, nonce: Nonce, damage: Damage) {
            match damage {
                Damage::UnknownField => {}
                Damage::NewerVersion => self.0.garble(name, nonce, Unreadable::NewerVersion(99)),
                other => self.0.garble(name, nonce, Unreadable::Corrupt(format!("{other:?}"))),
            }
        }

        async fn records(&self, name: &Name) -> usize {
            self.0.records(name)
        }

        fn clock(&self) -> Arc<dyn Clock> {
            Arc::new(self.1.clone())
        }

        async fn pass(&self, time: std::time::Duration) {
            self.1.advance(time);
        }
    }

    lease_conformance::suite!(Bench);

    #[test]
    fn the_example_runs() -> Result<()> {
        main()
    }
}
