//! `lease check`: whether the lease of a ticket is held.

use std::time::Duration;

use leasehold::clock::SystemClock;
use leasehold::{Clock, Coordinator, Error, Freshness, LossReason, Policy};

use crate::args::Check;
use crate::exit::{Cause, Failure};
use crate::keeper::Kept;
use crate::show::span;
use crate::taking::{Open, open};
use crate::tell::{print, print_json};
use crate::ticket::{Carried, Given, TicketView};

pub(crate) async fn check(check: Check) -> Result<u8, Failure> {
    let carried = Given::read(&check.given.ticket)?.carried;
    let seen = match carried.keeper() {
        Some(keeper) => keeper.check(carried.name()).map(Seen::from),
        None => {
            let (store, holder) = (&check.given.on.store, carried.holder().of_nobody());
            let opened = open(store, *carried.timing(), Policy::expired(), holder).await;
            match opened {
                Ok(Open { leases, .. }) => look(&leases, &carried).await,
                Err(failure) => Err(failure),
            }
        }
    };
    if check.json {
        let held = seen.as_ref().ok();
        if held.is_some() || seen.as_ref().is_err_and(|failure| failure.cause == Cause::Lost) {
            let mut view = TicketView::new(&carried, held.and_then(|seen| seen.remaining));
            view.held = held.is_some();
            view.drain = held.map(|seen| seen.drain);
            print_json(&view)?;
        }
    }
    let seen = seen?;
    if !check.json {
        print(told(&carried, seen))?;
    }
    Ok(0)
}

/// A lease that is held.
#[derive(Clone, Copy, Debug)]
struct Seen {
    drain: bool,
    /// How long it may be believed in if it is not renewed, where that is known.
    remaining: Option<Duration>,
}

impl From<Kept> for Seen {
    fn from(kept: Kept) -> Self {
        Self { drain: kept.drain, remaining: Some(kept.remaining) }
    }
}

async fn look(leases: &Coordinator, carried: &Carried) -> Result<Seen, Failure> {
    let drain = leases.confirm(&carried.ticket).await.map_err(|error| lost(error, carried))?;
    // This machine's own clock knows best, where it has counted from before the last renewal.
    let remaining = match carried.believed_for() {
        Some(left) => Some(left),
        None => left(leases, carried).await?,
    };
    if remaining == Some(Duration::ZERO) {
        let name = carried.name();
        let message = format!(
            "the time of the lease on `{name}` is over: whoever asks may have it; `lease renew` \
             tells whether somebody has"
        );
        return Err(Failure::new(Cause::Lost, message));
    }
    Ok(Seen { drain, remaining })
}

/// How long it lives as the store sees it, counted from before it was asked, and less the margin;
/// nothing where the store does not tell.
async fn left(leases: &Coordinator, carried: &Carried) -> Result<Option<Duration>, Failure> {
    let sent = SystemClock.now();
    let seen = leases.status(carried.name()).await?;
    let Some(record) = seen.record(carried.ticket.nonce()) else {
        let (name, epoch) = (carried.name().clone(), carried.ticket.epoch());
        let gone = Error::Lost { name, epoch, reason: LossReason::Displaced };
        return Err(lost(gone, carried));
    };
    Ok(match record.freshness {
        Freshness::Fresh { left } => {
            let margin = carried.timing().margin() + SystemClock.now().since(sent);
            Some(left.saturating_sub(margin))
        }
        Freshness::Stale => Some(Duration::ZERO),
        Freshness::Unknown => None,
    })
}

fn lost(error: Error, carried: &Carried) -> Failure {
    let Error::Lost { reason, .. } = error else { return error.into() };
    let message = format!(
        "the lease of this ticket on `{}` is not held any more ({reason}): it has ended, or the \
         ticket was used, or --on names another store",
        carried.name()
    );
    Failure::new(Cause::Lost, message)
}

fn told(carried: &Carried, seen: Seen) -> String {
    let ticket = &carried.ticket;
    let left = seen.remaining.map_or_else(String::new, |left| format!(", {} left", span(left)));
    let kept = carried
        .keeper()
        .map_or_else(String::new, |keeper| format!(", kept by process {}", keeper.pid()));
    let drain = if seen.drain { ", an exclusive waits for its end" } else { "" };
    let (name, epoch, token) = (ticket.name(), ticket.epoch(), ticket.token());
    format!("{name} is held, epoch {epoch}, token {token}{left}{kept}{drain}")
}
