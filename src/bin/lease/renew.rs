//! `lease renew`: one more ttl for the lease of a ticket, and a new ticket for it.

use leasehold::clock::SystemClock;
use leasehold::{Clock, Policy};

use crate::args::Renew;
use crate::exit::Failure;
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
    let given = given.without_keeper()?;
    // Counted from before it is asked for.
    let until = SystemClock.now().plus(belief);
    let renewed = leases.renew(&given.carried.ticket).await;
    let ticket = renewed.map_err(|error| given.carried.not_used(error, "it was not renewed"))?;
    let carried = Carried::new(ticket, holder, until);
    let given = Handout { form: renew.form, slot }
        .give(&carried, until.since(SystemClock.now()))
        .map_err(|failure| no_ticket(failure, &carried));
    given.map(|()| 0)
}

fn no_ticket(failure: Failure, carried: &Carried) -> Failure {
    let message = format!(
        "{}: the ticket before is used up, so the lease on `{}` ends with its ttl",
        failure.message,
        carried.name()
    );
    Failure { message, ..failure }
}
