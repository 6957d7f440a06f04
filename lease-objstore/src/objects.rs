//! The few requests that the protocol makes of an object store, with our errors.

use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, stream};
use lease_core::{Error, Name, Result, Unreadable};
use object_store::path::Path;
use object_store::{Error as Driver, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode};

use crate::body::{Body, decode};
use crate::error::{Doing, KIND, translate};
use crate::key::Key;
use crate::listing::Seen;
use crate::time::StoreTime;

/// The largest file that can be a record: a holder's texts have 16 KiB, and JSON may need six bytes
/// for one of theirs.
const MAX_BODY: u64 = 256 * 1024;

/// Whether a write must survive the power loss of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// What gives out an epoch: it must never be given again.
    Durably,
    /// All else: after a power loss nobody believes in anything.
    Loosely,
}

/// The answer to a create-if-absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Created {
    /// It was not there; now it is, as this write.
    Done(String),
    /// Something is there, possibly one's own earlier try.
    Exists,
}

/// What a store says of a write.
pub(crate) struct Put {
    pub(crate) stamp: String,
    pub(crate) versioned: bool,
}

/// A claim's file, read.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) seen: Seen,
    pub(crate) body: Result<Body, Unreadable>,
}

/// The files of all lease names under one root.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    pub(crate) loose: Arc<dyn ObjectStore>,
    pub(crate) durable: Arc<dyn ObjectStore>,
    pub(crate) root: Path,
    pub(crate) writable: bool,
}

impl Objects {
    pub(crate) fn folder(&self, name: &Name) -> Path {
        self.root.clone().join(name.portable())
    }

    pub(crate) fn path(&self, name: &Name, key: Key) -> Path {
        self.folder(name).join(key.to_string())
    }

    /// All files of `name`, all pages of them; an error in the middle is an error.
    pub(crate) async fn list(&self, name: &Name) -> Result<Vec<(String, Seen)>> {
        let folder = self.folder(name);
        let listed = self.loose.list_with_delimiter(Some(&folder)).await;
        let listed = listed.map_err(|error| translate(error, Doing::Reading))?;
        let named = |meta: ObjectMeta| Some((meta.location.filename()?.to_owned(), seen(&meta)));
        Ok(listed.objects.into_iter().filter_map(named).collect())
    }

    /// The files of the lease folder itself, without those of the names.
    pub(crate) async fn list_root(&self) -> Result<Vec<(Path, Seen)>> {
        let listed = self.loose.list_with_delimiter(Some(&self.root)).await;
        let listed = listed.map_err(|error| translate(error, Doing::Reading))?;
        Ok(listed.objects.iter().map(|meta| (meta.location.clone(), seen(meta))).collect())
    }

    /// Creates a file unless one is there. Atomic; of any number of callers one gets `Done`.
    pub(crate) async fn create(&self, path: &Path, body: Bytes, keep: Keep) -> Result<Created> {
        match self.put_as(path, body, PutMode::Create, keep).await {
            Ok(stamp) => Ok(Created::Done(stamp)),
            Err(Driver::AlreadyExists { .. } | Driver::Precondition { .. }) => Ok(Created::Exists),
            Err(error) => Err(translate(error, Doing::Writing)),
        }
    }

    /// Writes a file over whatever is there.
    pub(crate) async fn put(&self, path: &Path, body: Bytes) -> Result<String> {
        let put = self.put_as(path, body, PutMode::Overwrite, Keep::Loosely).await;
        put.map_err(|error| translate(error, Doing::Writing))
    }

    /// The same, for whoever asks whether the store keeps versions.
    pub(crate) async fn put_versioned(&self, path: &Path, body: Bytes) -> Result<Put> {
        let put = self.loose.put_opts(path, body.into(), PutMode::Overwrite.into()).await;
        let put = put.map_err(|error| translate(error, Doing::Writing))?;
        Ok(Put {
            stamp: put.e_tag.as_deref().map(stamp).unwrap_or_default(),
            versioned: put.version.is_some_and(|version| version != "null"),
        })
    }

