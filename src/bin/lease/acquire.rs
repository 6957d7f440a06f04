//! `lease acquire`: takes a lease and gives a ticket for it.

use std::sync::Arc;
use std::time::Duration;

use leasehold::clock::{SystemClock, within};
use leasehold::{Clock, Coordinator, Error, Moment};

use crate::args::Acquire;
use crate::exec;
use crate::exit::{Cause, Failure};
use crate::keeper::{self, Script};
use crate::signals::Signals;
use crate::taking::{Holder, Open, RELEASE, Waiter, open};
use crate::tell::Teller;
use crate::ticket::{Carried, Handout, Slot};

pub(crate) async fn acquire(acquire: Acquire) -> Result<u8, Failure> {
    let teller = Teller::new(acquire.form.json, acquire.name.clone())?;
    let code = match take(&acquire, &teller).await {
        Ok(()) => {
            teller.finish().await;
            0
        }
        Err(failure) => {
            let code = match (failure.cause, acquire.want.conflict_exit_code) {
                (Cause::Busy, Some(chosen)) => chosen,
                (cause, _) => cause.code(),
            };
            teller.exited(code, Some(&failure)).await;
            code
        }
    };
    Ok(exec::leave_with(code))
}

async fn take(acquire: &Acquire, teller: &Teller) -> Result<(), Failure> {
    let (want, name) = (&acquire.want, &acquire.name);
    want.check()?;
    // Known before the wait: by the end of it another process may have the pid.
    let script = acquire.keep_while.map(Script::find).transpose()?;
    let slot = acquire.ticket.as_deref().map(Slot::named).transpose()?;
    let mut signals = Signals::listen()?;
    let mut waiter = Waiter { signals: &mut signals, teller, not_done: "nothing is held" };
    let holder = Holder::asked_for(want);
    let opening = open(&want.on.store, want.ttl, want.policy(), holder.of_nobody());
    let Open { leases, belief } = waiter.interruptible(opening).await??;
    if let Some(slot) = &slot {
        waiter.interruptible(slot.check(&leases, &want.on.store, name, want.mode())).await??;
    }
    let lease = waiter.acquire(want, name, &leases).await?;
    let until = SystemClock.now().plus(belief);
    let ticket = lease.into_ticket().await.map_err(no_ticket)?;
    let carried = Carried::new(ticket, holder, until).in_store(&want.on.store);
    let held = Held { leases, carried, until };
    let held = match script {
        Some(script) => held.kept_for(acquire, script, &mut waiter).await?,
        None => held,
    };
    // Whoever sends a signal must not find a lease that nobody knows of.
    if let Some(signal) = waiter.signals.pending() {
        held.let_go().await;
        return Err(waiter.stopped_by(signal));
    }
    let handout = Handout { form: acquire.form, slot };
    if let Err(failure) = handout.give(&held.carried, held.remaining()) {
        held.let_go().await;
        return Err(failure);
    }
    Ok(())
}

fn no_ticket(error: Error) -> Failure {
    let Failure { cause, message } = error.into();
    let message = format!("{message}: there is no ticket, and the lease ends with its ttl");
    Failure { cause, message }
}

/// A lease whose ticket nobody has yet.
struct Held {
    leases: Coordinator,
    carried: Carried,
    /// Until when it may be believed in if nothing renews it.
    until: Moment,
}

impl Held {
    fn remaining(&self) -> Duration {
        self.until.since(SystemClock.now())
    }

    /// Starts a process that keeps it for the script.
    async fn kept_for(
        self,
        acquire: &Acquire,
        script: Script,
        waiter: &mut Waiter<'_>,
    ) -> Result<Self, Failure> {
        let (store, on_lost) = (&acquire.want.on.store, acquire.on_lost);
        let started =
            keeper::start(store, &self.carried, script, on_lost, self.remaining(), waiter).await;
        match started {
            Ok(address) => {
                let carried = self.carried.kept_by(address);
                Ok(Self { carried, ..self })
            }
            Err(failure) => {
                self.let_go().await;
                Err(failure)
            }
        }
    }

    /// Frees it. What does not get through is left to the ttl.
    async fn let_go(self) {
        if let Some(keeper) = self.carried.keeper() {
            let _ = keeper.release(self.carried.name());
            return;
        }
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let freed = async {
            if let Ok(lease) = self.leases.redeem(&self.carried.ticket).await {
                let _ = lease.release().await;
            }
        };
        within(&clock, RELEASE, freed).await;
    }
}
