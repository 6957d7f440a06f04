//! A folder on a local or mounted disk as an object store.
//!
//! The driver's own [`LocalFileSystem`] reads, and this lists and writes. The driver's listing
//! leaves out, without a word, what it cannot look at, and shows a folder that is gone as an empty
//! one: a lease that is left out looks free. About writing see [`publish`].

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error as Driver, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};

use crate::one_go::{self, request};
use crate::publish::{How, publish, remove};

mod list;

use list::list;

/// A folder as an object store. Clones are one folder.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: Arc<FilePath>,
    reads: Arc<LocalFileSystem>,
    durable: bool,
}

impl Folder {
    /// The folder at this absolute path, which exists; `durable` writes survive a power loss.
    pub(crate) fn open(path: &FilePath, durable: bool) -> Result<Self> {
        let reads = Arc::new(LocalFileSystem::new_with_prefix(path)?);
        let path = path.canonicalize().map_err(generic)?;
        Ok(Self { path: path.into(), reads, durable })
    }

    fn at(&self, path: Option<&Path>) -> PathBuf {
        let parts = path.into_iter().flat_map(Path::parts);
        parts.fold(self.path.to_path_buf(), |at, part| at.join(part.as_ref()))
    }

    fn cannot(&self, what: &str) -> Driver {
        Driver::NotImplemented { operation: what.to_owned(), implementer: self.to_string() }
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Folder({})", self.path.display())
    }
}

#[async_trait]
impl ObjectStore for Folder {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let create = match options.mode {
            PutMode::Create => true,
            PutMode::Overwrite => false,
            PutMode::Update(_) => return Err(self.cannot("put if unchanged")),
        };
        let (root, path) = (Arc::clone(&self.path), self.at(Some(location)));
        let how = How { create, durable: self.durable };
        let published = request(move || {
            let body: Vec<&[u8]> = payload.iter().map(AsRef::as_ref).collect();
            publish(&root, &path, &body, how)
        });
        match published.await? {
            Ok(tag) => {
                Ok(PutResult { e_tag: Some(tag), version: None, extensions: Default::default() })
            }
            Err(error) if create && error.kind() == ErrorKind::AlreadyExists => {
                Err(Driver::AlreadyExists { path: location.to_string(), source: error.into() })
            }
            Err(error) => Err(generic(error)),
        }
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(self.cannot("put in parts"))
    }

    /// Within a step its own way, for the driver's goes by the blocking pool.
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if !one_go::is_on() {
            return self.reads.get_opts(location, options).await;
        }
        if options.range.is_some() {
            return Err(self.cannot("get a part within a step"));
        }
        let (path, at) = (self.at(Some(location)), location.clone());
        let opened = request(move || open(&path, at)).await?;
        let (mut file, meta) = opened.map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                Driver::NotFound { path: location.to_string(), source: error.into() }
            }
            _ => generic(error),
        })?;
        options.check_preconditions(&meta)?;
        let read = async move {
            let body = request(move || {
                let mut body = Vec::new();
                file.read_to_end(&mut body)?;
                Ok(Bytes::from(body))
            });
            body.await?.map_err(generic)
        };
        Ok(GetResult {
            // Not read before it is asked for: a stray may be of any size.
            payload: GetResultPayload::Stream(stream::once(read).boxed()),
            range: 0..meta.size,
            meta,
            attributes: Attributes::default(),
            extensions: Default::default(),
        })
    }

    /// All of them in one go, as far as they are there.
    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let folder = self.clone();
        stream::once(async move {
            let locations: Vec<Path> = locations.try_collect().await?;
            let paths: Vec<_> = locations.iter().map(|path| folder.at(Some(path))).collect();
            let removed = request(move || remove(&paths)).await?.map_err(generic)?;
            match &locations[..] {
                [only] if removed == 0 => Err(Driver::NotFound {
                    path: only.to_string(),
                    source: io::Error::from(ErrorKind::NotFound).into(),
                }),
                _ => Ok(stream::iter(locations.into_iter().map(Ok))),
            }
        })
        .try_flatten()
        .boxed()
    }

    /// One level is all there is of a lease name, so this is the same listing as a stream.
    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (folder, prefix) = (self.clone(), prefix.cloned());
        stream::once(async move { folder.list_with_delimiter(prefix.as_ref()).await })
            .map_ok(|listed| stream::iter(listed.objects.into_iter().map(Ok)))
            .try_flatten()
            .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let (root, folder) = (Arc::clone(&self.path), self.at(prefix));
        let prefix = prefix.cloned().unwrap_or_default();
        let listed = request(move || list(&root, &folder, &prefix)).await?;
        listed.map_err(generic)
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(self.cannot("copy"))
    }
}

