//! `lease renew`: one more ttl for the lease of a ticket, and a new ticket for it.

use leasehold::clock::SystemClock;
use leasehold::{Clock, Policy};

use crate::args::Renew;
use crate::exec;
use crate::exit::{Cause, Failure};
use crate::signals::{Signals, asks_to_end};
use crate::taking::{Open, open};
use crate::ticket::{Carried, Given, Handout};

pub(crate) async fn renew(renew: Renew) -> Result<u8, Failure> {
    let given = Given::read(&renew.given.ticket)?;
    // Before anything is used up.
    let slot = given.slot()?;
    if let Some(keeper) = given.carried.keeper()
        && !renew.end_keeper
    {
        let kept = keeper.check(given.carried.name())?;
        Handout { form: renew.form, slot }.give(&given.carried, kept.remaining)?;
        return Ok(0);
    }
    let timing = *given.carried.timing();
    let holder = given.carried.holder();
    let opening = open(&renew.given.on.store, timing, Policy::expired(), holder.of_nobody());
    let Open { leases, belief } = opening.await?;
    // From here on a signal must not keep the next ticket from its place: whoever ends the script
    // wants the lease freed by it.
    let mut signals = Signals::listen()?;
    if given.carried.keeper().is_some() {
        // It has renewed the lease for whoever gets the ticket: nothing is asked once more that could
        // go wrong.
        let given = given.without_keeper()?;
        let left = given.carried.believed_for().unwrap_or_default();
        Handout { form: renew.form, slot }
            .give(&given.carried, left)
            .map_err(|failure| no_ticket(failure, &given.carried))?;
        return Ok(ended(&mut signals));
    }
    // Counted from before it is asked for.
    let until = SystemClock.now().plus(belief);
    let renewed = leases.renew(&given.carried.ticket).await;
    let ticket = renewed.map_err(|error| given.carried.not_used(error, "it was not renewed"))?;
    let carried = Carried::new(ticket, holder, until).in_store(&renew.given.on.store);
    let handed = Handout { form: renew.form, slot };
    handed
        .give(&carried, until.since(SystemClock.now()))
        .map_err(|failure| no_ticket(failure, &carried))?;
    Ok(ended(&mut signals))
}

/// The code of a signal that came meanwhile.
fn ended(signals: &mut Signals) -> u8 {
    let signal = signals.pending().filter(|signal| asks_to_end(*signal));
    exec::leave_with(signal.map_or(0, |signal| Cause::Signal(signal).code()))
}

fn no_ticket(failure: Failure, carried: &Carried) -> Failure {
    let message = format!(
        "{}: the ticket before is used up, so the lease on `{}` ends with its ttl",
        failure.message,
        carried.name()
    );
    Failure { message, ..failure }
}
