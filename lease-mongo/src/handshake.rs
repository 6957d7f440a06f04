//! Both handshakes, each of one update, and what is done about processes that are proven dead.

use std::sync::LazyLock;

use lease_core::backend::{Draining, Evicted, Joined, Taken};
use lease_core::{
    Backend, Claim, Epoch, Freshness, Grant, Holding, Judged, Policy, ProcessId, Result, Standing,
    State, Takeover, Target,
};
use mongodb::bson::Document;

use crate::error::nonsense;
use crate::pipelines::{self, Image, Step};
use crate::record::{Lease, beat, number, parse_revision, says};
use crate::store::Mongo;

/// The machine that we are on, asked once: the system does not answer for nothing.
static HERE: LazyLock<Option<ProcessId>> = LazyLock::new(ProcessId::of_this_process);

impl Mongo {
    /// The whole handshake of a writer.
    pub(crate) async fn join_at_once(&self, claim: &Claim, policy: &Policy) -> Result<Joined> {
        let (answer, dead) = self.try_to_join(claim, policy).await?;
        if !self.bury(claim, dead).await? {
            return Ok(answer);
        }
        Ok(match self.try_to_join(claim, policy).await?.0 {
            Joined::Granted(grant) => Joined::Granted(Grant { took_over: true, ..grant }),
            refused => refused,
        })
    }

    async fn try_to_join(&self, claim: &Claim, policy: &Policy) -> Result<(Joined, Vec<Target>)> {
        let step = |pipeline| Step {
            pipeline,
            shown: pipelines::shown_to_writer(claim),
            of: Image::After,
            creates: true,
        };
        if !pipelines::is_sweeper(claim.nonce) {
            let shown = self.shown(&claim.name, step(pipelines::join_if_free(claim))).await?;
            let exclusive = Lease::read(&claim.name, &shown)?.exclusive();
            let lives = |it: lease_core::Record| matches!(it.freshness, Freshness::Fresh { .. });
            if has_epoch(&shown) || exclusive.is_some_and(lives) {
                return joined(claim, policy, &shown);
            }
        }
        // There is more to decide: about an exclusive that has ended, or whom nobody can read.
        let shown = self.shown(&claim.name, step(pipelines::join(claim, policy))).await?;
        joined(claim, policy, &shown)
    }

    /// One round of an exclusive's handshake.
    pub(crate) async fn take_a_round(
        &self,
        claim: &Claim,
        draining: Option<&Draining>,
        policy: &Policy,
    ) -> Result<Taken> {
        let round = draining.map(|draining| draining.holding.next_beat());
        let before = draining.is_some_and(|draining| draining.took_over);
        let (answer, dead) = self.try_to_take(claim, round.as_ref(), policy).await?;
        let buried = self.bury(claim, dead).await?;
        let answer = match buried {
            true => self.try_to_take(claim, round.as_ref(), policy).await?.0,
            false => answer,
        };
        Ok(match answer {
            Taken::Granted(grant) => {
                Taken::Granted(Grant { took_over: grant.took_over || before || buried, ..grant })
            }
            Taken::Draining(more) => {
                Taken::Draining(Draining { took_over: more.took_over || before || buried, ..more })
            }
            other => other,
        })
    }

    async fn try_to_take(
        &self,
        claim: &Claim,
        round: Option<&Holding>,
        policy: &Policy,
    ) -> Result<(Taken, Vec<Target>)> {
        let Some(shown) = self.take_step(claim, round, policy).await? else {
            return Ok((Taken::Displaced(Epoch::default()), Vec::new()));
        };
        let lease = Lease::read(&claim.name, &shown)?;
        let dead_ones = |records: Vec<lease_core::Record>| -> Vec<Target> {
            let dead = |record: &lease_core::Record| {
                policy.judge(record, claim.ttl) == Some(Judged::DeadProcess)
            };
            records.iter().filter(|record| dead(record)).map(lease_core::Record::target).collect()
        };

        let exclusive = lease.exclusive();
        let own = exclusive.as_ref().filter(|x| x.nonce == claim.nonce);
        let Some(own) = own.filter(|own| is_this_round(own, round)) else {
            return Ok(match round {
                None => {
                    let dead = dead_ones(exclusive.into_iter().collect());
                    (Taken::Refused(standing(&lease, &shown)?), dead)
                }
                Some(_) => (withdrawn(&lease, &shown, policy)?, Vec::new()),
            });
        };
        let x = shown.get_document("x").map_err(|_| nonsense("the record has vanished"))?;
        let took_over = says(x, "over");
        let holding = match round {
            None => Holding::created(claim, own.revision.clone()),
            Some(mine) => mine.acknowledged(own.revision.clone()),
        };
        if own.state == State::Granted {
            let epoch = lease.epoch()?;
            let holding = Holding { epoch: Some(epoch), ..holding };
            return Ok((Taken::Granted(Grant { holding, epoch, took_over }), Vec::new()));
        }
        let waiting_for =
            Standing { holder: first_writer(&lease, &shown)?, ..standing(&lease, &shown)? };
        let dead = dead_ones(lease.writers("here")?);
        Ok((Taken::Draining(Draining { holding, took_over, waiting_for }), dead))
    }

