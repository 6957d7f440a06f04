//! An object that only the latest holder can write.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use lease_core::{Admission, DurableGate, Error, Fence, Jitter, Nonce, Result, Token};
use object_store::path::Path;
use object_store::{
    Error as Driver, ObjectStore, ObjectStoreExt, PutMode, PutPayload, UpdateVersion,
};

use crate::error::{Doing, KIND, is_unclear, translate};

/// What the first line begins with.
const FIRST: &str = "lease-token ";

/// No first line is longer: a token and a nonce.
const LONGEST: usize = FIRST.len() + 20 + 1 + 32;

/// How often a write is tried that meets another one, or whose answer is lost.
const TRIES: usize = 5;

/// An object, such as a manifest or a pointer to a snapshot, that only the latest holder can write.
///
/// It begins with a line of its own, `lease-token <token> <nonce>`, and the program's bytes follow.
/// Each write names the version of the object that it follows, so the store takes it only if its
/// writer has seen the last one and found no higher token in it; one that was on its way for long
/// finds another version and is turned away. A new holder [announces](lease_core::Lease::announce)
/// itself here before it works: from then on nothing of the holder before it gets through. The nonce
/// makes each version another one, where a store tells them apart by what is in them.
///
/// It protects as long as everybody writes through it, on a store that honours conditional
/// overwriting, which is not among what [`connect`](crate::connect) tries out. Amazon's, Google's and
/// Microsoft's do; a folder has no such thing. An object that was there before, without the line, is
/// taken for one that no holder has written yet.
///
/// ```
/// # use std::sync::Arc;
/// use lease_core::Coordinator;
/// use lease_objstore::{Fenced, FencedWrite, Options, connect};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lease_core::Result<()> {
/// let options = Options::memory(); // such as Options::parse("s3://backups/leases")?
/// let snapshots = Fenced::new(options.object_store().await?, "snapshots/latest");
/// let lease = Coordinator::new(Arc::new(connect(options).await?)).exclusive("backup").acquire().await?;
///
/// lease.announce(&snapshots).await?;
/// let fence = lease.confirm().await?;
/// assert_eq!(snapshots.write(&fence, "2026-11-30").await?, FencedWrite::Done);
/// assert_eq!(snapshots.read().await?.unwrap(), "2026-11-30");
/// # lease.release().await.map(drop)
/// # }
/// ```
#[derive(Clone)]
pub struct Fenced {
    store: Arc<dyn ObjectStore>,
    path: Path,
    last: Arc<Mutex<Option<Last>>>,
}

/// What came of a fenced write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FencedWrite {
    /// The object is as this write has it.
    Done,
    /// A later holder has been here: what is there now is not this write's. Stop the protected work.
    Refused {
        /// The highest token that the object has seen.
        highest: Token,
    },
}

/// The object as it was last seen.
#[derive(Clone, Debug, Default)]
struct Last {
    /// Which version; nothing if there is no object.
    version: Option<UpdateVersion>,
    token: u64,
    nonce: Option<Nonce>,
    body: Bytes,
}

