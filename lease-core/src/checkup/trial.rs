//! What every store must do, tried out on a name that nobody else has.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use super::{Check, Guarantee};
use crate::backend::{Broken, Confirmed, Installed, Joined, Renewed, Taken};
use crate::clock::within;
use crate::{
    Backend, BreakNote, Clock, Error, Grant, Holding, Jitter, Mode, Name, Policy, Result, Revision,
    Snapshot, Timing,
};

mod hands;

use hands::Trial;

const ONE_HOLDER: Guarantee =
    Guarantee::new("one-holder", "of those who ask for a name at once, one is granted");
const LATE: Guarantee = Guarantee::new(
    "late-claims",
    "a claim rests on what the store has, not on what was seen of it",
);
const EPOCHS: Guarantee = Guarantee::new("epochs-rise", "each grant has a higher epoch");
const SEEN: Guarantee =
    Guarantee::new("seen-at-once", "what one client has written, another one sees at once");
const ROUND_TRIP: Guarantee =
    Guarantee::new("round-trip", "a renewal is answered long before its lease would end");
const WOKEN: Guarantee = Guarantee::new("waiters", "who waits for a name learns that it is free");
const BROKEN: Guarantee =
    Guarantee::new("stale-renewal", "who was displaced is told so, and gets nothing back");
const DRAINS: Guarantee =
    Guarantee::new("writers-first", "nobody is granted a name alone while a writer has it");

/// How many ask for the name at once, and how often.
const RACERS: usize = 4;
const RACES: usize = 3;

/// How many renewals are timed.
const RENEWALS: usize = 5;

/// How much of the ttl a renewal may take: it is to be repeated several times before the end.
const PART_OF_THE_TTL: u32 = 16;

/// How long a waiter waits to be woken, and a name to be listed.
const SOON: Duration = Duration::from_secs(5);

/// A name for [`try_out`] that nobody else has.
///
/// # Errors
///
/// None: it is a valid name. What comes back is that of [`Name::parse`].
pub fn scratch_name() -> Result<Name> {
    Name::parse(format!("lease-doctor-{}", Jitter::system().nonce()))
}

/// Tries out on `name`, which is nobody's, what every store must do: two clients race for it, renew,
/// wait, break and drain.
///
/// `stores` are two clients of one store, which may be the same one; `clock` times their answers.
/// It takes some seconds, and up to a minute where the store or its clock is slow; a step that is
/// not answered within 30 s is the last. All records are withdrawn at the end; what a store keeps
/// of a free name is the caller's to remove. That the store does not answer, or refuses, is a
/// finding and no error.
///
/// # Cancel safety
///
/// Safe: records that are left end one minute later, or one shortest ttl.
pub async fn try_out(stores: [&dyn Backend; 2], clock: &Arc<dyn Clock>, name: &Name) -> Vec<Check> {
    let trial = Trial::new(stores, clock, name);
    let mut checks = Vec::new();
    // Each step rests on the ones before it: the first that fails is the last.
    if let Err(check) = trial.run(&mut checks).await {
        checks.push(check);
    }
    trial.clear_up().await;
    checks
}

/// What the failure of a step tells of the guarantee that it was to show.
fn failed(guarantee: Guarantee) -> impl Fn(Error) -> Check {
    move |error| guarantee.failed(&error)
}

impl<'t> Trial<'t> {
    async fn run(&self, checks: &mut Vec<Check>) -> Result<(), Check> {
        let mut epochs = Vec::new();
        for race in 0..RACES {
            let granted = self.race().await.map_err(failed(ONE_HOLDER))?;
            if granted.len() > 1 {
                return Err(ONE_HOLDER.broken(
                    format!("{} of {RACERS} were granted the name at once", granted.len()),
                    "keep leases elsewhere: this store does not decide its writes one by one",
                ));
            }
            if let Some(grant) = granted.first() {
                epochs.push(grant.epoch);
                let released = self.release(self.stores[race % 2], &grant.holding).await;
                released.map_err(failed(ONE_HOLDER))?;
            }
            // One whose answer was lost may hold it.
            self.clear_up().await;
        }
        checks.push(match epochs.len() {
            0 => ONE_HOLDER.unknown(format!("nobody was granted in {RACES} races")),
            races => ONE_HOLDER.holds(format!("{races} races of {RACERS}, one holder each")),
        });
        let holding = self.watched(checks).await?;
        self.broken(checks, holding.as_ref(), &mut epochs).await?;
        if epochs.is_sorted_by(|a, b| a < b) {
            let last = epochs.last().copied().unwrap_or_default();
            checks.push(EPOCHS.holds(format!("{} grants, the last of epoch {last}", epochs.len())));
        } else {
            checks.push(EPOCHS.broken(
                format!("an epoch was given again or fell: {epochs:?}"),
                "keep leases elsewhere: a fenced resource would take an old holder for a new one",
            ));
        }
        self.drains(checks).await
    }

