//! The client, and what its steps have in common.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lease_core::{
    Capabilities, Epoch, Error, Moment, Name, Nonce, Result, Snapshot, TimeAuthority,
};

use crate::error::{KIND, busy};
use crate::key::Keys;
use crate::memo::{Content, Memo, Place};
use crate::record::{Anchor, revision, stand_in};
use crate::watch::Watches;
use crate::wire::{Info, Leaves, Put, When, Wire};

/// Leases in a bucket of NATS JetStream. Made by [`connect`](crate::connect); clones are one
/// client, with one connection.
#[derive(Clone, Debug)]
pub struct Nats {
    pub(crate) wire: Arc<Wire>,
    pub(crate) memo: Arc<Memo>,
    pub(crate) watches: Arc<Watches>,
    opened: Arc<Opened>,
}

/// What does not change after connecting.
#[derive(Debug)]
struct Opened {
    capabilities: Capabilities,
    warnings: Vec<String>,
    /// When the bucket was made, as the server writes it.
    created: String,
    /// Where this client's probes go.
    probe: String,
}

/// How often a step goes on after a write that lost its race or waits for another one. Each time is
/// a round trip, so this is patience of some milliseconds and no more.
pub(crate) const TRIES: usize = 64;

/// How long the end of a record is marked that others removed: its holder may not know yet.
pub(crate) const REMOVED: Duration = Duration::from_secs(3600);

impl Nats {
    /// Below this one delay of a scheduler decides who holds. What a cluster can stand is more:
    /// it takes seconds to elect a leader.
    const MIN_TTL: Duration = Duration::from_millis(500);

    /// The server stamps in nanoseconds, and a message waits this long at the most between the
    /// stamp and its place among the others.
    const RESOLUTION: Duration = Duration::from_millis(10);

    /// Their answers come in one round trip; more at once only wait in the server's queue.
    const RENEW_BATCH: usize = 1000;

    /// An answer of the server's clock that is older than this is asked for again.
    const SAMPLE_LASTS: Duration = Duration::from_secs(10);

    pub(crate) fn new(
        wire: Wire,
        info: &Info,
        warnings: Vec<String>,
        skew: Duration,
        client: Nonce,
    ) -> Self {
        let resolution = Self::RESOLUTION.saturating_add(skew);
        let capabilities = Capabilities::reference()
            .with_min_ttl(Self::MIN_TTL.max(resolution.saturating_mul(4)))
            .with_clock_resolution(resolution)
            .with_time(TimeAuthority::Store)
            .with_push(true)
            .with_epoch_survives_erasure(true)
            .with_renew_batch(Self::RENEW_BATCH);
        let (created, probe) = (info.created.clone(), format!("p.{client}"));
        let opened = Arc::new(Opened { capabilities, warnings, created, probe });
        let wire = Arc::new(wire);
        let store =
            Self { watches: Arc::new(Watches::new(&wire)), wire, memo: Arc::default(), opened };
        store.memo.sample(info.now, store.now());
        store
    }