impl Fenced {
    /// The object at `path` of a store, such as [`Options::object_store`](crate::Options::object_store)
    /// opens: a path from its root, whatever prefix the leases have. Nothing is asked of it yet.
    ///
    /// A store that sends a request again by itself does no harm here.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>, path: impl AsRef<str>) -> Self {
        Self { store, path: Path::from(path.as_ref()), last: Arc::default() }
    }

    /// Writes the object whole, or makes it, unless a later holder has been here.
    ///
    /// One request while nobody else writes; else a read and another one, up to five times.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the store does not answer, or others write all the time; after an
    /// unclear one the object may be written, and may be written again. [`Error::Misconfigured`] if
    /// the store refuses access or cannot overwrite on a condition, which a person has to change.
    /// To be refused by a later holder is an answer, not an error.
    ///
    /// # Cancel safety
    ///
    /// As after an unclear error.
    pub async fn write(&self, fence: &Fence, body: impl Into<Bytes>) -> Result<FencedWrite> {
        self.follow(fence.token(), Some(body.into())).await
    }

    /// The program's bytes in the object; nothing if there is none. They may be old by the time that
    /// they are here, and are empty where a holder has announced itself and nobody has written yet.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the store does not answer: read again. [`Error::Misconfigured`] if
    /// it refuses access: call a person.
    ///
    /// # Cancel safety
    ///
    /// Safe: it changes nothing.
    pub async fn read(&self) -> Result<Option<Bytes>> {
        let last = self.look().await?;
        Ok(last.version.map(|_| last.body))
    }

    /// Writes this, or again what is there, over the version that was seen.
    async fn follow(&self, token: Token, next: Option<Bytes>) -> Result<FencedWrite> {
        let nonce = Jitter::system().nonce();
        let mut known = self.remembered();
        let mut failure = None;
        for _ in 0..TRIES {
            let last = match known.take() {
                Some(last) => last,
                None => match (self.look().await, failure.take()) {
                    (Ok(last), before) => {
                        failure = before;
                        last
                    }
                    (Err(error), None) => return Err(error),
                    // The write before may have been made, and nobody can tell.
                    (Err(error), Some(_)) => return Err(Error::unclear(KIND, error)),
                },
            };
            // One of the tries before got there, whatever its answer was.
            if last.nonce == Some(nonce) {
                self.remember(Some(last));
                return Ok(FencedWrite::Done);
            }
            if last.token > token.get() {
                return Ok(FencedWrite::Refused { highest: Token::from_number(last.token) });
            }
            let body = next.clone().unwrap_or(last.body);
            let mode = last.version.map_or(PutMode::Create, PutMode::Update);
            let payload = PutPayload::from_bytes(marked(token, nonce, &body));
            match self.store.put_opts(&self.path, payload, mode.into()).await {
                Ok(put) => {
                    let version = UpdateVersion { e_tag: put.e_tag, version: put.version };
                    let (version, token, nonce) = (Some(version), token.get(), Some(nonce));
                    self.remember(Some(Last { version, token, nonce, body }));
                    return Ok(FencedWrite::Done);
                }
                Err(Driver::AlreadyExists { .. } | Driver::Precondition { .. }) => {}
                Err(Driver::NotImplemented { .. }) => return Err(unconditional()),
                Err(error) => match translate(error, Doing::Writing) {
                    unclear if is_unclear(&unclear) => failure = Some(unclear),
                    other if failure.is_none() => return Err(other),
                    other => return Err(Error::unclear(KIND, other)),
                },
            }
            self.remember(None);
        }
        Err(failure
            .unwrap_or_else(|| Error::unclear(KIND, "others write this object all the time")))
    }

    async fn look(&self) -> Result<Last> {
        let got = match self.store.get(&self.path).await {
            Ok(got) => got,
            Err(Driver::NotFound { .. }) => return Ok(Last::default()),
            Err(error) => return Err(translate(error, Doing::Reading)),
        };
        let version =
            UpdateVersion { e_tag: got.meta.e_tag.clone(), version: got.meta.version.clone() };
        let whole = got.bytes().await.map_err(|error| translate(error, Doing::Reading))?;
        let (token, nonce, body) = match parse(&whole) {
            Some((token, nonce, body)) => (token, Some(nonce), body),
            None => (0, None, whole),
        };
        Ok(Last { version: Some(version), token, nonce, body })
    }

    fn remembered(&self) -> Option<Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, last: Option<Last>) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = last;
    }
}

/// The whole object.
fn marked(token: Token, nonce: Nonce, body: &[u8]) -> Bytes {
    let first = format!("{FIRST}{} {nonce}\n", token.get());
    let mut whole = BytesMut::with_capacity(first.len() + body.len());
    whole.extend_from_slice(first.as_bytes());
    whole.extend_from_slice(body);
    whole.freeze()
}

/// Token, nonce and body of a whole object; nothing if its first line is not ours.
fn parse(whole: &Bytes) -> Option<(u64, Nonce, Bytes)> {
    let end = whole.iter().take(LONGEST + 1).position(|byte| *byte == b'\n')?;
    let first = str::from_utf8(&whole[..end]).ok()?;
    let (token, nonce) = first.strip_prefix(FIRST)?.split_once(' ')?;
    Some((token.parse().ok()?, nonce.parse().ok()?, whole.slice(end + 1..)))
}

fn unconditional() -> Error {
    Error::misconfigured(
        "this store cannot overwrite an object on a condition, as a folder cannot",
        "keep the object in a bucket, or let whatever takes the write look at the token",
    )
}

/// An announcement is a write of what is there, with one's own token.
#[async_trait]
impl DurableGate for Fenced {
    async fn admit(&self, token: Token) -> Result<Admission> {
        Ok(match self.follow(token, None).await? {
            FencedWrite::Done => Admission::Admitted,
            FencedWrite::Refused { highest } => Admission::Refused { highest },
        })
    }
}

impl fmt::Debug for Fenced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fenced").field("path", &self.path.as_ref()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const NONCE: Nonce = Nonce::from_bytes([0xab; 16]);

    #[rstest]
    #[case::empty("")]
    #[case::lines("one\ntwo\n")]
    #[case::marked_itself("lease-token 4 abababababababababababababababab\n")]
    fn what_is_marked_is_read_as_it_was(#[case] body: &'static str) {
        for token in [0, 14, u64::MAX] {
            let whole = marked(Token::from_number(token), NONCE, body.as_bytes());
            assert_eq!(parse(&whole), Some((token, NONCE, Bytes::from_static(body.as_bytes()))));
        }
    }

    #[rstest]
    #[case::nothing("")]
    #[case::no_line("lease-token 4 abababababababababababababababab")]
    #[case::no_nonce("lease-token 4\n")]
    #[case::no_number("lease-token four abababababababababababababababab\n")]
    #[case::too_high("lease-token 99999999999999999999 abababababababababababababababab\n")]
    #[case::somebody_elses("{\"snapshots\":[]}\n")]
    fn another_first_line_is_the_programs(#[case] whole: &'static str) {
        assert_eq!(parse(&Bytes::from_static(whole.as_bytes())), None);
    }
}
