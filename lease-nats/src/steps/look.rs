//! All that the bucket holds of a name.

use std::collections::HashMap;

use futures::future::try_join_all;
use lease_core::{Error, Freshness, Mode, Name, Nonce, Record, Result, Snapshot, State};

use crate::error::KIND;
use crate::key::{Keys, Part};
use crate::memo::{Content, Place};
use crate::record::{Spoilt, Writer, sequence};
use crate::store::{Nats, TRIES};
use crate::wire::{Info, Kept, Leaves, Listed, Put, When};

/// All that the bucket held of a name at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) place: Place,
    pub(crate) writers: Vec<Seen>,
    /// The server's clock: when one's own write was stored that this rests on, or else as the
    /// leader told it.
    now: u64,
}

/// A writer's record as it was seen.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    nonce: Nonce,
    seq: u64,
    at: u64,
    content: std::result::Result<Writer, Spoilt>,
}

/// A write of one's own that a look must show, so that it is not older than that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Witness<'a> {
    pub(crate) key: &'a str,
    pub(crate) seq: u64,
}

/// How often any replica is asked, before the leader is asked for each key by itself.
const LISTS: usize = 16;

/// How often a look is begun anew.
const LOOKS: usize = 64;

impl Nats {
    /// All of `name`, as of no earlier than this call: a write of one's own, and a look that shows
    /// it. A read alone proves nothing, for a server that was cut off from its cluster still answers.
    ///
    /// A writer that finds itself here without an exclusive beside it may go on. So the anchor has
    /// to say that writers may be there, before this does.
    pub(crate) async fn observed(&self, name: &Name) -> Result<Look> {
        for _ in 0..TRIES {
            let key = self.probe_key();
            let Put::Done(seq) = self.probe(When::Always).await? else { continue };
            let look = self.look(name, Some(Witness { key, seq })).await?;
            self.remember(name, &look);
            if look.writers.is_empty() || look.place.is_held() {
                return Ok(look);
            }
            let anchor = match &look.place.content {
                Content::Anchor(anchor) if anchor.shared => return Ok(look),
                Content::Anchor(anchor) => anchor.clone(),
                _ => self.fresh_anchor(name).await?,
            };
            self.swap(look.place.seq, anchor.sharing(true), Leaves::Quiet).await?;
        }
        Err(self.busy())
    }

    /// All of `name`, as of no earlier than the witness was stored. Without a witness it is what
    /// the bucket's leader has, if that still is the leader.
    ///
    /// Two answers must agree: the leader's list of the keys, which misses none, and any replica's
    /// list of the messages, which may miss one that is written just then.
    pub(crate) async fn look(&self, name: &Name, witness: Option<Witness<'_>>) -> Result<Look> {
        let keys = Keys::of(name);
        let (all, anchor, writers) = (keys.all(), keys.anchor(), keys.writers());
        let mut since = witness.map(|witness| witness.seq);
        for round in 0..LOOKS {
            let mut filters = vec![anchor.as_str(), writers.as_str()];
            filters.extend(witness.map(|w| w.key).filter(|key| *key != anchor));
            let lists = async {
                if round < LISTS { self.wire.list(&filters).await } else { Ok(Listed::TooMany) }
            };
            let (info, listed) = futures::join!(self.info(&all), lists);
            let info = info?;
            // Without a witness, what the leader had at first is enough.
            let since = *since.get_or_insert(info.last_seq);
            if info.last_seq < since {
                continue;
            }
            let found = match listed {
                Ok(Listed::All(found, up_to)) if up_to >= since => found,
                Ok(Listed::Nothing) => Vec::new(),
                Ok(Listed::TooMany) => match self.one_by_one(&keys, &info, witness).await? {
                    Some(found) => found,
                    None => continue,
                },
                Ok(_) => continue,
                // A bucket without direct gets has nobody who answers them.
                Err(_) if round < LISTS => match self.one_by_one(&keys, &info, witness).await? {
                    Some(found) => found,
                    None => continue,
                },
                Err(error) => return Err(error),
            };
            if let Some(look) = gathered(name, &keys, &info, found, witness) {
                return Ok(look);
            }
        }
        Err(Error::unreached(KIND, "the servers' lists of a name do not come to agree"))
    }

