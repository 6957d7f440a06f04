//! The file backend over a simulated object store: each request of it may be spoiled.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt, TryStreamExt};
use lease_core::sim::{Link, OpenStore, Store};
use lease_core::{Backend, Clock, Moment};
use lease_objstore::Options;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result,
};

/// The file backend, each request of it sent over the simulated network.
#[derive(Clone, Copy, Debug)]
pub struct Files;

impl Store for Files {
    fn open(&self, clock: Arc<dyn Clock>) -> Arc<dyn OpenStore> {
        Arc::new(Bucket::new(clock, true))
    }
}

/// The same over a bucket where creating a file writes over the one that is there.
#[derive(Clone, Copy, Debug)]
pub struct Elected;

impl Store for Elected {
    fn open(&self, clock: Arc<dyn Clock>) -> Arc<dyn OpenStore> {
        Arc::new(Bucket::new(clock, false))
    }
}

/// One bucket, which stamps its objects with the world's time.
#[derive(Clone)]
struct Bucket {
    inner: Arc<InMemory>,
    clock: Arc<dyn Clock>,
    stamps: Arc<Mutex<HashMap<Path, Moment>>>,
    creates: bool,
}

impl Bucket {
    fn new(clock: Arc<dyn Clock>, creates: bool) -> Self {
        Self { inner: Arc::default(), clock, stamps: Arc::default(), creates }
    }

    /// The step of the clock as the backend is told: a candidate may be on its way for some of them.
    fn step(&self) -> Duration {
        Duration::from_millis(if self.creates { 2 } else { 20 })
    }

    fn stamp(&self, path: &Path) {
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        stamps.insert(path.clone(), self.clock.now());
    }

    fn stamped(&self, mut meta: ObjectMeta) -> ObjectMeta {
        /// What the bucket's clock shows at the world's beginning: a year after 1970.
        const START: Duration = Duration::from_secs(365 * 24 * 3600);
        let stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = stamps.get(&meta.location) {
            meta.last_modified = (SystemTime::UNIX_EPOCH + START + at.since_origin()).into();
        }
        meta
    }
}

#[async_trait]
impl OpenStore for Bucket {
    async fn connect(&self, link: Link, clock: Arc<dyn Clock>) -> Arc<dyn Backend> {
        let far = Far { bucket: self.clone(), link };
        let options = Options::store(Arc::new(far))
            .clock(clock)
            .resolution(self.step(), Duration::from_millis(500));
        match lease_objstore::connect(options).await {
            Ok(backend) => Arc::new(backend),
            Err(error) => unreachable!("nothing is spoiled yet: {error}"),
        }
    }
}

/// The bucket as one client reaches it.
#[derive(Clone)]
struct Far {
    bucket: Bucket,
    link: Link,
}

impl Far {
    async fn ask<T: Send + 'static>(
        &self,
        what: &'static str,
        request: impl Fn(Bucket) -> BoxFuture<'static, Result<T>> + Send + Sync + 'static,
    ) -> Result<T> {
        let bucket = self.bucket.clone();
        let answer = self.link.send(what, move || request(bucket.clone()));
        answer.await.unwrap_or_else(|_| {
            Err(Error::Generic { store: "simulated", source: "the network lost it".into() })
        })
    }
}

impl fmt::Debug for Far {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Far {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bucket far away")
    }
}

#[async_trait]
impl ObjectStore for Far {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        let location = location.clone();
        if !self.bucket.creates {
            options.mode = PutMode::Overwrite;
        }
        self.ask("put", move |bucket| {
            let (location, payload, options) = (location.clone(), payload.clone(), options.clone());
            async move {
                let put = bucket.inner.put_opts(&location, payload, options).await;
                if put.is_ok() {
                    bucket.stamp(&location);
                }
                put
            }
            .boxed()
        })
        .await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.bucket.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let location = location.clone();
        self.ask("get", move |bucket| {
            let (location, options) = (location.clone(), options.clone());
            async move {
                let mut got = bucket.inner.get_opts(&location, options).await?;
                got.meta = bucket.stamped(got.meta);
                Ok(got)
            }
            .boxed()
        })
        .await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let far = self.clone();
        let delete = move |location: Path| {
            let far = far.clone();
            async move {
                let path = location.clone();
                let deletion = far.ask("delete", move |bucket| {
                    let path = path.clone();
                    async move { bucket.inner.delete(&path).await }.boxed()
                });
                deletion.await.map(|()| location)
            }
        };
        locations.and_then(delete).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (far, prefix) = (self.clone(), prefix.cloned());
        stream::once(async move { far.list_with_delimiter(prefix.as_ref()).await })
            .map_ok(|listed| stream::iter(listed.objects.into_iter().map(Ok)))
            .try_flatten()
            .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let prefix = prefix.cloned();
        self.ask("list", move |bucket| {
            let prefix = prefix.clone();
            async move {
                let mut listed = bucket.inner.list_with_delimiter(prefix.as_ref()).await?;
                let stamped = listed.objects.into_iter().map(|meta| bucket.stamped(meta));
                listed.objects = stamped.collect();
                Ok(listed)
            }
            .boxed()
        })
        .await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.bucket.inner.copy_opts(from, to, options).await
    }
}
