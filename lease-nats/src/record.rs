//! What stands in a key, and what it means.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lease_core::{
    Claim, Epoch, Freshness, HolderInfo, Holding, Mode, Name, Nonce, Record, Revision, State,
    Unreadable,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::key::Keys;

/// The format that this version writes. A higher one is respected and not touched.
const VERSION: u64 = 1;

/// The last exclusives of a name whose nonces are remembered as spent.
const SPENT: usize = 8;

/// What is kept of a name when nobody holds, and the exclusive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Anchor {
    v: u64,
    name: Name,
    pub(crate) epoch: u64,
    /// Whether writers may be there: the next exclusive has to look for them.
    pub(crate) shared: bool,
    #[serde(default)]
    spent: VecDeque<Nonce>,
    #[serde(default)]
    pub(crate) x: Option<Exclusive>,
}

/// The exclusive, draining or granted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Exclusive {
    pub(crate) state: State,
    #[serde(flatten)]
    pub(crate) holder: Holder,
}

/// One writer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Writer {
    v: u64,
    name: Name,
    #[serde(flatten)]
    pub(crate) holder: Holder,
}

/// What exclusives and writers have in common.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Holder {
    pub(crate) nonce: Nonce,
    /// In nanoseconds, so that it is kept exactly.
    ttl: u64,
    pub(crate) beat: u64,
    /// The last beat that another process took over.
    #[serde(default)]
    pub(crate) adopted: Option<u64>,
    pub(crate) info: Arc<HolderInfo>,
}

/// A record that cannot be read, and what can be read of it.
#[derive(Clone, Debug)]
pub(crate) struct Spoilt {
    pub(crate) why: Unreadable,
    epoch: u64,
}

impl Holder {
    pub(crate) fn new(claim: &Claim) -> Self {
        Self {
            nonce: claim.nonce,
            ttl: nanos(claim.ttl),
            beat: 0,
            adopted: None,
            info: Arc::clone(&claim.info),
        }
    }

    pub(crate) const fn ttl(&self) -> Duration {
        Duration::from_nanos(self.ttl)
    }

    /// As `mine` renews it.
    pub(crate) fn renewed(&self, mine: &Holding) -> Self {
        Self { ttl: nanos(mine.ttl), beat: mine.beat, ..self.clone() }
    }

    /// As another process has it from now on.
    pub(crate) fn adopted(&self, mine: &Holding, info: &HolderInfo) -> Self {
        let adopted = Some(self.beat);
        Self { adopted, info: Arc::new(info.clone()), ..self.renewed(mine) }
    }

    /// As the protocol sees it, written as `seq` at `at`, by the time `now`.
    pub(crate) fn record(
        &self,
        mode: Mode,
        state: State,
        seq: u64,
        at: Option<u64>,
        now: Option<u64>,
    ) -> Record {
        let age = age(at, now);
        Record {
            nonce: self.nonce,
            mode,
            state,
            revision: revision(seq),
            ttl: self.ttl(),
            age,
            freshness: match age {
                None => Freshness::Unknown,
                Some(age) if age >= self.ttl() => Freshness::Stale,
                Some(age) => Freshness::Fresh { left: self.ttl() - age },
            },
            info: self.info.as_ref().clone(),
            unreadable: None,
        }
    }
}

impl Anchor {
    /// Of a name that nobody used yet.
    pub(crate) fn fresh(name: &Name, epoch: u64, shared: bool) -> Self {
        let (spent, x) = (VecDeque::new(), None);
        Self { v: VERSION, name: name.clone(), epoch, shared, spent, x }
    }

    /// In the place of one that cannot be read: whatever it knew of writers is unknown.
    pub(crate) fn instead_of(spoilt: &Spoilt, name: &Name) -> Self {
        Self::fresh(name, spoilt.epoch, true)
    }

    /// With this exclusive in the place of whichever was there.
    pub(crate) fn with(&self, state: State, holder: Holder) -> Self {
        Self { x: Some(Exclusive { state, holder }), ..self.without() }
    }

    /// Without an exclusive; whichever was there is spent.
    pub(crate) fn without(&self) -> Self {
        let mut anchor = self.clone();
        if let Some(gone) = anchor.x.take() {
            anchor.spend(gone.holder.nonce);
        }
        anchor
    }

    /// The same, under this epoch.
    pub(crate) fn under(self, epoch: Epoch) -> Self {
        Self { epoch: epoch.get(), ..self }
    }

    /// The same, saying whether writers may be there.
    pub(crate) fn sharing(self, shared: bool) -> Self {
        Self { shared, ..self }
    }

    /// The same, with this nonce spent too.
    pub(crate) fn spending(mut self, nonce: Nonce) -> Self {
        self.spend(nonce);
        self
    }

    /// Remembers that this nonce is never to be installed again.
    fn spend(&mut self, nonce: Nonce) {
        if !self.is_spent(nonce) {
            self.spent.push_back(nonce);
        }
        while self.spent.len() > SPENT {
            self.spent.pop_front();
        }
    }

