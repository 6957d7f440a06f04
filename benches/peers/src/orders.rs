//! The orders and the answers, and what a peer is to whoever drives it.

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// Whatever a peer fails with: none of it is handled, all of it is told.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// How it is to be held.
#[derive(Clone, Copy)]
pub(crate) enum Mode {
    /// By one alone.
    Exclusive,
    /// By many together.
    Writer,
}

/// One maker's lock.
pub(crate) trait Peer {
    /// Goes through so many cycles, one after the other, and says how long all of them took.
    /// None if it has no such mode.
    async fn cycles(&mut self, mode: Mode, count: u32) -> Result<Option<Duration>, Failure>;
}

/// Answers orders until there are no more.
pub(crate) async fn answer(peer: &mut impl Peer) -> Result<(), Failure> {
    for order in stdin().lock().lines() {
        let (mode, count) = parse(&order?)?;
        let answer = match peer.cycles(mode, count.get()).await? {
            Some(took) => format!("{:.9}\n", took.as_secs_f64() / f64::from(count.get())),
            None => "none\n".to_owned(),
        };
        let mut out = stdout().lock();
        out.write_all(answer.as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

fn parse(order: &str) -> Result<(Mode, NonZeroU32), Failure> {
    let unknown =
        || format!("an order is `exclusive COUNT` or `writer COUNT`, and not `{order}`").into();
    let (mode, count) = order.trim().split_once(' ').ok_or_else(unknown)?;
    let mode = match mode {
        "exclusive" => Mode::Exclusive,
        "writer" => Mode::Writer,
        _ => return Err(unknown()),
    };
    Ok((mode, count.parse().map_err(|_| unknown())?))
}

/// How long it takes to do this so often.
pub(crate) async fn time(
    count: u32,
    mut cycle: impl AsyncFnMut() -> Result<(), Failure>,
) -> Result<Duration, Failure> {
    let start = now();
    for _ in 0..count {
        cycle().await?;
    }
    Ok(now() - start)
}

/// The moment by the real clock.
#[expect(clippy::disallowed_methods, reason = "it measures real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A name that no other process of this kind uses at the same time: nobody waits for what a killed
/// one has left.
pub(crate) fn own_name() -> String {
    format!("peers-{}", std::process::id())
}
