//! Does what the plan says, until its time is up.

use std::sync::Arc;
use std::time::Duration;

use leasehold::clock::SystemClock;
use leasehold::{Clock, Moment};
use testbed::{Flow, Spoil};

use crate::backends::Kind;
use crate::disk::Disk;
use crate::event::{What, Who};
use crate::fleet::Fleet;
use crate::ground::Ground;
use crate::history::Recorder;
use crate::plan::{self, ClientFault, LinkFault, ServerFault};

type Anything = Box<dyn std::error::Error + Send + Sync>;

/// Who breaks things.
#[derive(Clone, Debug)]
pub struct Nemesis {
    /// The seed of its plan.
    pub seed: u64,
    /// What the plan is for.
    pub kind: Kind,
    /// What is hit.
    pub ground: Arc<Ground>,
    /// Who is hit.
    pub fleet: Arc<Fleet>,
    /// Where it is told.
    pub recorder: Recorder,
}

impl Nemesis {
    /// Breaks things for so long; all is well again when it returns.
    ///
    /// # Errors
    ///
    /// When something does not get well again.
    pub async fn storm(&self, time: Duration) -> Result<(), Anything> {
        let end = SystemClock.now().plus(time);
        let (half, all) = (self.fleet.places() / 2, self.fleet.places());
        tokio::try_join!(
            self.hit_clients(0..half, end),
            self.hit_clients(half..all, end),
            self.hit_links(end),
            self.hit_servers(end),
            self.hit_disk(end),
        )?;
        Ok(())
    }

    async fn hit_clients(
        &self,
        places: std::ops::Range<usize>,
        end: Moment,
    ) -> Result<(), Anything> {
        if places.is_empty() {
            return Ok(());
        }
        for step in plan::clients(self.seed, places, self.kind.ttl(), self.kind.wall_clocks()) {
            if !pause(step.after, end).await {
                break;
            }
            match step.fault {
                ClientFault::Stop(time) => self.fleet.stop(step.whom, time).await?,
                ClientFault::Kill { away, seed, ahead_s } => {
                    self.fleet.kill(step.whom).await?;
                    tokio::time::sleep(away).await;
                    self.fleet.start(step.whom, seed, ahead_s).await?;
                }
            }
        }
        Ok(())
    }

    async fn hit_links(&self, end: Moment) -> Result<(), Anything> {
        let links = &self.ground.links;
        if links.is_empty() {
            return Ok(());
        }
        for step in plan::links(self.seed, links.len(), self.kind.ttl()) {
            if !pause(step.after, end).await {
                break;
            }
            let link = &links[step.whom];
            let fault = format!("{:?} on way {}", step.fault, step.whom);
            self.tell(What::Spoils { fault: fault.clone() });
            match step.fault {
                LinkFault::BlackHole => link.black_hole(),
                LinkFault::AnswersVanish => link.set(Flow::Pass, Flow::Swallow),
                LinkFault::RequestsWait => link.set(Flow::Hold, Flow::Pass),
                LinkFault::Delay(by) => link.delay(by),
                LinkFault::Reset => link.reset(),
                LinkFault::OneAnswer { silently: true } => link.lose_next_answer(Spoil::Silence),
                LinkFault::OneAnswer { silently: false } => link.lose_next_answer(Spoil::Reset),
            }
            tokio::time::sleep(step.time).await;
            link.heal();
            self.tell(What::Mends { fault });
        }
        Ok(())
    }

    async fn hit_servers(&self, end: Moment) -> Result<(), Anything> {
        let servers = self.ground.servers().await;
        if servers == 0 {
            return Ok(());
        }
        let isolates = self.ground.has_members().await;
        for step in plan::servers(self.seed, servers, self.kind.ttl(), isolates) {
            if !pause(step.after, end).await {
                break;
            }
            let fault = format!("{:?} of server {}", step.fault, step.whom);
            self.tell(What::Spoils { fault: fault.clone() });
            let meanwhile = tokio::time::sleep(step.time);
            match step.fault {
                ServerFault::Restart => self.ground.restart(step.whom, meanwhile).await?,
                ServerFault::Pause => self.ground.pause(step.whom, meanwhile).await?,
                ServerFault::Isolate => self.ground.isolate(step.whom, meanwhile).await?,
            }
            self.tell(What::Mends { fault });
        }
        Ok(())
    }

    async fn hit_disk(&self, end: Moment) -> Result<(), Anything> {
        let Some(disk) = Disk::here() else { return Ok(()) };
        for step in plan::disk(self.seed, self.kind.ttl()) {
            if !pause(step.after, end).await {
                break;
            }
            let fault = "a full disk".to_owned();
            self.tell(What::Spoils { fault: fault.clone() });
            disk.fill(tokio::time::sleep(step.time)).await?;
            self.tell(What::Mends { fault });
        }
        Ok(())
    }

    fn tell(&self, what: What) {
        self.recorder.add(Who::Nemesis, what);
    }
}

/// Waits; false when the storm is over.
async fn pause(time: Duration, end: Moment) -> bool {
    let next = SystemClock.now().plus(time);
    SystemClock.sleep_until(next.min(end)).await;
    next < end
}