    /// All who are granted of several who ask at once, through both clients.
    async fn race(&self) -> Result<Vec<Grant>> {
        let racers = (0..RACERS).map(|racer| self.ask(self.stores[racer % 2]));
        let (mut granted, mut failed) = (Vec::new(), None);
        for answer in join_all(racers).await {
            match answer {
                Ok(grant) => granted.extend(grant),
                Err(error @ Error::Misconfigured { .. }) => return Err(error),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if granted.is_empty() => Err(error),
            _ => Ok(granted),
        }
    }

    /// One holds, the other sees it, waits, and is woken.
    async fn watched(&self, checks: &mut Vec<Check>) -> Result<Option<Holding>, Check> {
        let [ours, theirs] = self.stores;
        let before =
            self.answered(theirs, theirs.observe(self.name)).await.map_err(failed(SEEN))?;
        let held = self.hold(ours).await.map_err(failed(SEEN))?.holding;
        checks.push(self.is_late(theirs, &before).await?);
        let seen = self.answered(theirs, theirs.observe(self.name)).await.map_err(failed(SEEN))?;
        let is_listed = self.is_listed(theirs, SOON).await.map_err(failed(SEEN))?;
        checks.push(if seen.record(held.nonce).is_none() {
            SEEN.broken(
                "a lease was acknowledged to one client, and another one does not see it",
                "read from where it is written: no replica, cache or mirror that lags behind",
            )
        } else if is_listed {
            SEEN.holds("a lease is seen and its name listed by another client")
        } else {
            SEEN.doubtful(
                format!("a name is not listed within {} s of its first lease", SOON.as_secs()),
                "leases are right; `lease list` shows an older state",
            )
        });
        let held = self.timed(checks, held).await?;

        if !theirs.capabilities().push {
            checks.push(WOKEN.holds("waiters look again and again: this store wakes nobody"));
            return Ok(Some(held));
        }
        let watch = self.answered(theirs, theirs.watch(self.name)).await;
        let mut watch = match watch {
            Ok(watch) => watch,
            Err(error) => {
                checks.push(not_woken(&error.to_string()));
                return Ok(Some(held));
            }
        };
        self.release(ours, &held).await.map_err(failed(WOKEN))?;
        let freed = self.clock.now();
        checks.push(match within(self.clock, SOON, watch.changed()).await {
            Some(Ok(())) => {
                let took = self.clock.now().since(freed);
                WOKEN.holds(format!("woken {} ms after the release", took.as_millis()))
            }
            Some(Err(error)) => not_woken(&error.to_string()),
            None => not_woken("nothing came"),
        });
        Ok(None)
    }

    /// One comes too late, who looked before the name was granted to another.
    async fn is_late(&self, store: &'t dyn Backend, before: &Snapshot) -> Result<Check, Check> {
        let late = self.claim(store, Mode::Exclusive);
        let installed = self.answered(store, store.install(&late, before, None)).await;
        if installed.map_err(failed(LATE))? != Installed::Refused {
            return Err(LATE.broken(
                "one who had looked before another one was granted was let in beside it",
                "keep leases elsewhere: this store does not heed what a write is conditional on",
            ));
        }
        self.forget(late.nonce);
        Ok(LATE.holds("one who had looked before another one was granted was refused"))
    }

    /// Renews some times.
    async fn timed(&self, checks: &mut Vec<Check>, held: Holding) -> Result<Holding, Check> {
        let (store, ttl) = (self.stores[0], Timing::DEFAULT_TTL);
        let (mut mine, mut slowest) = (held, Duration::ZERO);
        for _ in 0..RENEWALS {
            mine = mine.next_beat();
            let sent = self.clock.now();
            let renewed = self.renew(store, &mine).await.map_err(failed(ROUND_TRIP))?;
            slowest = slowest.max(self.clock.now().since(sent));
            mine = match renewed {
                Renewed::Renewed { revision, .. } => mine.acknowledged(revision),
                Renewed::Lost(reason) => {
                    return Err(ROUND_TRIP.broken(
                        format!(
                            "a lease that nobody had touched was lost at its renewal: {reason}"
                        ),
                        "see what else writes to or deletes from the store",
                    ));
                }
            };
        }
        let needs = slowest * PART_OF_THE_TTL;
        let took = format!("the slowest of {RENEWALS} renewals took {} ms", slowest.as_millis());
        checks.push(if needs <= ttl {
            ROUND_TRIP.holds(took)
        } else {
            ROUND_TRIP.doubtful(
                format!("{took}, which is much of the usual ttl of {} s", ttl.as_secs()),
                format!(
                    "use a ttl of {} s or more, or a store that is nearer",
                    needs.as_secs() + 1
                ),
            )
        });
        Ok(mine)
    }

    /// A holder is broken by an operator, renews late, and another one comes.
    async fn broken(
        &self,
        checks: &mut Vec<Check>,
        held: Option<&Holding>,
        epochs: &mut Vec<crate::Epoch>,
    ) -> Result<(), Check> {
        let [ours, theirs] = self.stores;
        if let Some(held) = held {
            self.release(ours, held).await.map_err(failed(BROKEN))?;
        }
        let mine = self.hold(ours).await.map_err(failed(BROKEN))?;
        epochs.push(mine.epoch);
        let note = BreakNote::new("lease doctor".to_owned(), "a check".to_owned());
        let broken = theirs.break_record(self.name, mine.holding.nonce, &note);
        let broken = self.answered(theirs, broken).await.map_err(failed(BROKEN))?;
        let next = self.hold(theirs).await.map_err(failed(BROKEN))?;
        epochs.push(next.epoch);
        let late = mine.holding.next_beat();
        let renewed = self.renew(ours, &late).await.map_err(failed(BROKEN))?;
        self.answered(ours, ours.withdraw(&late)).await.map_err(failed(BROKEN))?;
        let confirmed =
            self.answered(ours, ours.confirm(&mine.holding)).await.map_err(failed(BROKEN))?;
        let goes_on =
            self.answered(theirs, theirs.confirm(&next.holding)).await.map_err(failed(BROKEN))?;
        let is_refused = matches!(renewed, Renewed::Lost(_))
            && matches!(confirmed, Confirmed::Lost(_))
            && matches!(broken, Broken::Broken { epoch } if epoch > mine.epoch)
            && matches!(goes_on, Confirmed::Held { .. });
        self.forget(mine.holding.nonce);
        self.release(theirs, &next.holding).await.map_err(failed(BROKEN))?;
        let late = next.holding.next_beat();
        let renewed = self.renew(theirs, &late).await.map_err(failed(BROKEN))?;
        let is_refused = is_refused && matches!(renewed, Renewed::Lost(_));
        checks.push(match is_refused {
            true => BROKEN.holds("a broken holder's renewal was refused, and the next one held on"),
            false => BROKEN.broken(
                "a lease was broken or released, and its old holder holds on or disturbs the next one",
                "keep leases elsewhere: this store answers with what is no longer so",
            ),
        });
        Ok(())
    }

    /// A writer is there when somebody asks for the name alone.
    async fn drains(&self, checks: &mut Vec<Check>) -> Result<(), Check> {
        let [ours, theirs] = self.stores;
        let claim = self.claim(theirs, Mode::Writer);
        let joined = self.answered(theirs, theirs.join(&claim, &Policy::refuse())).await;
        let Joined::Granted(writer) = joined.map_err(failed(DRAINS))? else {
            return Err(DRAINS.unknown("a writer was not let in to a name that is free"));
        };
        let claim = self.claim(ours, Mode::Exclusive);
        let taken = self.answered(ours, ours.take(&claim, None, &Policy::refuse())).await;
        let waits = match taken.map_err(failed(DRAINS))? {
            Taken::Granted(_) => false,
            Taken::Draining(_) | Taken::Refused(_) | Taken::Displaced(_) => true,
        };
        self.release(theirs, &writer.holding).await.map_err(failed(DRAINS))?;
        let mine = Holding::created(&claim, Revision::new(""));
        self.release(ours, &mine).await.map_err(failed(DRAINS))?;
        checks.push(match waits {
            true => DRAINS.holds("who asks for it alone waits for the writer"),
            false => DRAINS.broken(
                "a name was granted to one alone while a writer had it",
                "keep leases elsewhere: a listing here does not show what was written before",
            ),
        });
        Ok(())
    }
}

fn not_woken(why: &str) -> Check {
    WOKEN.doubtful(
        format!("a waiter was not woken when the name was released: {why}"),
        "waiters look again by themselves, and later; let this user read the store's changes",
    )
}