    pub(crate) fn is_spent(&self, nonce: Nonce) -> bool {
        self.spent.contains(&nonce)
    }

    /// The exclusive, if it is this one.
    pub(crate) fn held_by(&self, nonce: Nonce) -> Option<&Exclusive> {
        self.x.as_ref().filter(|x| x.holder.nonce == nonce)
    }

    pub(crate) fn shown_epoch(&self) -> Epoch {
        Epoch::new(self.epoch).unwrap_or(Epoch::MAX)
    }

    pub(crate) fn decode(body: &[u8], name: Option<&Name>) -> Result<Self, Spoilt> {
        let anchor: Self = decode(body)?;
        same_name(name, &anchor.name)?;
        Ok(anchor)
    }

    pub(crate) fn encode(&self) -> Bytes {
        encode(self)
    }

    pub(crate) const fn name(&self) -> &Name {
        &self.name
    }
}

impl Writer {
    pub(crate) fn new(claim: &Claim) -> Self {
        Self { v: VERSION, name: claim.name.clone(), holder: Holder::new(claim) }
    }

    pub(crate) fn with(&self, holder: Holder) -> Self {
        Self { holder, ..self.clone() }
    }

    /// The key that it stands in.
    pub(crate) fn key(&self) -> String {
        Keys::of(&self.name).writer(self.holder.nonce)
    }

    pub(crate) fn decode(body: &[u8], name: &Name, nonce: Nonce) -> Result<Self, Spoilt> {
        let writer: Self = decode(body)?;
        same_name(Some(name), &writer.name)?;
        if writer.holder.nonce != nonce {
            return Err(Spoilt::corrupt("it is another writer's record"));
        }
        Ok(writer)
    }

    pub(crate) fn encode(&self) -> Bytes {
        encode(self)
    }
}

impl Spoilt {
    fn corrupt(problem: impl Into<String>) -> Self {
        Self { why: Unreadable::Corrupt(problem.into()), epoch: 0 }
    }

    /// The epoch, as far as it can be made out.
    pub(crate) fn epoch(&self) -> Epoch {
        Epoch::new(self.epoch).unwrap_or_default()
    }

    /// As the protocol sees it.
    pub(crate) fn record(
        &self,
        mode: Mode,
        nonce: Nonce,
        seq: u64,
        at: Option<u64>,
        now: Option<u64>,
    ) -> Record {
        Record {
            nonce,
            mode,
            state: State::Granted,
            revision: revision(seq),
            ttl: Duration::ZERO,
            age: age(at, now),
            freshness: Freshness::Unknown,
            info: HolderInfo::default(),
            unreadable: Some(self.why.clone()),
        }
    }
}

/// The nonce by which an exclusive is found that cannot be read.
pub(crate) fn stand_in(seq: u64) -> Nonce {
    let mut bytes = *b"unread: \0\0\0\0\0\0\0\0";
    bytes[8..].copy_from_slice(&seq.to_be_bytes());
    Nonce::from_bytes(bytes)
}

/// A write, by the number that the bucket gave it.
pub(crate) fn revision(seq: u64) -> Revision {
    Revision::new(seq.to_string())
}

/// The number of a write; nothing for one that was never acknowledged.
pub(crate) fn sequence(revision: &Revision) -> Option<u64> {
    revision.as_str().parse().ok()
}

fn age(at: Option<u64>, now: Option<u64>) -> Option<Duration> {
    Some(Duration::from_nanos(now?.saturating_sub(at?)))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn encode<T: Serialize>(record: &T) -> Bytes {
    // A record is strings and numbers, and its keys are strings: this cannot fail, and what came
    // out empty would be held as corrupt.
    serde_json::to_vec(record).unwrap_or_default().into()
}

fn decode<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, Spoilt> {
    if body.is_empty() {
        return Err(Spoilt::corrupt("it is empty"));
    }
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| Spoilt::corrupt(format!("it is no record: {error}")))?;
    // What a later version means is not for this one to guess, but epochs only rise in it too.
    let number = |key| value.get(key).and_then(Value::as_u64);
    let epoch = number("epoch").unwrap_or(0);
    match number("v") {
        Some(VERSION) => {}
        Some(newer) if newer > VERSION => {
            return Err(Spoilt { why: Unreadable::NewerVersion(newer), epoch });
        }
        _ => return Err(Spoilt { epoch, ..Spoilt::corrupt("it tells no format") }),
    }
    serde_json::from_value(value)
        .map_err(|error| Spoilt { epoch, ..Spoilt::corrupt(format!("it is no record: {error}")) })
}

fn same_name(asked: Option<&Name>, found: &Name) -> Result<(), Spoilt> {
    match asked {
        Some(name) if name != found => Err(Spoilt::corrupt(format!("it is a record of `{found}`"))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod any;
#[cfg(test)]
mod golden;
