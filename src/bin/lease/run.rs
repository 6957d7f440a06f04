//! `lease run`: takes the lease, runs the command under it, lets go.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use leasehold::clock::{SystemClock, within};
use leasehold::{Clock, Coordinator, Error, HolderInfo, Lease};
use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::args::Run;
use crate::command::Running;
use crate::exit::{Cause, Failure, is_reserved};
use crate::show;
use crate::supervise::{Ended, until_it_ends};
use crate::tell::Teller;

/// How long a release may take before it is left to the ttl: the work is done, somebody waits.
const RELEASE: Duration = Duration::from_secs(10);

pub(crate) async fn run(run: Run) -> Result<u8, Failure> {
    let teller = Teller::new(run.json, run.name.clone());
    let ended = hold_and_run(&run, &teller).await;
    let ended = ended.map_err(|mut failure| {
        let conflict = run.conflict_exit_code.filter(|_| failure.cause == Cause::Busy);
        if let Some(code) = conflict {
            failure.cause = Cause::Chosen(code);
        }
        failure
    });
    match &ended {
        Ok(code) => teller.exited(*code, None),
        Err(failure) => teller.exited(failure.cause.code(), Some(failure)),
    }
    // With JSON the message has been told already.
    ended.map_err(|failure| match run.json {
        true => Failure::new(failure.cause, ""),
        false => failure,
    })
}

async fn hold_and_run(run: &Run, teller: &Teller) -> Result<u8, Failure> {
    let mut signals = Signals::listen()?;
    let leases = interruptible(&mut signals, open(run)).await??;
    let lease = acquire(run, &leases, &mut signals, teller).await?;
    teller.granted(&lease);
    let url = run.on.store.to_string();
    let running = Running::start(&run.command, &lease, &url, run.kill_grace()).await;
    let mut running = match running {
        Ok(running) => running,
        Err(failure) => {
            release(lease, teller).await;
            return Err(failure);
        }
    };
    let ended = until_it_ends(&mut running, &lease, &mut signals, run.kill_grace(), teller).await;
    match &ended {
        // What it has started goes down with the lease.
        Ok(Ended { lost: Some(_), .. }) | Err(_) => running.signal(Signal::SIGKILL),
        Ok(Ended { lost: None, .. }) => {}
    }
    running.over().await;
    release(lease, teller).await;
    let Ended { code, lost } = ended?;
    if let Some(reason) = lost {
        let message =
            format!("the lease on `{}` was lost ({reason}): the command was ended", run.name);
        return Err(Failure::new(Cause::Lost, message));
    }
    if is_reserved(code) {
        teller.command_exited(code);
    }
    Ok(code)
}

async fn open(run: &Run) -> Result<Coordinator, Failure> {
    let backend = run.on.store.open().await?;
    run.ttl.fits(&backend.capabilities())?;
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
    let builder = Coordinator::builder(backend).timing(run.ttl).policy(run.policy());
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
            acquiring.await
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
        (Err(error), _) => Err(error.into()),
    }
}

async fn release(lease: Lease, teller: &Teller) {
    let held = lease.check().is_ok();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    match within(&clock, RELEASE, lease.release()).await {
        Some(Ok(released)) => teller.released(released),
        Some(Err(error)) if held => teller.not_released(&error.to_string()),
        None if held => teller.not_released("the store did not answer in time"),
        Some(Err(_)) | None => {}
    }
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

/// The signals that are passed on to the command, each as often as it comes.
pub(crate) struct Signals {
    all: Vec<(Signal, tokio::signal::unix::Signal)>,
}

impl Signals {
    fn listen() -> Result<Self, Failure> {
        let all = [
            (Signal::SIGINT, SignalKind::interrupt()),
            (Signal::SIGTERM, SignalKind::terminate()),
            (Signal::SIGHUP, SignalKind::hangup()),
            (Signal::SIGQUIT, SignalKind::quit()),
        ];
        let listen = |(which, kind)| Ok((which, signal(kind)?));
        let all = all.into_iter().map(listen).collect::<std::io::Result<_>>();
        Ok(Self { all: all.map_err(|error| Failure::system("cannot listen to signals", error))? })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Signal {
        std::future::poll_fn(|context| {
            for (which, listener) in &mut self.all {
                if listener.poll_recv(context).is_ready() {
                    return std::task::Poll::Ready(*which);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }

    /// One that came and was not taken yet.
    fn pending(&mut self) -> Option<Signal> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let ready = |(which, listener): &mut (Signal, tokio::signal::unix::Signal)| {
            listener.poll_recv(&mut context).is_ready().then_some(*which)
        };
        self.all.iter_mut().find_map(ready)
    }
}
