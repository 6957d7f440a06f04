//! `lease run`: takes the lease, runs the command under it, lets go.

use leasehold::{Lease, Name, Released, Status};

use crate::args::Run;
use crate::command::Running;
use crate::exit::{self, Cause, Failure};
use crate::signals::Signals;
use crate::supervise::{Ended, Supervision, Why, until_it_ends};
use crate::taking::{Holder, Open, Waiter, open, release};
use crate::tell::Teller;
use crate::ticket::Given;
use crate::{exec, find};

/// What was not done if no lease was to be had.
const NOT_STARTED: &str = "the command was not started";

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
    let timing = ticket.as_ref().map_or(run.want.ttl, |ticket| *ticket.carried.timing());
    run.check(&timing)?;
    let grace = run.kill_grace(&timing);
    find::check(&run.command[0])?;
    let mut signals = Signals::listen()?;
    let waiter = Waiter { signals: &mut signals, teller, not_done: NOT_STARTED };
    let lease = match ticket {
        Some(ticket) => redeem(run, ticket, waiter).await?,
        None => acquire(run, name, waiter).await?,
    };
    teller.granted(&lease);
    let url = run.want.on.store.to_string();
    let running = Running::start(&run.command, &lease, &url, grace).await;
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
        teller,
    })
    .await;
    if ended.is_err() {
        running.kill_all().await;
    }
    running.over().await;
    // Still believed in is not enough: the last renewals must have got through.
    let recovered = lease.status() == Status::Held;
    let released = release(lease, teller).await;
    let Ended { status, why } = ended?;
    if let Some(why) = why {
        return Err(ended_by(why, name, recovered));
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
fn ended_by(why: Why, name: &Name, recovered: bool) -> Failure {
    let message = match why {
        Why::Unguarded(failure) => {
            let message = format!("{}: the command was ended", failure.message);
            return Failure { message, ..failure };
        }
        Why::Lost(reason) => {
            format!("the lease on `{name}` was lost ({reason}): the command was ended")
        }
        Why::Doubtful if recovered => format!(
            "the lease on `{name}` could not be renewed for so long that the command was ended; \
             a renewal that got through after that came too late for it"
        ),
        Why::Doubtful => {
            format!("the lease on `{name}` could not be renewed: the command was ended")
        }
    };
    Failure::new(Cause::Lost, message)
}

async fn acquire(run: &Run, name: &Name, mut waiter: Waiter<'_>) -> Result<Lease, Failure> {
    let want = &run.want;
    let holder = Holder::asked_for(want).of_this_process();
    let opening = open(&want.on.store, want.ttl, want.policy(), holder);
    let Open { leases, .. } = waiter.interruptible(opening).await??;
    waiter.acquire(want, name, &leases).await
}

/// Takes the lease over that somebody else has taken.
async fn redeem(run: &Run, ticket: Given, mut waiter: Waiter<'_>) -> Result<Lease, Failure> {
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
        None => Ok(lease),
        Some(signal) => {
            release(lease, waiter.teller).await;
            Err(waiter.stopped_by(signal))
        }
    }
}
