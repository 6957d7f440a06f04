//! `lease run`: takes the lease, runs the command under it, lets go.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use leasehold::clock::{SystemClock, within};
use leasehold::{
    BreakNote, Clock, Coordinator, Error, HolderInfo, Lease, LossReason, Moment, Released, Status,
};
use nix::sys::signal::Signal;
use tokio_util::sync::CancellationToken;

use crate::args::{OnLost, Run};
use crate::command::Running;
use crate::exit::{self, Cause, Failure};
use crate::signals::Signals;
use crate::supervise::{Ended, Supervision, Why, until_it_ends};
use crate::tell::Teller;
use crate::terminal::Terminal;
use crate::{exec, find, show};

/// How long a release may take before it is left to the ttl: the work is done, somebody waits.
const RELEASE: Duration = Duration::from_secs(10);

/// How long the store has to let a waiter go that was stopped: whoever pressed Ctrl-C looks on. What
/// it leaves unanswered ends with its ttl.
const WITHDRAWAL: Duration = Duration::from_millis(500);

/// How far the clocks of an operator and of a holder may be apart, in milliseconds.
const CLOCKS_APART: u64 = 60_000;

pub(crate) async fn run(run: Run) -> Result<u8, Failure> {
    let teller = Teller::new(run.json, run.name.clone())?;
    let ended = hold_and_run(&run, &teller).await;
    let code = match &ended {
        Ok(code) => *code,
        Err(Failure { cause: Cause::Busy, .. }) => {
            run.conflict_exit_code.unwrap_or(Cause::Busy.code())
        }
        Err(failure) => failure.cause.code(),
    };
    teller.exited(code, ended.err().as_ref()).await;
    let interrupted = code == Cause::Signal(Signal::SIGINT).code();
    if interrupted && Terminal::of_this_process().is_some_and(|terminal| terminal.is_ours()) {
        exec::as_if_interrupted();
    }
    Ok(code)
}

async fn hold_and_run(run: &Run, teller: &Teller) -> Result<u8, Failure> {
    run.check()?;
    find::check(&run.command[0])?;
    let mut signals = Signals::listen()?;
    let leases = interruptible(&mut signals, open(run)).await??;
    let lease = acquire(run, &leases, &mut signals, teller).await?;
    let (granted, granted_at) = (SystemClock.now(), show::since_1970_ms());
    teller.granted(&lease);
    let lease = begin(lease, &mut signals, teller).await?;
    let url = run.on.store.to_string();
    let running = Running::start(run, &lease, &url).await;
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
        grace: run.kill_grace(),
        on_lost: run.on_lost,
        no_longer_than: run.max_hold.map(|most| granted.plus(most)),
        teller,
    })
    .await;
    if ended.is_err() {
        running.kill_all().await;
    }
    running.over().await;
    if let (Ok(Ended { why: None, .. }), Some(least)) = (&ended, run.min_hold) {
        hold_until(granted.plus(least), &lease, &mut signals).await;
    }
    // Still believed in is not enough: the last renewals must have got through.
    let recovered = lease.status() == Status::Held;
    let released = release(lease, teller).await;
    let Ended { status, why } = ended?;
    if let Some(why) = why {
        let broken = note_of(&why, run, &leases, granted_at).await;
        return Err(ended_by(why, run, recovered, broken));
    }
    let code = exit::of_command(status);
    // It was taken away before the command ended, and no renewal has told yet.
    if released == Some(Released::NotHeld) {
        let message = format!(
            "the lease on `{}` had been lost when the command ended, with {code}",
            run.name
        );
        return Err(Failure::new(Cause::Lost, message));
    }
    if status.code().is_some() && exit::is_reserved(code) {
        teller.command_exited(code);
    }
    Ok(code)
}

