//! A long cable: every byte arrives later, and none waits for another.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lease_core::Clock;
use lease_core::clock::{Moment, SystemClock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// The URL of a server that is this far away, one way.
pub async fn far(server: &str, away: Duration) -> String {
    let server: SocketAddr = server.trim_start_matches("nats://").parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(server).await.unwrap();
            for end in [&near, &far] {
                end.set_nodelay(true).unwrap();
            }
            let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
            carry(from_near, to_far, away);
            carry(from_far, to_near, away);
        }
    });
    url
}

fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, away: Duration) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let (sender, mut cable) = mpsc::unbounded_channel::<(Moment, Vec<u8>)>();
    let start = Arc::clone(&clock);
    tokio::spawn(async move {
        let mut piece = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            let arrives = start.now().plus(away);
            if sender.send((arrives, piece[..length].to_vec())).is_err() {
                return;
            }
        }
    });
    tokio::spawn(async move {
        while let Some((arrives, piece)) = cable.recv().await {
            clock.sleep_until(arrives).await;
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
    });
}
