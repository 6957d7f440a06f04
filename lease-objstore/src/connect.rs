//! Opening a store: what is wrong with it is told here, not in the night.

use std::io::ErrorKind;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, PoisonError};

use lease_core::{Error, Jitter, Nonce, Result};
use object_store::ObjectStore;
use object_store::path::Path;
use serde::{Deserialize, Serialize};

use crate::body::encode;
use crate::bucket::Cloud;
use crate::elect::is_of_election;
use crate::error::{Doing, is_unclear, local, translate};
use crate::folder::Folder;
use crate::listing::Seen;
use crate::objects::{Keep, Objects, nonsense};
use crate::options::{Place, WithoutCreate};
use crate::probe::no_create;
use crate::store::ObjStore;
use crate::{Findings, Options, Probe, staging};

/// The file that says that this is a lease folder, and which one. No lease has a folder of this
/// name: in the portable form of one nothing but a hash follows a dot.
pub(crate) const MARKER: &str = "leasehold.json";

/// What stands in the marker.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    /// How files are created there. A version that knows nothing of elections refuses their number.
    v: u64,
    id: Nonce,
}

/// Files are created by the store's own create-if-absent.
const CREATED: u64 = 1;

/// Files are created by election.
const ELECTED: u64 = 2;

/// Opens a store and checks what leases need of it.
///
/// Unless it is opened read-only, a local folder is created if only its last part is missing, and
/// the store is tried out as [`Options::probe`] says: a file is written, listed and deleted, and
/// where nobody held leases before, creates are raced against each other, of which exactly one may
/// win. Where several do, files are created by election from then on, for all who open it, unless
/// [`Options::without_create`] says otherwise.
///
/// # Errors
///
/// [`Error::Misconfigured`], with what to do: the folder, the one above it or the bucket is missing,
/// is no folder, is not writable or has no hard links; the credentials are refused; a newer version
/// keeps its leases there; the store does not honour create-if-absent. [`Error::Unavailable`] if it
/// does not answer: try again.
///
/// # Cancel safety
///
/// Safe: a probe that is left behind holds nothing, and is cleaned up later.
pub async fn connect(options: Options) -> Result<ObjStore> {
    let mut store = unopened(&options).await?;
    let numbers_writes = options.numbers_writes();
    let Options { read_only, probe, without_create, .. } = options;
    store.read_marker().await?;
    if !read_only {
        store.findings = match probe {
            Probe::Skip => None,
            Probe::Once | Probe::EveryTime => {
                let found = store.try_out(probe, without_create).await?;
                Some(Findings { versioned: found.versioned && !numbers_writes, ..found })
            }
        };
        let began = probe == Probe::Skip && !store.elected && store.elections_began().await?;
        if began && store.opened().is_some() {
            return Err(mixed());
        }
        if began || store.findings.is_some_and(|found| found.elected) {
            store.elect();
        }
        if store.findings.is_some_and(|found| found.versioned) {
            tracing::warn!(
                "the store keeps versions: let a lifecycle rule remove the noncurrent ones of leases"
            );
        }
        store.make_marker().await?;
        if store.elected && without_create == WithoutCreate::Refuse {
            return Err(no_create());
        }
        if let Some(found) = &mut store.findings {
            found.elected = store.elected;
        }
    } else if store.opened().is_none() {
        // Nothing was found, which is also what a bucket shows that is not there. How files will be
        // created is not known yet: whoever reads as if by election reads both ways.
        store.elect();
        store.objects.list_root().await?;
    }
    Ok(store)
}

/// A client of which nothing is known yet: nothing was asked of the store.
pub(crate) async fn unopened(options: &Options) -> Result<ObjStore> {
    let (objects, folder) = open(options).await?;
    let Options { clock, resolution, min_ttl, .. } = options;
    Ok(ObjStore::new(objects, Arc::clone(clock), *resolution, *min_ttl, folder))
}

impl Options {
    /// Whether each write has a number there, also where none but the last is kept.
    pub(crate) fn numbers_writes(&self) -> bool {
        matches!(&self.place, Place::Bucket(bucket) if bucket.cloud == Cloud::Gcp)
    }

    /// The store itself, with the timeouts that leases need: for what the leases protect, if that
    /// is kept in the same place. Nothing is asked of it yet.
    ///
    /// # Errors
    ///
    /// As of [`connect`], as far as they show without a request.
    ///
    /// # Cancel safety
    ///
    /// Safe: it writes nothing but the local folder, if that is missing.
    pub async fn object_store(&self) -> Result<Arc<dyn ObjectStore>> {
        Ok(open(self).await?.0.loose)
    }
}