/// A file and what it is. A folder is no file.
fn open(path: &FilePath, location: Path) -> io::Result<(File, ObjectMeta)> {
    let file = File::open(path)?;
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(io::Error::new(ErrorKind::NotFound, "it is a folder"));
    }
    let shown = shown(location, &meta)?;
    Ok((file, shown))
}

fn shown(location: Path, meta: &fs::Metadata) -> io::Result<ObjectMeta> {
    Ok(ObjectMeta {
        location,
        last_modified: meta.modified()?.into(),
        size: meta.len(),
        e_tag: Some(tag(meta)?),
        version: None,
    })
}

/// Whether this is the name of a file that is being written, or was when its writer was killed:
/// it is written as `name#<number>` and then linked or renamed to `name`.
pub(crate) fn is_staging(file: &str) -> bool {
    staged_for(file).is_some()
}

/// The name that this staging file was to get.
pub(crate) fn staged_for(file: &str) -> Option<&str> {
    let (name, number) = file.rsplit_once('#')?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    digits.then_some(name)
}

/// The entity tag of this file, as the driver makes it.
pub(crate) fn tag(meta: &fs::Metadata) -> io::Result<String> {
    let modified = meta.modified()?.duration_since(std::time::SystemTime::UNIX_EPOCH);
    let micros = modified.unwrap_or_default().as_micros();
    Ok(format!("\"{:x}-{micros:x}-{:x}\"", inode(meta), meta.len()))
}

#[cfg(unix)]
fn inode(meta: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(meta)
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> u64 {
    0
}

fn generic(error: io::Error) -> Driver {
    Driver::Generic { store: "Folder", source: Box::new(error) }
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStoreExt;

    use super::*;

    /// A record's revision is told by the entity tag, whichever answer it comes from.
    #[tokio::test]
    async fn all_answers_have_one_tag_for_one_write() {
        let folder = tempfile::tempdir().unwrap();
        let store = Folder::open(folder.path(), false).unwrap();
        let path = Path::from("name/x-1");
        for mode in [PutMode::Create, PutMode::Overwrite] {
            let put = store.put_opts(&path, "body".into(), mode.into()).await.unwrap();
            let listed = store.list_with_delimiter(Some(&Path::from("name"))).await.unwrap();
            assert_eq!(listed.objects.len(), 1);
            assert_eq!(listed.objects[0].e_tag, put.e_tag);
            assert_eq!(store.head(&path).await.unwrap(), listed.objects[0]);
        }
    }

    #[tokio::test]
    async fn a_folder_that_is_gone_is_not_an_empty_one() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("leases");
        fs::create_dir(&path).unwrap();
        let store = Folder::open(&path, false).unwrap();
        let name = Path::from("name");
        assert!(store.list_with_delimiter(Some(&name)).await.unwrap().objects.is_empty());

        fs::remove_dir(&path).unwrap();
        store.list_with_delimiter(Some(&name)).await.unwrap_err();
        let put = store.put_opts(&name, "body".into(), PutMode::Overwrite.into()).await;
        put.unwrap_err();
        assert!(!path.exists(), "a heartbeat made the folder again");
        fs::write(&path, "").unwrap();
        store.list_with_delimiter(Some(&name)).await.unwrap_err();
    }

    #[test]
    fn staging_files_are_known_by_their_end() {
        assert_eq!(staged_for("x-1#17"), Some("x-1"));
        assert_eq!(staged_for("x-1#"), None);
        assert_eq!(staged_for("x-1#a"), None);
        assert_eq!(staged_for("x-1"), None);
    }
}