    /// What is not as it should be with the bucket and still no reason to refuse it, told when it
    /// was opened.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.opened.warnings
    }

    /// How many requests this client has sent so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.wire.link.requests()
    }

    pub(crate) fn told_capabilities(&self) -> Capabilities {
        self.opened.capabilities
    }

    pub(crate) fn now(&self) -> Moment {
        self.wire.link.clock().now()
    }

    /// The key of this client's probes.
    pub(crate) fn probe_key(&self) -> &str {
        &self.opened.probe
    }

    /// Writes a probe: a write of one's own that is no lease. Nobody needs it for long.
    pub(crate) async fn probe(&self, when: When<'_>) -> Result<Put> {
        const PASSES: Duration = Duration::from_secs(60);
        let body = Bytes::from_static(b"{}");
        self.wire.put(self.probe_key(), body, when, Leaves::Passing(PASSES)).await
    }

    /// Asks the bucket's leader what it says of these keys, and what its clock shows.
    pub(crate) async fn info(&self, filter: &str) -> Result<Info> {
        let info = self.wire.info(Some(filter)).await?;
        self.memo.sample(info.now, self.now());
        Ok(info)
    }

    /// What the server's clock shows at the least, by an answer that is not old.
    pub(crate) async fn server_time(&self) -> Result<u64> {
        if let Some((time, age)) = self.memo.server_time(self.now())
            && age < Self::SAMPLE_LASTS
        {
            return Ok(time);
        }
        Ok(self.info(self.probe_key()).await?.now)
    }

    /// The epoch after `last`: higher, and not below the server's clock in microseconds. So epochs
    /// go on rising where the bucket, or its last writes, were lost.
    pub(crate) fn epoch_after(&self, last: u64) -> Result<Epoch> {
        /// Nanoseconds in a microsecond.
        const NANOS: u64 = 1000;
        let time = self.memo.server_time(self.now()).map_or(0, |(nanos, _)| nanos / NANOS);
        let next = last.saturating_add(1);
        // A clock that shows the year 2113 must not use all epochs up.
        let risen = Epoch::new(next.max(time)).or_else(|| Epoch::new(next));
        risen.ok_or_else(|| {
            Error::misconfigured("the epochs of a name have run out", "use another name")
        })
    }

    /// The anchor of a name that has none, by the server's clock as it is now: so its epoch is above
    /// those of an anchor that was lost.
    pub(crate) async fn fresh_anchor(&self, name: &Name) -> Result<Anchor> {
        let info = self.info(&Keys::of(name).all()).await?;
        let keys = Keys::of(name);
        let shared = info.keys.iter().any(|key| keys.part(key).is_some());
        Ok(Anchor::fresh(name, self.epoch_after(0)?.get(), shared))
    }

    /// Reads a name's anchor, as the bucket's leader has it.
    pub(crate) async fn read(&self, name: &Name) -> Result<Place> {
        let kept = self.wire.last(&Keys::of(name).anchor()).await?;
        let place = Place::of(kept.as_ref(), name);
        self.memo.set_anchor(name, place.clone());
        Ok(place)
    }

    /// The anchor as it is remembered, or else read; and whether it was read.
    pub(crate) async fn known(&self, name: &Name) -> Result<(Place, bool)> {
        match self.memo.anchor(name) {
            Some(place) => Ok((place, false)),
            None => Ok((self.read(name).await?, true)),
        }
    }

    /// Writes a name's anchor if it still is at this write.
    pub(crate) async fn swap(&self, at: u64, anchor: Anchor, leaves: Leaves) -> Result<Put> {
        let name = anchor.name().clone();
        let put =
            self.wire.put(&Keys::of(&name).anchor(), anchor.encode(), When::At(at), leaves).await?;
        if let Put::Done(seq) = put {
            let place = Place { seq, at: None, content: Content::Anchor(anchor) };
            self.memo.set_anchor(&name, place);
        }
        Ok(put)
    }

    /// Whether this answer may be that of a server which no longer leads the bucket: it knows less
    /// than was acknowledged to us. False where the bucket is another one by now.
    pub(crate) async fn is_behind(&self, acknowledged: u64) -> Result<bool> {
        let info = self.wire.info(None).await?;
        Ok(info.created == self.opened.created && info.last_seq < acknowledged)
    }

    /// A step that was refused over and over because others are on their way. A server that lost its
    /// cluster may say nothing else.
    pub(crate) fn busy(&self) -> Error {
        self.wire.link.undecided(self.wire.link.clock().now());
        busy()
    }

    /// An answer that cannot be: it is from before a write that was acknowledged.
    pub(crate) fn behind() -> Error {
        Error::unreached(KIND, "the server that answers is behind: it has lost its cluster")
    }
}

impl Place {
    pub(crate) fn of(kept: Option<&crate::wire::Kept>, name: &Name) -> Self {
        match kept {
            None => Self { seq: 0, at: None, content: Content::Nothing },
            Some(kept) => Self {
                seq: kept.seq,
                at: Some(kept.at),
                content: match Anchor::decode(&kept.body, Some(name)) {
                    _ if kept.ended => Content::Nothing,
                    Ok(anchor) => Content::Anchor(anchor),
                    Err(spoilt) => Content::Spoilt(spoilt),
                },
            },
        }
    }

    /// The last granted epoch, as far as it is known.
    pub(crate) fn epoch(&self) -> Epoch {
        match &self.content {
            Content::Nothing => Epoch::default(),
            Content::Anchor(anchor) => anchor.shown_epoch(),
            Content::Spoilt(spoilt) => spoilt.epoch(),
        }
    }

    /// Whether somebody holds or drains, or may.
    pub(crate) const fn is_held(&self) -> bool {
        match &self.content {
            Content::Nothing => false,
            Content::Anchor(anchor) => anchor.x.is_some(),
            Content::Spoilt(_) => true,
        }
    }

    /// The exclusive as the protocol sees it, by the server's time `now`.
    pub(crate) fn exclusive(&self, now: Option<u64>) -> Option<lease_core::Record> {
        let mode = lease_core::Mode::Exclusive;
        match &self.content {
            Content::Nothing => None,
            Content::Anchor(anchor) => {
                let x = anchor.x.as_ref()?;
                Some(x.holder.record(mode, x.state, self.seq, self.at, now))
            }
            Content::Spoilt(spoilt) => {
                Some(spoilt.record(mode, stand_in(self.seq), self.seq, self.at, now))
            }
        }
    }

    /// Without its writers.
    pub(crate) fn snapshot(&self, now: Option<u64>) -> Snapshot {
        Snapshot {
            epoch: self.epoch(),
            anchor: revision(self.seq),
            exclusive: self.exclusive(now),
            writers: Vec::new(),
        }
    }
}

/// What a removal says that was refused and then finds nothing to remove any more.
///
/// For a moment after a split two servers may both take themselves for the bucket's leader. Both get
/// the write: the one that was left behind refuses it, and its answer may come first, while the other
/// one stores it. So a refusal is no proof that nothing was stored.
pub(crate) fn two_minds() -> Error {
    Error::unclear(KIND, "a write was refused, and what it was to remove is gone")
}
