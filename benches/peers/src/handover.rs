//! How fast etcd's lock goes from one session to another that waits for it.

use std::time::Duration;

use etcd_client::Client;

use crate::etcd::Session;
use crate::orders::{Failure, Mode, Peer, now};

/// etcd looks every 100 ms for watchers that have just begun, and tells the others at once. A waiter
/// that is told by that look would measure it and not the handover.
const SETTLED: Duration = Duration::from_millis(300);

/// Two clients, each with a connection of its own.
pub(crate) struct Handover([Client; 2]);

impl Handover {
    pub(crate) async fn connect(endpoint: &str) -> Result<Self, Failure> {
        let [one, other] = [Client::connect([endpoint], None), Client::connect([endpoint], None)];
        Ok(Self([one.await?, other.await?]))
    }
}

impl Peer for Handover {
    /// The time of all handovers, each from before the unlock is sent until the other knows that it
    /// holds the lock. What makes the other wait is not counted.
    async fn cycles(&mut self, mode: Mode, count: u32) -> Result<Option<Duration>, Failure> {
        let Mode::Exclusive = mode else { return Ok(None) };
        let [one, other] = &self.0;
        let (mut holder, mut waiter) = (Session::open(one).await?, Session::open(other).await?);
        let mut key = holder.lock().await?;
        let mut took = Duration::ZERO;
        for _ in 0..count {
            let mut session = waiter.clone();
            let waiting = tokio::spawn(async move { (session.lock().await, now()) });
            while holder.queued().await? < 2 && !waiting.is_finished() {}
            settle().await;
            let start = now();
            holder.unlock(key).await?;
            let (granted, at) = waiting.await?;
            key = granted?;
            took += at.checked_duration_since(start).ok_or("both held the lock at once")?;
            std::mem::swap(&mut holder, &mut waiter);
        }
        holder.unlock(key).await?;
        holder.close().await?;
        waiter.close().await?;
        Ok(Some(took))
    }
}

#[expect(clippy::disallowed_methods, reason = "the server shows nothing that could be awaited")]
async fn settle() {
    tokio::time::sleep(SETTLED).await;
}