/// The store behind the options, not asked anything yet, and its folder if it is one.
async fn open(options: &Options) -> Result<(Objects, Option<PathBuf>)> {
    let Options { place, read_only, durable, prefix, .. } = options;
    let writable = !read_only;
    let objects = |store: Arc<dyn ObjectStore>| {
        let (loose, durable) = (Arc::clone(&store), store);
        Objects { loose, durable, root: prefix.clone(), writable }
    };
    match place {
        Place::Store(store) => Ok((objects(Arc::clone(store)), None)),
        #[cfg(feature = "cloud")]
        Place::Bucket(bucket) => {
            Ok((objects(crate::cloud::open(bucket, options.watch.clone())?), None))
        }
        #[cfg(not(feature = "cloud"))]
        Place::Bucket(bucket) => Err(feature_off(bucket.cloud)),
        Place::Local(path) => {
            let (path, looking) = (path.clone(), *read_only);
            let path = blocking(move || prepare(&path, looking)).await?;
            let open = |durable| -> Result<Arc<dyn ObjectStore>> {
                let folder = Folder::open(&path, durable);
                Ok(Arc::new(folder.map_err(|error| translate(error, Doing::Reading))?))
            };
            let (loose, durable) = (open(false)?, open(*durable)?);
            Ok((Objects { loose, durable, root: prefix.clone(), writable }, Some(path)))
        }
    }
}

/// The driver of this cloud is not in this build.
#[cfg(not(all(feature = "aws", feature = "azure", feature = "gcp")))]
pub(crate) fn feature_off(cloud: Cloud) -> Error {
    let feature = cloud.feature();
    Error::misconfigured(
        format!(
            "this build has no driver for such a bucket: its feature is switched off, feature=`{feature}`"
        ),
        format!("build with the feature `{feature}`"),
    )
}

impl ObjStore {
    /// Makes the marker if nobody has, and remembers what it says, whoever made it.
    pub(crate) async fn make_marker(&mut self) -> Result<()> {
        if self.opened().is_some() {
            return self.sweep_root().await;
        }
        let v = if self.elected { ELECTED } else { CREATED };
        let body = encode(&Marker { v, id: Jitter::system().nonce() })?;
        // Neither "exists" nor an unclear answer tells whose it is: it is read.
        match self.objects.create(&self.marker(), body, Keep::Durably).await {
            Ok(_) => {}
            Err(error) if is_unclear(&error) => {}
            Err(error) => return Err(error),
        }
        let Some((_, found)) = self.objects.read(&self.marker()).await? else {
            return Err(nonsense("the marker of the lease folder was not kept"));
        };
        let marker = parse(&found)?;
        // Each looks for the other's after it has written its own, so one of them finds out at the
        // least.
        if marker.v == ELECTED && !self.elected {
            // Somebody finished its election meanwhile.
            self.elect();
        } else if marker.v != v || (!self.elected && self.elections_began().await?) {
            return Err(mixed());
        }
        if self.elected {
            // For whoever reads it without knowing of elections.
            self.objects.put(&self.marker(), found).await?;
        }
        self.is_opened(marker.id);
        Ok(())
    }

    /// Whether the marker of this folder is, or was to be, created by election.
    pub(crate) async fn elections_began(&self) -> Result<bool> {
        Ok(self.is_elected_in(&self.objects.list_root().await?))
    }

    pub(crate) fn is_elected_in(&self, listed: &[(Path, Seen)]) -> bool {
        let marker = self.marker();
        listed.iter().any(|(path, _)| is_of_election(path, &marker))
    }

    /// Removes what killed writers have left in the lease folder itself.
    async fn sweep_root(&self) -> Result<()> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let now = self.memo.now(self.clock.now(), staging::OLD);
        blocking(move || Ok(staging::sweep(&folder, now))).await.map(drop)
    }

    pub(crate) fn opened(&self) -> Option<Nonce> {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_opened(&self, id: Nonce) {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
    }

    /// Remembers which lease folder this is, and how files are created there.
    pub(crate) async fn read_marker(&mut self) -> Result<()> {
        let Some(found) = self.objects.read(&self.marker()).await? else { return Ok(()) };
        let marker = parse(&found.1)?;
        if marker.v == ELECTED {
            self.elect();
        }
        self.is_opened(marker.id);
        Ok(())
    }

    /// Makes sure that an empty listing is that of the lease folder, and not of what is left where
    /// it was mounted.
    pub(crate) async fn same_store(&self) -> Result<()> {
        let opened = self.opened();
        let found = self.objects.read(&self.marker()).await?;
        let found = found.map(|(_, body)| parse(&body)).transpose()?;
        match (opened, found) {
            (None, None) => Ok(()),
            (Some(opened), Some(found)) if opened == found.id => Ok(()),
            // Opened to look before there was anything.
            (None, Some(found)) => {
                self.is_opened(found.id);
                Ok(())
            }
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
    if marker.v > ELECTED {
        return Err(Error::misconfigured(
            format!("the lease folder was made by a newer version, format=`{}`", marker.v),
            "use that version, or another folder",
        ));
    }
    Ok(marker)
}

/// Some create files by election there and some do not: none of them would be alone.
pub(crate) fn mixed() -> Error {
    Error::misconfigured(
        "the lease folder is used by clients who trust this store's create-if-absent, and it was \
         found not to be exact",
        "use an empty prefix; or, when nobody holds, delete `leasehold.json` and what begins with it",
    )
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
        Err(error) if error.kind() == ErrorKind::NotFound => Err(nothing_above(path)),
        Err(error) => Err(local(error, Doing::Writing)),
    }
}

pub(crate) fn nothing_above(path: &FilePath) -> Error {
    Error::misconfigured(
        format!("the folder above the lease folder does not exist, path=`{}`", path.display()),
        "create it, or mount what should be there: only the last part is created",
    )
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
