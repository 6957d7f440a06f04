//! `lease run`: takes the lease, runs the command under it, lets go.

use std::sync::Arc;

use leasehold::clock::{SystemClock, since_1970_ms, within};
use leasehold::{
    BreakNote, Clock, Coordinator, Lease, LossReason, Moment, Name, Released, Status, Timing,
};

use crate::args::{OnLost, Run};
use crate::command::Running;
use crate::exit::{self, Cause, Failure};
use crate::signals::Signals;
use crate::supervise::{Ended, Supervision, Why, until_it_ends};
use crate::taking::{Holder, Open, WITHDRAWAL, Waiter, open, release};
use crate::tell::Teller;
use crate::ticket::Given;
use crate::{exec, find, show};

/// What was not done if no lease was to be had.
const NOT_STARTED: &str = "the command was not started";

/// How far the clocks of an operator and of a holder may be apart, in milliseconds.
const CLOCKS_APART: u64 = 60_000;

pub(crate) async fn run(run: Run) -> Result<u8, Failure> {
    let ticket = run.ticket.as_deref().map(Given::read).transpose()?;
    let named = ticket.as_ref().map(|ticket| ticket.carried.name()).or(run.name.as_ref());
    let Some(name) = named.cloned() else {
        return Err(Failure::new(Cause::Usage, "say what to hold: its name, or a --ticket"));
    };
    let teller = Teller::new(run.json, name.clone())?;
    let ended = hold_and_run(&run, &name, ticket, &teller).await;
    let code = match &ended {
        Ok(code) => *code,
        Err(Failure { cause: Cause::Busy, .. }) => {
            run.want.conflict_exit_code.unwrap_or(Cause::Busy.code())
        }
        Err(failure) => failure.cause.code(),
    };
    teller.exited(code, ended.err().as_ref()).await;
    Ok(exec::leave_with(code))
}

async fn hold_and_run(
    run: &Run,
    name: &Name,
    ticket: Option<Given>,
    teller: &Teller,
) -> Result<u8, Failure> {
    let timing = match &ticket {
        Some(ticket) => *ticket.carried.timing(),
        None => run.timing()?,
    };
    run.check(&timing)?;
    let grace = run.kill_grace(&timing);
    find::check(&run.command[0])?;
    let mut signals = Signals::listen()?;
    let waiter = Waiter { signals: &mut signals, teller, not_done: NOT_STARTED };
    let (lease, leases) = match ticket {
        Some(ticket) => redeem(run, ticket, waiter).await?,
        None => acquire(run, name, timing, waiter).await?,
    };
    let (granted, granted_ms) = (SystemClock.now(), since_1970_ms());
    teller.granted(&lease);
    let waiter = Waiter { signals: &mut signals, teller, not_done: NOT_STARTED };
    let lease = begin(lease, waiter).await?;
    let url = run.want.on.store.to_string();
    let running = Running::start(run, &lease, &url, grace).await;
    let mut running = match running {
        Ok(running) => running,
        Err(failure) => {
            release(lease, teller).await;
            return Err(failure);
        }
    };
    let ended = until_it_ends(Supervision {
        running: &mut running,
        lease: &lease,
        signals: &mut signals,
        grace,
        on_lost: run.on_lost,
        no_longer_than: run.max_hold.map(|most| granted.plus(most)),
        teller,
    })
    .await;
    if ended.is_err() {
        running.kill_all().await;
    }
    running.over().await;
    if let (Ok(Ended { why: None, asked: false, .. }), Some(least)) = (&ended, run.min_hold) {
        hold_until(granted.plus(least), &lease, &mut signals).await;
    }
    // Still believed in is not enough: the last renewals must have got through.
    let recovered = lease.status() == Status::Held;
    let released = release(lease, teller).await;
    let Ended { status, why, .. } = ended?;
    if let Some(why) = why {
        let broken = note_of(&why, name, &leases, granted_ms).await;
        return Err(ended_by(why, name, run.on_lost, recovered, broken));
    }
    let code = exit::of_command(status);
    // It was taken away before the command ended, and no renewal has told yet.
    if released == Some(Released::NotHeld) {
        let message =
            format!("the lease on `{name}` had been lost when the command ended, with {code}");
        return Err(Failure::new(Cause::Lost, message));
    }
    if status.code().is_some() && exit::is_reserved(code) {
        teller.command_exited(code);
    }
    Ok(code)
}

