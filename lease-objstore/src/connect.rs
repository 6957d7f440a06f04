//! Opening a store: what is wrong with it is told here, not in the night.

use std::io::ErrorKind;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use lease_core::{Error, Jitter, Nonce, Result};
use object_store::ObjectStore;
use object_store::path::Path;
use serde::{Deserialize, Serialize};

use crate::body::{VERSION, encode};
use crate::error::{Doing, local, translate};
use crate::folder::Folder;
use crate::key::Key;
use crate::memo::Wrote;
use crate::objects::{Created, Keep, Objects};
use crate::options::Place;
use crate::store::ObjStore;
use crate::{Options, staging};

/// The file that says that this is a lease folder, and which one. No lease has a folder of this
/// name: in the portable form of one nothing but a hash follows a dot.
pub(crate) const MARKER: &str = "leasehold.json";

/// What stands in the marker.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    v: u64,
    id: Nonce,
}

/// Opens a store and checks what leases need of it.
///
/// Unless it is opened read-only, a local folder is created if only its last part is missing, a
/// probe is written and deleted, and the store must refuse to create a file that is there.
///
/// # Errors
///
/// [`Error::Misconfigured`], with what to do: the folder or the one above it is missing, is no
/// folder, is not writable or has no hard links; a newer version keeps its leases there; the store
/// does not honour create-if-absent. [`Error::Unavailable`] if it does not answer.
///
/// # Cancel safety
///
/// Safe: a probe that is left behind holds nothing, and is cleaned up later.
pub async fn connect(options: Options) -> Result<ObjStore> {
    let Options { place, clock, read_only, durable, resolution, min_ttl } = options;
    let (loose, kept, folder): (Arc<dyn ObjectStore>, Arc<dyn ObjectStore>, _) = match place {
        Place::Store(store) => (Arc::clone(&store), store, None),
        Place::Local(path) => {
            let path = blocking(move || prepare(&path, read_only)).await?;
            let open = |durable| {
                Folder::open(&path, durable).map_err(|error| translate(error, Doing::Reading))
            };
            (Arc::new(open(false)?), Arc::new(open(durable)?), Some(path))
        }
    };
    let objects = Objects { loose, durable: kept, root: Path::default(), writable: !read_only };
    let store = ObjStore::new(objects, clock, resolution, min_ttl, folder);
    if !read_only {
        store.try_out().await?;
    }
    store.read_marker().await?;
    Ok(store)
}

impl ObjStore {
    /// Writes a probe, which also tells the store's time, and tries create-if-absent on the marker.
    async fn try_out(&self) -> Result<()> {
        let nonce = Jitter::system().nonce();
        let probe = self.objects.root.clone().join(Key::Probe(nonce).to_string());
        let sent = self.clock.now();
        self.objects.put(&probe, Bytes::from_static(b"probe\n")).await?;
        let wrote = Wrote { sent, acknowledged: self.clock.now() };
        if let Some(seen) = self.objects.head(&probe).await? {
            self.memo.sample(seen.modified, wrote);
        }
        // Whoever may create but not delete can still hold leases; they end by their ttl.
        if let Err(error) = self.objects.delete(&probe).await {
            tracing::debug!(%error, "the probe could not be deleted");
        }

        let marker = self.marker();
        let body = encode(&Marker { v: VERSION, id: nonce })?;
        for _ in 0..2 {
            if self.objects.create(&marker, body.clone(), Keep::Durably).await? == Created::Exists {
                if let Some(folder) = &self.folder {
                    let folder = folder.clone();
                    let now = self.memo.now(self.clock.now(), staging::OLD);
                    blocking(move || Ok(staging::sweep(&folder, now))).await?;
                }
                return Ok(());
            }
        }
        Err(Error::misconfigured(
            "the store creates a file that is there already: two exclusives could hold at once",
            "use a store that honours create-if-absent",
        ))
    }

    /// Remembers which lease folder this is.
    async fn read_marker(&self) -> Result<()> {
        let Some(found) = self.objects.read(&self.marker()).await? else { return Ok(()) };
        let marker = parse(&found.1)?;
        *self.id.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(marker.id);
        Ok(())
    }

    /// Makes sure that an empty listing is that of the lease folder, and not of what is left where
    /// it was mounted.
    pub(crate) async fn same_store(&self) -> Result<()> {
        let opened = *self.id.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let found = self.objects.read(&self.marker()).await?;
        let found = found.map(|(_, body)| parse(&body)).transpose()?;
        match (opened, found) {
            (None, None) => Ok(()),
            (Some(opened), Some(found)) if opened == found.id => Ok(()),
            // Opened to look before there was anything.
            (None, Some(_)) => self.read_marker().await,
            _ => Err(Error::misconfigured(
                "the lease folder is not the one that was opened: it was unmounted, emptied or \
                 made anew",
                "mount it again, or connect again if the new one is meant",
            )),
        }
    }

    fn marker(&self) -> Path {
        self.objects.root.clone().join(MARKER)
    }
}

fn parse(body: &[u8]) -> Result<Marker> {
    let broken = |problem: String| {
        Error::misconfigured(
            problem,
            format!("restore the file `{MARKER}`, or delete it if nobody uses these leases"),
        )
    };
    let marker: Marker = serde_json::from_slice(body)
        .map_err(|error| broken(format!("the lease folder's marker is unreadable: {error}")))?;
    if marker.v > VERSION {
        return Err(Error::misconfigured(
            format!("the lease folder was made by a newer version, format=`{}`", marker.v),
            "use that version, or another folder",
        ));
    }
    Ok(marker)
}

/// Makes sure that the folder is there.
fn prepare(path: &FilePath, read_only: bool) -> Result<PathBuf> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {}
        Ok(_) => {
            return Err(Error::misconfigured(
                format!("the lease folder is no folder, path=`{}`", path.display()),
                "give the path of a folder",
            ));
        }
        Err(error) if error.kind() == ErrorKind::NotFound && !read_only => create(path)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Error::misconfigured(
                format!("there is no lease folder, path=`{}`", path.display()),
                "check the path; the folder is made by whoever first holds a lease there",
            ));
        }
        Err(error) => return Err(local(error, Doing::Reading)),
    }
    path.canonicalize().map_err(|error| local(error, Doing::Reading))
}

fn create(path: &FilePath) -> Result<()> {
    match std::fs::create_dir(path) {
        Ok(()) => Ok(()),
        // Somebody else was first.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::misconfigured(
            format!("the folder above the lease folder does not exist, path=`{}`", path.display()),
            "create it, or mount what should be there: only the last part is created",
        )),
        Err(error) => Err(local(error, Doing::Writing)),
    }
}

/// Runs what blocks on the disk where it may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(crate::error::unavailable(Doing::Writing, error)),
    }
}