    /// Asks the bucket's leader for each key. Nothing if one went meanwhile.
    async fn one_by_one(
        &self,
        keys: &Keys,
        info: &Info,
        witness: Option<Witness<'_>>,
    ) -> Result<Option<Vec<(String, Kept)>>> {
        let of_name = info.keys.iter().filter(|key| keys.part(key).is_some());
        let mut wanted: Vec<&str> = of_name.map(String::as_str).collect();
        if let Some(witness) = witness
            && !wanted.contains(&witness.key)
        {
            wanted.push(witness.key);
        }
        let reads = wanted.iter().map(|key| self.wire.last(key));
        let found = try_join_all(reads).await?;
        let pairs = wanted.into_iter().zip(found);
        Ok(pairs.map(|(key, kept)| Some((key.to_owned(), kept?))).collect())
    }

    /// Remembers what is stale by this look: it stays so.
    fn remember(&self, name: &Name, look: &Look) {
        self.memo.set_anchor(name, look.place.clone());
        let snapshot = look.snapshot();
        for record in snapshot.exclusive.iter().chain(&snapshot.writers) {
            let seq = sequence(&record.revision);
            if let (Freshness::Stale, Some(seq)) = (record.freshness, seq) {
                self.memo.set_stale(record.nonce, seq);
            }
        }
    }

    /// All of `name` for people and tools, without a write.
    pub(crate) async fn inspected(&self, name: &Name) -> Result<Snapshot> {
        Ok(self.look(name, None).await?.snapshot())
    }

    /// A look that follows one's own write of the name's anchor.
    pub(crate) async fn look_after(&self, name: &Name, seq: u64) -> Result<Look> {
        let key = Keys::of(name).anchor();
        let look = self.look(name, Some(Witness { key: &key, seq })).await?;
        self.remember(name, &look);
        Ok(look)
    }
}

impl Look {
    /// As the protocol sees it.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let now = Some(self.now);
        Snapshot { writers: self.writers(), ..self.place.snapshot(now) }
    }

    /// The writers, oldest write first.
    pub(crate) fn writers(&self) -> Vec<Record> {
        self.writers.iter().map(|seen| seen.record(Some(self.now))).collect()
    }
}

impl Seen {
    fn record(&self, now: Option<u64>) -> Record {
        let (mode, at) = (Mode::Writer, Some(self.at));
        match &self.content {
            Ok(writer) => writer.holder.record(mode, State::Granted, self.seq, at, now),
            Err(spoilt) => spoilt.record(mode, self.nonce, self.seq, at, now),
        }
    }
}

/// Makes one look of two answers; nothing if they do not agree.
fn gathered(
    name: &Name,
    keys: &Keys,
    info: &Info,
    found: Vec<(String, Kept)>,
    witness: Option<Witness<'_>>,
) -> Option<Look> {
    let found: HashMap<String, Kept> = found.into_iter().collect();
    let now = match witness {
        None => info.now,
        Some(witness) => found.get(witness.key).filter(|kept| kept.seq >= witness.seq)?.at,
    };
    // Each key that the leader knows must be there.
    let missing = |key: &&String| keys.part(key).is_some() && !found.contains_key(*key);
    if info.keys.iter().any(|key| missing(&key)) {
        return None;
    }
    let mut writers = Vec::new();
    for (key, kept) in &found {
        if let Some(Part::Writer(nonce)) = keys.part(key)
            && !kept.ended
        {
            let content = Writer::decode(&kept.body, name, nonce);
            writers.push(Seen { nonce, seq: kept.seq, at: kept.at, content });
        }
    }
    writers.sort_by_key(|seen| seen.seq);
    let place = Place::of(found.get(&keys.anchor()), name);
    Some(Look { place, writers, now })
}
