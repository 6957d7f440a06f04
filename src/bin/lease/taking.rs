//! Taking a lease and letting go of it, for whichever subcommand.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use leasehold::clock::{SystemClock, within};
use leasehold::{
    Clock, Coordinator, Error, Freshness, HolderInfo, HolderInfoBuilder, Lease, Mode, Name, Nonce,
    Policy, Record, Released, StoreUrl, Timing,
};
use nix::sys::signal::Signal;
use tokio_util::sync::CancellationToken;

use crate::args::Want;
use crate::exit::{self, Cause, Failure};
use crate::show;
use crate::signals::Signals;
use crate::status::PATIENCE;
use crate::tell::Teller;

/// How long a release may take before it is left to the ttl: the work is done, somebody waits.
pub(crate) const RELEASE: Duration = Duration::from_secs(10);

/// How long the store has to let a waiter go that was stopped: whoever pressed Ctrl-C looks on. What
/// it leaves unanswered ends with its ttl.
pub(crate) const WITHDRAWAL: Duration = Duration::from_millis(500);

/// The longest time before the end of a lease at which somebody is told to end, where nobody asked
/// for another.
const GRACE: Duration = Duration::from_secs(5);

/// The variable that tells a command the id of the lease that it runs under.
pub(crate) const ID: &str = "LEASE_ID";

/// How long before the end of a lease somebody is told to end, where nobody asked for another time.
pub(crate) fn grace(timing: &Timing) -> Duration {
    (timing.ttl() / 4).min(GRACE)
}

/// Who holds, as people see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) label: Option<String>,
    pub(crate) metadata: BTreeMap<String, String>,
}

impl Holder {
    pub(crate) fn asked_for(want: &Want) -> Self {
        Self { label: want.label.clone(), metadata: want.metadata.iter().cloned().collect() }
    }

    /// The same, for a lease that is kept by this process.
    ///
    /// The work may outlive this process by some time, so the lease must not be taken over at once
    /// when this process is found dead.
    pub(crate) fn of_this_process(&self) -> HolderInfoBuilder {
        let info = HolderInfo::of_this_process().without_process();
        self.dress(info).metadata(show::PID, std::process::id().to_string())
    }

    /// The same, for a lease that this process keeps for another.
    pub(crate) fn of_keeper(&self, script: i32) -> HolderInfoBuilder {
        let info = HolderInfo::of_this_process().without_process();
        self.dress(info.label(format!("a keeper for process {script}")))
            .metadata(show::PID, std::process::id().to_string())
            .metadata(show::KEEPER_FOR, script.to_string())
    }

    /// The same, for a lease that no process keeps: only its ticket is there.
    pub(crate) fn of_nobody(&self) -> HolderInfoBuilder {
        let info = HolderInfo::of_this_process().without_process();
        let host = info.clone().build().map(|info| info.host).unwrap_or_default();
        self.dress(info.label(format!("a ticket of {host}")))
    }

    fn dress(&self, mut info: HolderInfoBuilder) -> HolderInfoBuilder {
        if let Some(label) = &self.label {
            info = info.label(label);
        }
        let pairs = self.metadata.iter();
        pairs.fold(info, |info, (key, value)| info.metadata(key, value))
    }
}

/// A store that is open to hold leases of one timing.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) leases: Coordinator,
    /// How long after its send a renewal may be believed in.
    pub(crate) belief: Duration,
}

/// Opens the store to hold leases of this timing there.
pub(crate) async fn open(
    store: &StoreUrl,
    timing: Timing,
    policy: Policy,
    holder: HolderInfoBuilder,
) -> Result<Open, Failure> {
    let backend = store.open().await?;
    // What the store cannot keep was asked for by the command line, or by a ticket of another store.
    timing
        .fits(&backend.capabilities())
        .map_err(|error| Failure::usage(exit::with_sources(&error)))?;
    let belief = timing.belief(&backend.capabilities());
    let builder = Coordinator::builder(backend).timing(timing).policy(policy);
    Ok(Open { leases: builder.info(holder.build()?).build(), belief })
}