/// What it means for the exit code that the command was ended.
fn ended_by(
    why: Why,
    name: &Name,
    on_lost: OnLost,
    recovered: bool,
    broken: Option<BreakNote>,
) -> Failure {
    let ended = match on_lost {
        OnLost::Kill => "the command was ended",
        OnLost::Term => "the command was asked to end",
        OnLost::Keep => "the command went on without it",
    };
    let message = match why {
        Why::Unguarded(failure) => {
            let message = format!("{}: the command was ended", failure.message);
            return Failure { message, ..failure };
        }
        Why::Lost(reason) => {
            let broken =
                broken.map_or_else(String::new, |note| format!(", {}", show::broken(&note)));
            format!("the lease on `{name}` was lost ({reason}{broken}): {ended}")
        }
        Why::Doubtful if recovered => format!(
            "the lease on `{name}` could not be renewed for so long that the command was ended; \
             a renewal that got through after that came too late for it"
        ),
        Why::Doubtful => format!("the lease on `{name}` could not be renewed: {ended}"),
        Why::TooLong => {
            let message = format!("`{name}` was held for --max-hold: the command was ended");
            return Failure::new(Cause::HeldTooLong, message);
        }
    };
    Failure::new(Cause::Lost, message)
}

/// Waits out the grace after a takeover. The lease is released if that is ended by a signal.
async fn begin(lease: Lease, mut waiter: Waiter<'_>) -> Result<Lease, Failure> {
    match waiter.interruptible(lease.ready()).await {
        Ok(ready) => {
            ready?;
            Ok(lease)
        }
        Err(stopped) => {
            release(lease, waiter.teller).await;
            Err(stopped)
        }
    }
}

/// Keeps the lease of a command that has ended, for its --min-hold.
async fn hold_until(at: Moment, lease: &Lease, signals: &mut Signals) {
    tokio::select! {
        () = SystemClock.sleep_until(at) => {}
        _ = lease.lost() => {}
        _ = signals.next() => {}
    }
}

/// Who has broken the lease, if somebody did and the store tells soon.
async fn note_of(why: &Why, name: &Name, leases: &Coordinator, since: u64) -> Option<BreakNote> {
    let Why::Lost(LossReason::Displaced) = why else { return None };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let told = within(&clock, WITHDRAWAL, leases.last_break(name)).await?.ok()??;
    // An older one has nothing to do with this loss, as far as wall clocks tell.
    (told.at_ms.saturating_add(CLOCKS_APART) >= since).then_some(told)
}

async fn acquire(
    run: &Run,
    name: &Name,
    timing: Timing,
    mut waiter: Waiter<'_>,
) -> Result<(Lease, Coordinator), Failure> {
    let want = &run.want;
    let holder = Holder::asked_for(want).of_this_process();
    let opening = open(&want.on.store, timing, want.policy(), holder);
    let Open { leases, .. } = waiter.interruptible(opening).await??;
    Ok((waiter.acquire(want, name, &leases).await?, leases))
}

/// Takes the lease over that somebody else has taken.
async fn redeem(
    run: &Run,
    ticket: Given,
    mut waiter: Waiter<'_>,
) -> Result<(Lease, Coordinator), Failure> {
    let asked = Holder::asked_for(&run.want);
    let mut holder = ticket.carried.holder();
    holder.label = asked.label.or(holder.label);
    holder.metadata.extend(asked.metadata);
    let (store, timing) = (&run.want.on.store, *ticket.carried.timing());
    let opening = open(store, timing, run.want.policy(), holder.of_this_process());
    let Open { leases, .. } = waiter.interruptible(opening).await??;
    // From here on the ticket is used up, whatever comes of it: a signal is heard after that.
    let lease = ticket.redeem(&leases, NOT_STARTED).await?;
    match waiter.signals.pending() {
        None => Ok((lease, leases)),
        Some(signal) => {
            release(lease, waiter.teller).await;
            Err(waiter.stopped_by(signal))
        }
    }
}
