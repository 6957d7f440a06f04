//! An object store that counts requests, stamps files with a test's clock, and fails on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use lease_core::Clock;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result,
};

/// What is asked of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Create,
    Put,
    Get,
    Head,
    List,
    Delete,
}

/// What a hook does about one request.
pub(crate) enum Then {
    /// Lets it through.
    Go,
    /// Fails it before it is applied.
    Fail(Error),
    /// Applies it and loses the answer.
    Lose(Error),
    /// Lets it through, later.
    Wait(BoxFuture<'static, ()>),
    /// Tells a write's sender that there was no answer, and applies it when it is told to land.
    Late,
    /// Answers a listing with what the last one showed, and what this client wrote since.
    Stale,
    /// Leaves one file out of a listing.
    Without(String),
}

type Hook = Box<dyn Fn(Op, &Path) -> Then + Send + Sync>;

/// What became of a request at the gate.
enum Gate {
    Go,
    Lose(Error),
    Late,
    Stale,
    Without(String),
}

/// An object store that a test watches. Clones are one client of it.
#[derive(Clone)]
pub(crate) struct Watched {
    inner: Arc<dyn ObjectStore>,
    clock: Option<Arc<dyn Clock>>,
    stamps: Arc<Mutex<BTreeMap<Path, Duration>>>,
    late: Arc<Mutex<Vec<(Path, PutPayload, PutOptions)>>>,
    creates: bool,
    whole_seconds: bool,
    client: Arc<Client>,
}

#[derive(Default)]
struct Client {
    log: Mutex<Vec<(Op, String)>>,
    hook: Mutex<Option<Arc<Hook>>>,
    listed: Mutex<BTreeMap<Path, Vec<ObjectMeta>>>,
    wrote: Mutex<BTreeSet<Path>>,
}

impl Watched {
    /// Over a store that stamps files itself.
    pub(crate) fn over(inner: Arc<dyn ObjectStore>) -> Self {
        let (stamps, late, client) = Default::default();
        Self { inner, clock: None, stamps, late, creates: true, whole_seconds: false, client }
    }

    /// The same store, which forgets about creating: it writes over what is there.
    pub(crate) fn without_create(self) -> Self {
        Self { creates: false, ..self }
    }

    /// In memory, on the clock of a test.
    pub(crate) fn on(clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), ..Self::over(Arc::new(InMemory::new())) }
    }

    /// The same store, which shows whole seconds of a file that is asked for, and all in listings.
    pub(crate) fn with_whole_seconds(self) -> Self {
        Self { whole_seconds: true, ..self }
    }

    /// The same store, seen through another client with its own hook and counts.
    pub(crate) fn another(&self) -> Self {
        Self { client: Arc::default(), ..self.clone() }
    }

    /// From now on every request asks `hook`.
    pub(crate) fn hook(&self, hook: impl Fn(Op, &Path) -> Then + Send + Sync + 'static) {
        *self.client.hook.lock().unwrap() = Some(Arc::new(Box::new(hook)));
    }

    pub(crate) fn unhook(&self) {
        *self.client.hook.lock().unwrap() = None;
    }

    /// The requests since the last call, in order.
    pub(crate) fn log(&self) -> Vec<(Op, String)> {
        std::mem::take(&mut *self.client.log.lock().unwrap())
    }

    /// The same by kind alone.
    pub(crate) fn kinds(&self) -> String {
        let kinds: Vec<_> = self.log().iter().map(|(op, _)| format!("{op:?}")).collect();
        kinds.join(" ")
    }

    /// All files, by path, without being counted.
    pub(crate) async fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let metas: Vec<_> = self.inner.list(None).try_collect().await.unwrap();
        let mut files = BTreeMap::new();
        for meta in metas {
            if let Ok(got) = self.inner.get(&meta.location).await {
                files.insert(meta.location.to_string(), got.bytes().await.unwrap().to_vec());
            }
        }
        files
    }

    /// Writes a file by hand, without being counted.
    pub(crate) async fn plant(&self, path: &str, body: impl Into<PutPayload>) {
        let path = Path::from(path);
        self.inner.put(&path, body.into()).await.unwrap();
        self.stamp(&path);
    }

    /// Deletes files by hand, without being counted.
    pub(crate) async fn uproot(&self, which: impl Fn(&str) -> bool + Send) {
        let files: Vec<_> = self.files().await.into_keys().filter(|file| which(file)).collect();
        for file in files {
            self.inner.delete(&Path::from(file)).await.unwrap();
        }
    }

    /// How many late writes are under way.
    pub(crate) fn late(&self) -> usize {
        self.late.lock().unwrap().len()
    }

    /// Lets one late write land at last.
    pub(crate) async fn land(&self, which: usize) {
        let (path, payload, options) = self.late.lock().unwrap().swap_remove(which);
        if self.inner.put_opts(&path, payload, options).await.is_ok() {
            self.stamp(&path);
        }
    }

    async fn gate(&self, op: Op, path: &Path) -> Result<Gate> {
        let file = path.filename().unwrap_or_default().to_owned();
        self.client.log.lock().unwrap().push((op, file));
        let hook = self.client.hook.lock().unwrap().clone();
        Ok(match hook.map_or(Then::Go, |hook| hook(op, path)) {
            Then::Go => Gate::Go,
            Then::Fail(error) => return Err(error),
            Then::Lose(error) => Gate::Lose(error),
            Then::Late => Gate::Late,
            Then::Stale => Gate::Stale,
            Then::Without(file) => Gate::Without(file),
            Then::Wait(until) => {
                until.await;
                Gate::Go
            }
        })
    }

    fn stamp(&self, path: &Path) {
        if let Some(clock) = &self.clock {
            let now = clock.now().since_origin();
            self.stamps.lock().unwrap().insert(path.clone(), now);
        }
    }

    fn stamped(&self, mut meta: ObjectMeta) -> ObjectMeta {
        /// A year after 1970 for the clock's origin: what no wall clock shows.
        const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
        if let Some(at) = self.stamps.lock().unwrap().get(&meta.location) {
            meta.last_modified = (SystemTime::UNIX_EPOCH + YEAR + *at).into();
        }
        meta
    }
}

