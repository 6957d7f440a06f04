//! Taking one's own record over from another process, by a ticket.

use lease_core::backend::Renewed;
use lease_core::{HolderInfo, Holding, LossReason, Mode, Result};

use crate::record::revision;
use crate::store::{Nats, TRIES};
use crate::wire::{Leaves, Put};

impl Nats {
    pub(crate) async fn adopted(&self, mine: &Holding, info: &HolderInfo) -> Result<Renewed> {
        let drains = async { mine.mode == Mode::Writer && self.drains(&mine.name).await };
        let (adopted, drain) = futures::join!(self.adopt_one(mine, info), drains);
        Ok(match adopted? {
            Renewed::Renewed { revision, .. } => Renewed::Renewed { revision, drain },
            lost => lost,
        })
    }

    async fn adopt_one(&self, mine: &Holding, info: &HolderInfo) -> Result<Renewed> {
        for _ in 0..TRIES {
            let own = match self.found(mine).await? {
                Ok(own) => own,
                Err(reason) => return Ok(Renewed::Lost(reason)),
            };
            let holder = own.holder();
            if super::own::is_handed_over(holder, mine) || holder.beat != mine.acknowledged {
                return Ok(Renewed::Lost(LossReason::HandedOver));
            }
            let put = self.rewrite(&own, holder.adopted(mine, info), Leaves::Value).await?;
            if let Put::Done(seq) = put {
                return Ok(Renewed::Renewed { revision: revision(seq), drain: false });
            }
        }
        Err(self.busy())
    }
}