    async fn put_as(
        &self,
        path: &Path,
        body: Bytes,
        mode: PutMode,
        keep: Keep,
    ) -> Result<String, Driver> {
        let store = match keep {
            Keep::Durably => &self.durable,
            Keep::Loosely => &self.loose,
        };
        let put = store.put_opts(path, body.into(), mode.into()).await?;
        // A store that does not say which write this was is asked; listings tell as well.
        match put.e_tag {
            Some(tag) => Ok(stamp(&tag)),
            None => store.head(path).await.map(|meta| seen(&meta).stamp),
        }
    }

    /// Shows a file without its content; nothing if there is none.
    pub(crate) async fn head(&self, path: &Path) -> Result<Option<Seen>> {
        found(self.loose.head(path).await).map(|meta| meta.map(|meta| seen(&meta)))
    }

    /// A small file, whole; nothing if there is none.
    pub(crate) async fn read(&self, path: &Path) -> Result<Option<(Seen, Bytes)>> {
        let Some(got) = found(self.loose.get(path).await)? else { return Ok(None) };
        let shown = seen(&got.meta);
        if shown.size > MAX_BODY {
            return Ok(Some((shown, Bytes::new())));
        }
        Ok(found(got.bytes().await)?.map(|bytes| (shown, bytes)))
    }

    /// A claim's file, read; nothing if there is none.
    pub(crate) async fn get(&self, path: &Path) -> Result<Option<Got>> {
        let Some((seen, bytes)) = self.read(path).await? else { return Ok(None) };
        let body = if seen.size > MAX_BODY {
            Err(Unreadable::Corrupt(format!("it has {} bytes", seen.size)))
        } else {
            decode(&bytes)
        };
        Ok(Some(Got { seen, body }))
    }

    /// Deletes a file. Whether it was there, where the store tells; `true` where it does not.
    pub(crate) async fn delete(&self, path: &Path) -> Result<bool> {
        match self.loose.delete(path).await {
            Ok(()) => Ok(true),
            Err(Driver::NotFound { .. }) => Ok(false),
            Err(error) => Err(translate(error, Doing::Writing)),
        }
    }

    /// Deletes files one group after the other, each in any order; ends at the first failure.
    pub(crate) async fn delete_in_turn(&self, groups: Vec<Vec<Path>>) -> Result<()> {
        for group in groups.into_iter().filter(|group| !group.is_empty()) {
            let paths = stream::iter(group.into_iter().map(Ok)).boxed();
            let mut deleted = self.loose.delete_stream(paths);
            while let Some(answer) = deleted.next().await {
                match answer {
                    Ok(_) | Err(Driver::NotFound { .. }) => {}
                    Err(error) => return Err(translate(error, Doing::Writing)),
                }
            }
        }
        Ok(())
    }

    /// Refuses what would write through a store that was opened to look only.
    pub(crate) fn writable(&self) -> Result<()> {
        if self.writable {
            return Ok(());
        }
        Err(Error::misconfigured(
            "the store was opened read-only",
            "open it without `read_only` to hold leases",
        ))
    }
}

fn found<T>(answer: Result<T, Driver>) -> Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(Driver::NotFound { .. }) => Ok(None),
        Err(error) if is_stale_handle(&error) => Ok(None),
        Err(error) => Err(translate(error, Doing::Reading)),
    }
}

/// The file was replaced or removed on another machine while it was read over NFS: as good as not
/// found, since whoever needs it looks again.
fn is_stale_handle(error: &Driver) -> bool {
    crate::error::io_error(error)
        .is_some_and(|io| io.kind() == std::io::ErrorKind::StaleNetworkFileHandle)
}

pub(crate) fn seen(meta: &ObjectMeta) -> Seen {
    let modified = StoreTime::of(meta);
    let stamp = match &meta.e_tag {
        Some(tag) => stamp(tag),
        None => format!("{}-{}", modified.micros(), meta.size),
    };
    Seen { stamp, modified, size: meta.size, tagged: meta.e_tag.is_some() }
}

/// An entity tag as all answers of a store have it: some quote it in one and not in another.
fn stamp(tag: &str) -> String {
    tag.trim_matches('"').to_owned()
}

/// The error of an object store that answers nothing, for this backend's own use.
pub(crate) fn nonsense(what: &'static str) -> Error {
    Error::unclear(KIND, what)
}
