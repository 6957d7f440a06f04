//! Measures what taking and releasing costs in a folder of one's own disk.
//!
//! ```console
//! $ cargo run --release --package lease-objstore --example cycle -- /mnt/shared
//! ```

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use lease_core::backend::{Joined, Taken};
use lease_core::clock::{Clock, SystemClock};
use lease_core::{Backend, Claim, HolderInfo, Jitter, Mode, Name, Policy};
use lease_objstore::{Options, connect};

const ROUNDS: usize = 400;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "it is what the program is for")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    std::fs::create_dir_all(&folder)?;
    for durable in [true, false] {
        for mode in [Mode::Exclusive, Mode::Writer] {
            let inside = tempfile::tempdir_in(&folder)?;
            let store = connect(Options::local(inside.path()).durable(durable)).await?;
            let mut times = Vec::with_capacity(ROUNDS);
            for _ in 0..ROUNDS {
                times.push(cycle(&store, mode).await?);
            }
            times.sort_unstable();
            let (half, most) = (times[ROUNDS / 2], times[ROUNDS * 99 / 100]);
            println!("durable={durable} {mode}: half within {half:.0?}, 99 % within {most:.0?}");
        }
    }
    Ok(())
}

/// Takes and releases once.
async fn cycle(store: &dyn Backend, mode: Mode) -> Result<Duration, Box<dyn Error>> {
    let info = Arc::new(HolderInfo::default());
    let nonce = Jitter::system().nonce();
    let claim =
        Claim { name: Name::parse("cycle")?, nonce, mode, ttl: Duration::from_secs(15), info };
    let start = SystemClock.now();
    let grant = match mode {
        Mode::Writer => match store.join(&claim, &Policy::expired()).await? {
            Joined::Granted(grant) => grant,
            Joined::Refused(by) => return Err(by.to_string().into()),
        },
        Mode::Exclusive => match store.take(&claim, None, &Policy::expired()).await? {
            Taken::Granted(grant) => grant,
            other => return Err(format!("{other:?}").into()),
        },
    };
    store.withdraw(&grant.holding).await?;
    Ok(SystemClock.now().since(start))
}