fn answer<T>(gate: Gate, answer: Result<T>) -> Result<T> {
    match gate {
        Gate::Lose(error) => Err(error),
        _ => answer,
    }
}

/// An error that tells nothing.
pub(crate) fn no_answer() -> Error {
    Error::Generic { store: "Watched", source: "there was no answer".into() }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

#[async_trait]
impl ObjectStore for Watched {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        let op = if options.mode == PutMode::Create { Op::Create } else { Op::Put };
        if !self.creates {
            options.mode = PutMode::Overwrite;
        }
        let gate = self.gate(op, location).await?;
        if matches!(gate, Gate::Late) {
            self.late.lock().unwrap().push((location.clone(), payload, options));
            return Err(no_answer());
        }
        let put = self.inner.put_opts(location, payload, options).await;
        if put.is_ok() {
            self.stamp(location);
            self.client.wrote.lock().unwrap().insert(location.clone());
        }
        answer(gate, put)
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let op = if options.head { Op::Head } else { Op::Get };
        let gate = self.gate(op, location).await?;
        let mut got = self.inner.get_opts(location, options).await?;
        got.meta = self.stamped(got.meta);
        if self.whole_seconds {
            let shown = SystemTime::from(got.meta.last_modified);
            let since = shown.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
            let second = SystemTime::UNIX_EPOCH + Duration::from_secs(since);
            got.meta.last_modified = second.into();
        }
        answer(gate, Ok(got))
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        locations
            .and_then(move |location| {
                let store = store.clone();
                async move {
                    let gate = store.gate(Op::Delete, &location).await?;
                    answer(gate, store.inner.delete(&location).await)?;
                    Ok(location)
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (store, prefix) = (self.clone(), prefix.cloned());
        stream::once(async move { store.list_with_delimiter(prefix.as_ref()).await })
            .map_ok(|listed| stream::iter(listed.objects.into_iter().map(Ok)))
            .try_flatten()
            .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let path = prefix.cloned().unwrap_or_default();
        let gate = self.gate(Op::List, &path).await?;
        let mut listed = self.inner.list_with_delimiter(prefix).await?;
        listed.objects = listed.objects.into_iter().map(|meta| self.stamped(meta)).collect();
        let mut last = self.client.listed.lock().unwrap();
        match (gate, last.get(&path)) {
            (Gate::Stale, Some(last)) => {
                let own = std::mem::take(&mut *self.client.wrote.lock().unwrap());
                listed.objects.retain(|meta| own.contains(&meta.location));
                let older = |meta: &&ObjectMeta| !own.contains(&meta.location);
                listed.objects.extend(last.iter().filter(older).cloned());
            }
            (Gate::Lose(error), _) => return Err(error),
            (Gate::Without(file), _) => {
                listed.objects.retain(|meta| meta.location.as_ref() != file);
            }
            _ => {
                self.client.wrote.lock().unwrap().clear();
                last.insert(path, listed.objects.clone());
            }
        }
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
