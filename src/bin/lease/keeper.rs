//! The keeper: a process in the background that keeps a lease while a script lives.
//!
//! It takes the lease over by a ticket, as any other process would, and listens on a socket of its
//! owner's until the script has ended or somebody asks for the lease.

use std::path::PathBuf;
use std::sync::Arc;

use leasehold::clock::{SystemClock, within};
use leasehold::{Clock, Lease, Policy, ProcessId, Released, Status, StoreUrl};
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use crate::exit::{Cause, Failure};
use crate::signals::{Signals, asks_to_end};
use crate::taking::{Open, RELEASE, grace, open};
use crate::ticket::Carried;

mod address;
mod detach;
mod script;
mod socket;
mod start;

pub(crate) use address::{Address, Kept};
pub(crate) use detach::detach;
pub(crate) use script::Script;
pub(crate) use start::start;

use socket::{Caller, Socket};

/// What a keeper is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The store. It may have a password in it, so it is told by a pipe.
    url: String,
    carried: Carried,
    script: Script,
    /// The number of the signal that tells the script of a loss.
    on_lost: Option<i32>,
    socket: PathBuf,
}

/// What a keeper is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Asked {
    /// Whether the lease is held.
    Check,
    /// To free it and end.
    Release,
    /// To give it away by a ticket and end.
    HandOver,
}

/// What a keeper answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// It has the lease and listens.
    Ready(Option<ProcessId>),
    Held {
        drain: bool,
        remaining_ms: u64,
    },
    Freed,
    Ticket(Box<Carried>),
    Failed {
        code: u8,
        message: String,
    },
}

impl Answer {
    pub(crate) fn failed(failure: &Failure) -> Self {
        Self::Failed { code: failure.cause.code(), message: failure.message.clone() }
    }
}

/// A lease that is kept for a script.
struct Keeper {
    lease: Lease,
    order: Order,
    socket: Socket,
    signals: Signals,
    belief: std::time::Duration,
}

/// Why a keeper ends.
enum End {
    /// The script has.
    Script,
    /// Somebody wants the lease.
    Asked(Asked, Caller),
    /// It was told to by a signal.
    Told,
}

/// Keeps a lease until its script ends or somebody asks for it.
pub(crate) async fn keep(order: Order) -> Result<u8, Failure> {
    match Keeper::begin(order).await {
        Ok(keeper) => {
            start::tell(&Answer::Ready(ProcessId::of_this_process()));
            keeper.keep().await;
            Ok(0)
        }
        Err(failure) => {
            start::tell(&Answer::failed(&failure));
            Ok(failure.cause.code())
        }
    }
}

impl Keeper {
    async fn begin(order: Order) -> Result<Self, Failure> {
        let signals = Signals::listen()?;
        if !order.script.lives() {
            return Err(order.script.is_gone());
        }
        let socket = Socket::listen(&order.socket)?;
        let (carried, store) = (&order.carried, StoreUrl::parse(&order.url)?);
        let holder = carried.holder().of_keeper(order.script.pid());
        let Open { leases, belief } =
            open(&store, *carried.timing(), Policy::expired(), holder).await?;
        let redeemed = leases.redeem(&carried.ticket).await;
        let lease = redeemed.map_err(|error| carried.not_used(error, "it is not kept"))?;
        Ok(Self { lease, order, socket, signals, belief })
    }

    async fn keep(mut self) {
        let end = tokio::select! {
            biased;
            () = self.order.script.ended() => End::Script,
            never = warn(&self.lease, &self.order) => match never {},
            (asked, caller) = serve(&self.lease, &mut self.socket) => End::Asked(asked, caller),
            () = told(&mut self.signals, &self.lease) => End::Told,
        };
        match end {
            End::Script => drop(release(self.lease).await),
            End::Asked(Asked::HandOver, caller) => {
                let ticket = hand_over(self.lease, &self.order.carried, self.belief).await;
                caller.answer(&ticket.unwrap_or_else(|failure| Answer::failed(&failure)));
            }
            End::Asked(_, caller) => {
                let released = release(self.lease).await;
                caller.answer(&released.unwrap_or_else(|failure| Answer::failed(&failure)));
            }
            // The script goes on, so nobody else may come before the ttl is over.
            End::Told => {
                std::mem::forget(self.lease);
                self.order.warn_script();
            }
        }
    }
}

/// Answers whoever only looks, until somebody wants the lease itself.
async fn serve(lease: &Lease, socket: &mut Socket) -> (Asked, Caller) {
    loop {
        let (asked, caller) = socket.next().await;
        match asked {
            Asked::Check => caller.answer(&check(lease).await),
            Asked::Release | Asked::HandOver => return (asked, caller),
        }
    }
}

async fn check(lease: &Lease) -> Answer {
    match lease.confirm().await {
        Ok(_) => {
            let remaining_ms = u64::try_from(lease.remaining().as_millis()).unwrap_or(u64::MAX);
            let drain = tokio::select! {
                biased;
                () = lease.drain_requested() => true,
                () = std::future::ready(()) => false,
            };
            Answer::Held { drain, remaining_ms }
        }
        Err(error) => Answer::failed(&error.into()),
    }
}

/// Tells the script of a loss: when it has happened, or when only renewals that fail stand before it
/// and there is just time to end. Never ends.
async fn warn(lease: &Lease, order: &Order) -> std::convert::Infallible {
    let grace = grace(lease.timing());
    let mut changes = lease.status_changes();
    loop {
        let (now, left) = (SystemClock.now(), lease.remaining());
        let wake = match lease.status() {
            Status::Held => now.plus(left),
            Status::Doubtful if left > grace => now.plus(left - grace),
            Status::Doubtful | Status::Lost(_) => break,
        };
        tokio::select! {
            _ = changes.changed() => {}
            () = SystemClock.sleep_until(wake) => {}
        }
    }
    order.warn_script();
    std::future::pending().await
}

/// Ends one ttl after somebody has asked this process to end: time for the script to do so first.
async fn told(signals: &mut Signals, lease: &Lease) {
    while !asks_to_end(signals.next().await) {}
    SystemClock.sleep_until(SystemClock.now().plus(lease.timing().ttl())).await;
}

async fn release(lease: Lease) -> Result<Answer, Failure> {
    let name = lease.name().clone();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    match within(&clock, RELEASE, lease.release()).await {
        Some(Ok(Released::Freed)) => Ok(Answer::Freed),
        Some(Ok(Released::NotHeld)) => {
            let message = format!("`{name}` was not held any more: nothing was freed");
            Err(Failure::new(Cause::Lost, message))
        }
        Some(Err(error)) => Err(error.into()),
        None => {
            let message = format!("`{name}` was not freed in time: it ends with its ttl");
            Err(Failure::new(Cause::Unavailable, message))
        }
    }
}

async fn hand_over(
    lease: Lease,
    carried: &Carried,
    belief: std::time::Duration,
) -> Result<Answer, Failure> {
    let until = SystemClock.now().plus(belief);
    let ticket = lease.into_ticket().await?;
    let next = Carried::new(ticket, carried.holder(), until).after(carried);
    Ok(Answer::Ticket(Box::new(next)))
}

impl Order {
    fn warn_script(&self) {
        if let Some(signal) = self.on_lost.and_then(|number| Signal::try_from(number).ok()) {
            self.script.signal(signal);
        }
    }
}
