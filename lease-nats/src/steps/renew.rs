//! Renewing: all that is due in one round trip.

use std::collections::HashMap;

use futures::future::join_all;
use lease_core::backend::Renewed;
use lease_core::{Holding, LossReason, Mode, Name, Result};

use super::own::is_handed_over;
use crate::record::revision;
use crate::store::{Nats, TRIES};
use crate::wire::{Leaves, Put};

impl Nats {
    /// Renews each record on its own condition. The requests go out together; writers' names are
    /// looked at beside them, once each.
    pub(crate) async fn renew_all(&self, mine: &[Holding]) -> Vec<Result<Renewed>> {
        let written: HashMap<&Name, ()> =
            mine.iter().filter(|one| one.mode == Mode::Writer).map(|one| (&one.name, ())).collect();
        let hints = written.into_keys().map(async |name| (name, self.drains(name).await));
        let renewals = mine.iter().map(|one| self.renew_one(one));
        let (answers, hints) = futures::join!(join_all(renewals), join_all(hints));
        let drains: HashMap<&Name, bool> = hints.into_iter().collect();
        let told = |(one, answer): (&Holding, Result<Renewed>)| match answer {
            Ok(Renewed::Renewed { revision, .. }) => {
                let drain = drains.get(&one.name).copied().unwrap_or(false);
                Ok(Renewed::Renewed { revision, drain: drain && one.mode == Mode::Writer })
            }
            other => other,
        };
        mine.iter().zip(answers).map(told).collect()
    }

    async fn renew_one(&self, mine: &Holding) -> Result<Renewed> {
        let mut own = self.remembered(mine);
        for _ in 0..TRIES {
            let (read, found) = match own.take() {
                Some(own) => (false, own),
                None => match self.found(mine).await? {
                    Ok(found) => (true, found),
                    Err(reason) => return Ok(Renewed::Lost(reason)),
                },
            };
            let holder = found.holder();
            // R2, R8: only over one's own last acknowledged write or an unanswered one since.
            let goes_on = (mine.acknowledged..mine.beat).contains(&holder.beat)
                && !is_handed_over(holder, mine);
            if !goes_on && !read {
                // What is remembered may be old; the store decides.
                continue;
            }
            if is_handed_over(holder, mine) {
                return Ok(Renewed::Lost(LossReason::HandedOver));
            }
            if holder.beat == mine.beat {
                // The same write again: it counts once, from when it was first stored.
                return Ok(Renewed::Renewed { revision: revision(found.seq), drain: false });
            }
            if !goes_on {
                return Ok(Renewed::Lost(LossReason::Displaced));
            }
            match self.rewrite(&found, holder.renewed(mine), Leaves::Quiet).await? {
                Put::Done(seq) => {
                    return Ok(Renewed::Renewed { revision: revision(seq), drain: false });
                }
                Put::Moved => {}
                Put::Busy => own = Some(found),
            }
        }
        Err(self.busy())
    }
}
