//! `lease release`: frees the lease of a ticket.

use std::sync::Arc;

use leasehold::clock::{SystemClock, within};
use leasehold::{Clock, Policy, Released};

use crate::args::Release;
use crate::exit::{Cause, Failure};
use crate::taking::{Open, RELEASE, open};
use crate::ticket::Given;

/// What was not done if the ticket does not work.
const NOT_FREED: &str = "nothing was freed";

pub(crate) async fn release(release: Release) -> Result<u8, Failure> {
    let given = Given::read(&release.given.ticket)?;
    let name = given.carried.name().clone();
    if let Some(keeper) = given.carried.keeper() {
        keeper.release(&name)?;
        given.forget();
        return Ok(0);
    }
    let (store, timing) = (&release.given.on.store, *given.carried.timing());
    let holder = given.carried.holder().of_nobody();
    let Open { leases, .. } = open(store, timing, Policy::expired(), holder).await?;
    // Only whoever has a ticket that works may free it: by its name alone the lease of whoever used
    // the ticket would go.
    let lease = given.redeem(&leases, NOT_FREED).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let ends = |problem: String| {
        let message = format!("`{name}` was not freed ({problem}): it ends with its ttl");
        Failure::new(Cause::Unavailable, message)
    };
    match within(&clock, RELEASE, lease.release()).await {
        Some(Ok(Released::Freed)) => Ok(0),
        Some(Ok(Released::NotHeld)) => {
            let message = format!("`{name}` was not held any more: {NOT_FREED}");
            Err(Failure::new(Cause::Lost, message))
        }
        Some(Err(error)) => Err(ends(error.to_string())),
        None => Err(ends("the store did not answer in time".to_owned())),
    }
}