    /// What a round leaves, as far as it is to be known; nothing if there is no document.
    async fn take_step(
        &self,
        claim: &Claim,
        round: Option<&Holding>,
        policy: &Policy,
    ) -> Result<Option<Document>> {
        let here = HERE.as_ref().filter(|_| policy.dead_processes);
        let step =
            |pipeline, shown| Step { pipeline, shown, of: Image::After, creates: round.is_none() };
        if round.is_none() {
            let usual = step(pipelines::take_if_free(claim), pipelines::shown_if_free(here));
            let shown = self.shown(&claim.name, usual).await?;
            if is_decided(claim, &shown)? {
                return Ok(Some(shown));
            }
        }
        // There is more to decide: about records that have ended, or that nobody can read.
        let whole = pipelines::take(claim, round, policy);
        self.place().step(&claim.name, step(whole, pipelines::shown_to_exclusive(here))).await
    }

    /// Removes the records of processes that are proven dead; whether there was any.
    async fn bury(&self, claim: &Claim, dead: Vec<Target>) -> Result<bool> {
        let mut any = false;
        for target in dead {
            let evicted = self.evict(&claim.name, &target, Judged::DeadProcess).await?;
            any |= evicted == Evicted::Condemned;
        }
        Ok(any)
    }
}

/// Whether the short form of a first round has left nothing for the whole to decide.
fn is_decided(claim: &Claim, shown: &Document) -> Result<bool> {
    let lease = Lease::read(&claim.name, shown)?;
    let Some(exclusive) = lease.exclusive() else { return Ok(false) };
    if exclusive.nonce != claim.nonce {
        return Ok(matches!(exclusive.freshness, Freshness::Fresh { .. }));
    }
    // Installed by this very step, as its time says, or by the same attempt before.
    let now = shown.get_document("x").and_then(|x| x.get_datetime("at")).ok();
    Ok(exclusive.state == State::Granted || now == shown.get_datetime("now").ok())
}

/// Whether one's own record is a grant: one without an epoch was registered and never checked.
fn has_epoch(shown: &Document) -> bool {
    shown.get_document("own").is_ok_and(|own| own.contains_key("epoch"))
}

/// What the answer to a writer's handshake says, and who of a dead process is in the way.
fn joined(claim: &Claim, policy: &Policy, shown: &Document) -> Result<(Joined, Vec<Target>)> {
    let lease = Lease::read(&claim.name, shown)?;
    if let Some(own) = shown.get_document("own").ok().filter(|_| has_epoch(shown)) {
        return Ok((Joined::Granted(granted(claim, own)?), Vec::new()));
    }
    let Some(exclusive) = lease.exclusive() else {
        return Err(nonsense("the record was removed before it was granted"));
    };
    let dead = policy.judge(&exclusive, claim.ttl) == Some(Judged::DeadProcess);
    let dead = dead.then(|| exclusive.target()).into_iter().collect();
    Ok((Joined::Refused(standing(&lease, shown)?), dead))
}

fn granted(claim: &Claim, own: &Document) -> Result<Grant> {
    let at = number(own, "beat").ok_or_else(|| crate::record::damaged(&claim.name))?;
    let epoch = crate::record::epoch(&claim.name, own)?;
    let holding = Holding::created(claim, crate::record::revision(at, false));
    let took_over = says(own, "over");
    Ok(Grant { holding: Holding { epoch: Some(epoch), ..holding }, epoch, took_over })
}

/// Whether the record carries this round's own write; the first round is any.
fn is_this_round(own: &lease_core::Record, round: Option<&Holding>) -> bool {
    let Some(mine) = round else { return true };
    parse_revision(&own.revision).is_some_and(|(at, _)| at == beat(mine.beat))
}

/// Why our record is not there after a later round: we left it to an operator to end the expired
/// writers, or somebody removed it.
fn withdrawn(lease: &Lease<'_>, shown: &Document, policy: &Policy) -> Result<Taken> {
    let stuck = |record: &lease_core::Record| record.freshness == Freshness::Stale;
    let refuses = policy.writers == Takeover::Refuse && !says(shown, "some_live");
    let alone = lease.exclusive().is_none() && refuses;
    if alone && first_writer(lease, shown)?.as_ref().is_some_and(stuck) {
        return Ok(Taken::Refused(standing(lease, shown)?));
    }
    Ok(Taken::Displaced(lease.epoch()?))
}

fn first_writer(lease: &Lease<'_>, shown: &Document) -> Result<Option<lease_core::Record>> {
    shown.get("first").map(|entry| lease.entry(entry)).transpose()
}

fn standing(lease: &Lease<'_>, shown: &Document) -> Result<Standing> {
    let holder = match lease.exclusive() {
        Some(exclusive) => Some(exclusive),
        None => first_writer(lease, shown)?,
    };
    let writers = number(shown, "count").and_then(|count| usize::try_from(count).ok());
    Ok(Standing { epoch: lease.epoch()?, holder, writers: writers.unwrap_or_default() })
}
