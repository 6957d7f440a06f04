//! A web service in several instances: all answer requests, one runs the background job.
//!
//! `cargo run --example axum_service -- file:///tmp/leases`, in two shells: each tells where it
//! listens. `curl` its `/leader`; end the leader with Ctrl-C, and ask the other.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use leasehold::clock::SystemClock;
use leasehold::{CancellationToken, Clock, Election, Error, Fence, Name, Timing};
use serde_json::{Value, json};

#[derive(Clone)]
struct App {
    election: Election,
    done: Arc<AtomicU64>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let leases = leasehold::connect(&url).await?;
    let stop = CancellationToken::new();
    let election = Election::new(&leases, Name::parse("mailer")?)
        .timing(Timing::with_ttl(Duration::from_secs(6)).build()?)
        .cancelled_by(stop.clone());
    let app = App { election, done: Arc::default() };

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    let service =
        Router::new().route("/leader", get(leader)).route("/job", get(job)).with_state(app.clone());
    let ended = stop.clone();
    let serving = async move {
        axum::serve(listener, service)
            .with_graceful_shutdown(async move { ended.cancelled().await })
            .await
    };
    let interrupted = async {
        let heard = tokio::signal::ctrl_c().await;
        stop.cancel();
        heard
    };
    let (served, worked, heard) = tokio::join!(serving, work(&app), interrupted);
    served?;
    heard?;
    match worked {
        // The office is free: another instance goes on at once.
        Ok(()) | Err(Error::Cancelled { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The background job: one instance runs it at a time. It is dropped when the lease is lost.
async fn work(app: &App) -> leasehold::Result<()> {
    let send_mails = |fence: Fence| {
        let done = app.done.clone();
        async move {
            loop {
                // Each piece carries the token: the outbox refuses lower ones than it has seen.
                let _token = fence.token();
                done.fetch_add(1, Ordering::Relaxed);
                SystemClock.sleep_until(SystemClock.now().plus(Duration::from_millis(100))).await;
            }
        }
    };
    app.election.lead(send_mails).await
}

/// Who leads, this instance or another.
async fn leader(State(app): State<App>) -> Result<Json<Value>, StatusCode> {
    let leader = app.election.leader().await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    let label = leader.map(|leader| leader.info.label);
    Ok(Json(json!({ "leader": label, "it_is_me": app.election.is_leader() })))
}

/// How much of the job this instance has done.
async fn job(State(app): State<App>) -> Json<Value> {
    Json(json!({ "mails": app.done.load(Ordering::Relaxed) }))
}