/// What it means for the exit code that the command was ended.
fn ended_by(why: Why, run: &Run, recovered: bool, broken: Option<BreakNote>) -> Failure {
    let name = &run.name;
    let ended = match run.on_lost {
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
async fn begin(lease: Lease, signals: &mut Signals, teller: &Teller) -> Result<Lease, Failure> {
    match interruptible(signals, lease.ready()).await {
        Ok(ready) => {
            ready?;
            Ok(lease)
        }
        Err(stopped) => {
            release(lease, teller).await;
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
async fn note_of(why: &Why, run: &Run, leases: &Coordinator, since: u64) -> Option<BreakNote> {
    let Why::Lost(LossReason::Displaced) = why else { return None };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let told = within(&clock, WITHDRAWAL, leases.last_break(&run.name)).await?.ok()??;
    // An older one has nothing to do with this loss, as far as wall clocks tell.
    (told.at_ms.saturating_add(CLOCKS_APART) >= since).then_some(told)
}

async fn open(run: &Run) -> Result<Coordinator, Failure> {
    let backend = run.on.store.open().await?;
    let timing = run.timing()?;
    timing.fits(&backend.capabilities())?;
    // The command may outlive this process by the time that the watchdog gives it, so the lease
    // must not be taken over at once when this process is found dead.
    let mut info = HolderInfo::of_this_process()
        .without_process()
        .metadata(show::PID, std::process::id().to_string());
    if let Some(label) = &run.label {
        info = info.label(label);
    }
    for (key, value) in &run.metadata {
        info = info.metadata(key, value);
    }
    let builder = Coordinator::builder(backend).timing(timing).policy(run.policy());
    Ok(builder.info(info.build()?).build())
}

async fn acquire(
    run: &Run,
    leases: &Coordinator,
    signals: &mut Signals,
    teller: &Teller,
) -> Result<Lease, Failure> {
    let stop = CancellationToken::new();
    let told = teller.clone();
    let mut ask = leases
        .ask(run.name.as_str(), run.mode())
        .cancelled_by(stop.clone())
        .on_wait(move |waiting| told.waiting(waiting));
    if let Some(time) = run.wait() {
        ask = ask.wait(time);
    }
    let acquiring = ask.acquire();
    tokio::pin!(acquiring);
    let mut by = None;
    let answer = tokio::select! {
        biased;
        signal = signals.next() => {
            by = Some(signal);
            stop.cancel();
            let clock: Arc<dyn Clock> = Arc::new(SystemClock);
            let cancelled = || Err(Error::Cancelled { name: run.name.clone() });
            within(&clock, WITHDRAWAL, acquiring).await.unwrap_or_else(cancelled)
        }
        answer = &mut acquiring => answer,
    };
    teller.waited();
    match (answer, by.or_else(|| signals.pending())) {
        (Ok(lease), None) => Ok(lease),
        // Between the grant and the start of the command there is still time to stop.
        (Ok(lease), Some(signal)) => {
            release(lease, teller).await;
            Err(Failure::new(Cause::Signal(signal), stopped_by(signal)))
        }
        (Err(Error::Cancelled { .. }), Some(signal)) => {
            Err(Failure::new(Cause::Signal(signal), stopped_by(signal)))
        }
        (Err(Error::Lost { name, .. }), _) => {
            let message = format!(
                "`{name}` was taken away while it waited for writers to end: the command was not started"
            );
            Err(Failure::new(Cause::Lost, message))
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// What the store says of a lease that was believed in until then.
async fn release(lease: Lease, teller: &Teller) -> Option<Released> {
    let held = lease.check().is_ok();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let patience = if held { RELEASE } else { WITHDRAWAL };
    match within(&clock, patience, lease.release()).await {
        Some(Ok(released)) => {
            teller.released(released);
            return held.then_some(released);
        }
        Some(Err(error)) if held => teller.not_released(&error.to_string()),
        None if held => teller.not_released("the store did not answer in time"),
        Some(Err(_)) | None => {}
    }
    None
}

/// Runs `work` unless a signal comes first.
async fn interruptible<T>(
    signals: &mut Signals,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        signal = signals.next() => Err(Failure::new(Cause::Signal(signal), stopped_by(signal))),
        done = work => Ok(done),
    }
}

fn stopped_by(signal: Signal) -> String {
    format!("stopped by {signal}: the command was not started")
}