/// Whoever waits for a lease, and hears signals and tells people meanwhile.
pub(crate) struct Waiter<'a> {
    pub(crate) signals: &'a mut Signals,
    pub(crate) teller: &'a Teller,
    /// What has not been done if nothing comes of it.
    pub(crate) not_done: &'static str,
}

impl Waiter<'_> {
    /// Takes the lease, unless a signal comes first.
    pub(crate) async fn acquire(
        &mut self,
        want: &Want,
        name: &Name,
        leases: &Coordinator,
    ) -> Result<Lease, Failure> {
        self.interruptible(not_within_itself(want, name, leases)).await??;
        let stop = CancellationToken::new();
        let told = self.teller.clone();
        let mut ask = leases
            .ask(name.as_str(), want.mode())
            .cancelled_by(stop.clone())
            .on_wait(move |waiting| told.waiting(waiting));
        if let Some(time) = want.wait() {
            ask = ask.wait(time);
        }
        let acquiring = ask.acquire();
        tokio::pin!(acquiring);
        let mut by = None;
        let answer = tokio::select! {
            biased;
            signal = self.signals.next() => {
                by = Some(signal);
                stop.cancel();
                let clock: Arc<dyn Clock> = Arc::new(SystemClock);
                let cancelled = || Err(Error::Cancelled { name: name.clone() });
                within(&clock, WITHDRAWAL, acquiring).await.unwrap_or_else(cancelled)
            }
            answer = &mut acquiring => answer,
        };
        self.teller.waited();
        match (answer, by.or_else(|| self.signals.pending())) {
            (Ok(lease), None) => Ok(lease),
            // Between the grant and what it is for there is still time to stop.
            (Ok(lease), Some(signal)) => {
                release(lease, self.teller).await;
                Err(self.stopped_by(signal))
            }
            (Err(Error::Cancelled { .. }), Some(signal)) => Err(self.stopped_by(signal)),
            (Err(Error::Lost { name, .. }), _) => {
                let message = format!(
                    "`{name}` was taken away while it waited for writers to end: {}",
                    self.not_done
                );
                Err(Failure::new(Cause::Lost, message))
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    /// Runs `work` unless a signal comes first.
    pub(crate) async fn interruptible<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            signal = self.signals.next() => Err(self.stopped_by(signal)),
            done = work => Ok(done),
        }
    }

    /// What it means that this signal came.
    pub(crate) fn stopped_by(&self, signal: Signal) -> Failure {
        let message = format!("stopped by {signal}: {}", self.not_done);
        Failure::new(Cause::Signal(signal), message)
    }
}

/// Refuses to wait for the lease that this process itself runs under: its holder waits for this
/// process to end.
async fn not_within_itself(want: &Want, name: &Name, leases: &Coordinator) -> Result<(), Failure> {
    let Some(outer) = std::env::var(ID).ok().and_then(|id| id.parse::<Nonce>().ok()) else {
        return Ok(());
    };
    // A store that does not answer is told by whoever takes the lease.
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let patience = want.wait().map_or(PATIENCE, |time| time.min(PATIENCE));
    let Some(Ok(seen)) = within(&clock, patience, leases.status(name)).await else {
        return Ok(());
    };
    let alone = Mode::Exclusive;
    // One that has run out is waited for by nobody.
    let in_the_way = |held: &Record| {
        held.freshness != Freshness::Stale && (held.mode == alone || want.mode() == alone)
    };
    if !seen.record(outer).is_some_and(in_the_way) {
        return Ok(());
    }
    let message = format!(
        "`{name}` is held by the `lease run` that this runs under, and would be waited for until \
         this has ended: leave out the second `lease run`; or start it without {ID} in its \
         environment (`env -u {ID}`), if nobody waits for its end"
    );
    Err(Failure::new(Cause::Busy, message))
}

/// What the store says of a lease that was believed in until then.
pub(crate) async fn release(lease: Lease, teller: &Teller) -> Option<Released> {
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
