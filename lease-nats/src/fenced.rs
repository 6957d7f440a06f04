//! Writes that only the latest holder can make, in any stream or bucket of the same servers.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_nats::HeaderMap;
use async_trait::async_trait;
use bytes::Bytes;
use lease_core::{Admission, DurableGate, Fence, Result, Token};

use crate::error::busy;
use crate::hearing::Asks;
use crate::store::{Nats, TRIES};
use crate::wire::{EXPECTED, Kept, OPERATION, Put, Wire};

/// The header that carries the [`Token`] of a fenced write.
pub const TOKEN: &str = "Lease-Token";

/// The header that carries the epoch of a fenced write, for people.
pub const EPOCH: &str = "Lease-Epoch";

/// A subject whose last message is the work of the latest holder, and of nobody before.
///
/// Each write carries its holder's token in a header, and names the message that it follows. So a
/// write is stored only if its holder has seen the last one, and found no higher token there; one
/// that was on its way for long finds another message and is turned away. A new holder
/// [announces](lease_core::Lease::announce) itself here before it works: from then on nothing of the
/// holder before it gets through.
///
/// It protects as long as everybody writes through it, and the stream keeps the subject's last
/// message: no limit on its age, and none on its size that drops old messages.
///
/// ```no_run
/// # async fn example(leases: lease_nats::Nats, lease: lease_core::Lease) -> lease_core::Result<()> {
/// let report = leases.fenced_key("reports", "today");
/// lease.announce(&report).await?;
/// let fence = lease.confirm().await?;
/// report.write(&fence, "all is well").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Fenced {
    wire: Arc<Wire>,
    stream: String,
    subject: String,
    last: Arc<Mutex<Option<Last>>>,
}

/// The last message, as far as this client knows.
#[derive(Clone, Debug, Default)]
struct Last {
    seq: u64,
    token: u64,
    body: Bytes,
    /// Whether it is the mark of a key that was deleted.
    ended: bool,
}

/// What came of a fenced write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// It is stored, as this message of the stream.
    Stored {
        /// The message's number.
        sequence: u64,
    },
    /// A later holder has been here: it is late, and is not stored. Stop the protected work.
    Refused {
        /// The highest token that was seen.
        highest: Token,
    },
}

impl Nats {
    /// A subject of a stream that keeps it, as a resource that is fenced. Nothing is asked of it
    /// yet.
    #[must_use]
    pub fn fenced(&self, stream: impl Into<String>, subject: impl Into<String>) -> Fenced {
        let (stream, subject, last) = (stream.into(), subject.into(), Arc::default());
        Fenced { wire: Arc::clone(&self.wire), stream, subject, last }
    }

    /// A key of another bucket, as a resource that is fenced. Nothing is asked of it yet.
    #[must_use]
    pub fn fenced_key(&self, bucket: &str, key: &str) -> Fenced {
        self.fenced(format!("KV_{bucket}"), format!("$KV.{bucket}.{key}"))
    }
}

impl Fenced {
    /// Writes the subject's next message, unless a later holder has been here.
    ///
    /// One round trip while nobody else writes, else a read and another one.
    ///
    /// # Errors
    ///
    /// To be refused by a later holder is an answer, not an error.
    ///
    /// - [`Error::Unavailable`](lease_core::Error::Unavailable) if the servers do not answer, or
    ///   others write all the time. After an unclear one the message may be there:
    ///   [read](Self::read) before it is written again.
    /// - [`Error::Misconfigured`](lease_core::Error::Misconfigured) if this user may not publish to
    ///   the subject or read the stream, there is no such stream, or the message is larger than the
    ///   server takes or than the stream or the account has room for: a person has to change that.
    ///   Nothing was stored. (Its words are those for the lease bucket; the source has the
    ///   server's.)
    ///
    /// # Cancel safety
    ///
    /// As after an unclear error.
    pub async fn write(&self, fence: &Fence, body: impl Into<Bytes>) -> Result<Write> {
        let body = body.into();
        self.follow(fence.token(), Some((fence.epoch().get(), body))).await
    }

    /// The subject's last message; nothing if it has none. It may be old by the time that it is
    /// here.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`](lease_core::Error::Unavailable) if the servers do not answer: read
    /// again. [`Error::Misconfigured`](lease_core::Error::Misconfigured) if this user may not read
    /// the stream, or there is none: call a person.
    ///
    /// # Cancel safety
    ///
    /// Safe: it changes nothing.
    pub async fn read(&self) -> Result<Option<Bytes>> {
        let last = self.look().await?;
        Ok((last.seq > 0).then_some(last.body))
    }

    /// Writes the next message, or again what is there, right after the message that was seen.
    async fn follow(&self, token: Token, next: Option<(u64, Bytes)>) -> Result<Write> {
        let mut known = self.remembered();
        for _ in 0..TRIES {
            let last = match known.take() {
                Some(last) => last,
                None => self.look().await?,
            };
            if last.token > token.get() {
                return Ok(Write::Refused { highest: Token::from_number(last.token) });
            }
            let mut headers = HeaderMap::new();
            headers.insert(EXPECTED, last.seq.to_string());
            headers.insert(TOKEN, token.to_string());
            let (body, ended) = match &next {
                Some((epoch, body)) => {
                    headers.insert(EPOCH, epoch.to_string());
                    (body.clone(), false)
                }
                None => (last.body, last.ended),
            };
            if ended {
                headers.insert(OPERATION, "DEL");
            }
            let put = self
                .wire
                .publish(Asks::Elsewhere, self.subject.clone(), headers, body.clone())
                .await;
            if !matches!(put, Ok(Put::Done(_))) {
                self.remember(None);
            }
            if let Put::Done(seq) = put? {
                self.remember(Some(Last { seq, token: token.get(), body, ended }));
                return Ok(Write::Stored { sequence: seq });
            }
        }
        Err(busy())
    }

    async fn look(&self) -> Result<Last> {
        let kept = self.wire.last_of(Asks::Elsewhere, &self.stream, &self.subject).await?;
        Ok(kept.map_or_else(Last::default, Last::of))
    }

    fn remembered(&self) -> Option<Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, last: Option<Last>) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = last;
    }
}

impl Last {
    fn of(kept: Kept) -> Self {
        let token = kept.token.unwrap_or(0);
        Self { seq: kept.seq, token, body: kept.body, ended: kept.ended }
    }
}

/// An announcement is a write of what is there, with one's own token.
#[async_trait]
impl DurableGate for Fenced {
    async fn admit(&self, token: Token) -> Result<Admission> {
        Ok(match self.follow(token, None).await? {
            Write::Stored { .. } => Admission::Admitted,
            Write::Refused { highest } => Admission::Refused { highest },
        })
    }
}

impl fmt::Debug for Fenced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fenced")
            .field("stream", &self.stream)
            .field("subject", &self.subject)
            .finish_non_exhaustive()
    }
}
