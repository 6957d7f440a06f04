//! Proving that a record is still there, without renewing it.

use lease_core::backend::Confirmed;
use lease_core::{Holding, Mode, Result};

use super::own::is_handed_over;
use crate::store::{Nats, TRIES};
use crate::wire::{Put, When};

impl Nats {
    /// Writes a probe that is stored only while one's own record is as it was last written. The
    /// acknowledgement of that is the proof: a read could be answered by a server that was cut off.
    pub(crate) async fn confirmed(&self, mine: &Holding) -> Result<Confirmed> {
        let drains = async { mine.mode == Mode::Writer && self.drains(&mine.name).await };
        let (proven, drain) = futures::join!(self.prove(mine), drains);
        Ok(match proven? {
            Confirmed::Held { .. } => Confirmed::Held { drain },
            lost => lost,
        })
    }

    async fn prove(&self, mine: &Holding) -> Result<Confirmed> {
        let key = Self::own_key(mine);
        let mut own = self.remembered(mine);
        for _ in 0..TRIES {
            let found = match own.take() {
                Some(own) if !is_handed_over(own.holder(), mine) => own,
                _ => match self.found(mine).await? {
                    Ok(found) => found,
                    Err(reason) => return Ok(Confirmed::Lost(reason)),
                },
            };
            if is_handed_over(found.holder(), mine) {
                return Ok(Confirmed::Lost(lease_core::LossReason::HandedOver));
            }
            match self.probe(When::If(&key, found.seq)).await? {
                Put::Done(_) => return Ok(Confirmed::Held { drain: false }),
                Put::Moved => {}
                Put::Busy => own = Some(found),
            }
        }
        Err(self.busy())
    }
}
