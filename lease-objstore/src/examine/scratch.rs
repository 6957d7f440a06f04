//! Where a checkup writes: a folder of its own, which is gone afterwards.

use std::io::ErrorKind;
use std::path::PathBuf;

use lease_core::checkup::{Check, Finding, Guarantee};
use lease_core::{Error, Jitter, Result};
use object_store::path::Path;

use crate::Options;
use crate::connect::{blocking, nothing_above, unopened};
use crate::error::{Doing, is_denied, local, translate};
use crate::options::Place;
use crate::store::ObjStore;

const PLACE: Guarantee = Guarantee::new(
    "place",
    "the folder or bucket answers, and no other version keeps leases there that this one cannot read",
);
const CLEAN: Guarantee = Guarantee::new("clean-up", "nothing of this checkup is left");

/// What is at the place of the leases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Whether it is there at all.
    pub(super) exists: bool,
    /// Whether anybody has held leases there.
    pub(super) in_use: bool,
    /// Whether files are created there by election.
    pub(super) elected: bool,
    /// Whether the store refused a look.
    pub(super) denied: bool,
}

/// Looks at the place of the leases, without writing anything; nothing if there is no more to find.
pub(super) async fn place(options: &Options, checks: &mut Vec<Check>) -> Option<Found> {
    let nobody = Found { exists: true, in_use: false, elected: false, denied: false };
    if let Place::Local(path) = &options.place
        && !options.read_only
        && path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
    {
        if !path.parent().is_some_and(std::path::Path::is_dir) {
            checks.push(PLACE.failed(&nothing_above(path)));
            return None;
        }
        checks.push(PLACE.doubtful(
            format!("the folder is not there, path=`{}`", path.display()),
            "if it should be mounted, mount it: else whoever first holds a lease makes an empty one, \
             beside those of others",
        ));
        return Some(Found { exists: false, ..nobody });
    }
    let looked = look(options).await;
    let denied = looked.as_ref().is_err_and(is_denied);
    let is_local = matches!(options.place, Place::Local(_));
    match looked {
        Ok(found) => {
            checks.push(PLACE.holds(match (found.in_use, found.elected) {
                (false, _) => "it is there, and nobody has held leases in it yet",
                (true, false) => "leases are kept there",
                (true, true) => "leases are kept there, and files created by election",
            }));
            Some(found)
        }
        // Which right is missing is found out next.
        Err(_) if denied && !is_local => Some(Found { denied, ..nobody }),
        Err(error) => {
            checks.push(PLACE.failed(&error));
            None
        }
    }
}

async fn look(options: &Options) -> Result<Found> {
    let mut store = unopened(&options.clone().read_only()).await?;
    store.objects.list_root().await?;
    store.read_marker().await?;
    let in_use = store.opened().is_some();
    Ok(Found { exists: true, in_use, elected: store.elected, denied: false })
}

/// The folder of one checkup.
pub(super) struct Scratch {
    /// What opens it.
    pub(super) options: Options,
    pub(super) found: Found,
    folder: Option<PathBuf>,
}

impl Scratch {
    /// Below the leases' folder: the same rights and rules reach there, and no lease does.
    pub(super) fn below(options: &Options, found: Found) -> Self {
        let own = format!("doctor-{}", Jitter::system().nonce());
        let mut options = options.clone();
        let mut folder = None;
        match &mut options.place {
            Place::Local(path) if found.exists => {
                path.push(own);
                folder = Some(path.clone());
            }
            Place::Local(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                path.set_file_name(format!("{name}.{own}"));
                folder = Some(path.clone());
            }
            Place::Store(_) | Place::Bucket(_) => options.prefix = options.prefix.clone().join(own),
        }
        Self { options, found, folder }
    }

    /// A client that knows nothing of it.
    pub(super) async fn open(&self) -> Result<ObjStore> {
        unopened(&self.options).await
    }

    /// Removes all that was written.
    pub(super) async fn clear(&self, checks: &mut Vec<Check>) {
        if let Err(error) = self.cleared().await {
            let place = match &self.folder {
                Some(path) => path.display().to_string(),
                None => self.options.prefix.to_string(),
            };
            let why = match CLEAN.failed(&error).finding {
                Finding::Broken { what, .. } => what,
                Finding::Unanswered { why } => why,
                _ => error.to_string(),
            };
            checks.push(CLEAN.doubtful(
                format!("files of this checkup could not be removed: {why}"),
                format!("delete `{place}`: nobody uses it"),
            ));
        }
    }

    async fn cleared(&self) -> Result<()> {
        if let Some(folder) = self.folder.clone() {
            return blocking(move || match std::fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(local(error, Doing::Writing))
                }
                _ => Ok(()),
            })
            .await;
        }
        let store = self.open().await?;
        let (left, folders) = left(&store).await?;
        store.objects.delete_in_turn(vec![left]).await?;
        // Some stores show an empty folder as if it were a file, until it is deleted like one.
        for folder in folders.iter().rev() {
            if let Err(error) = store.objects.delete(folder).await {
                tracing::debug!(%error, "an empty folder stays");
            }
        }
        match self::left(&store).await?.0.first() {
            None => Ok(()),
            Some(path) => Err(Error::misconfigured(
                format!("a file is still listed, file=`{path}`"),
                "delete it",
            )),
        }
    }
}

/// All files that are in it and in the folders of names, and those folders that are shown as files.
async fn left(store: &ObjStore) -> Result<(Vec<Path>, Vec<Path>)> {
    let mut folders = vec![store.objects.root.clone()];
    let (mut files, mut shown) = (Vec::new(), Vec::new());
    while let Some(folder) = folders.pop() {
        let listed = store.objects.loose.list_with_delimiter(Some(&folder)).await;
        let listed = match listed.map_err(|error| translate(error, Doing::Reading)) {
            // Then nothing was written either, but for what was deleted by its name.
            Err(error) if is_denied(&error) => break,
            listed => listed?,
        };
        for meta in listed.objects {
            if meta.location == folder { &mut shown } else { &mut files }.push(meta.location);
        }
        folders.extend(listed.common_prefixes);
    }
    Ok((files, shown))
}
