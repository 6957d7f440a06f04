//! Elections on a store that tells times at random and lists in no one moment, among clients whose requests come in any order
//! and some of which stop in the middle: never are two told that they won, and what anybody reads is
//! what the winner wrote.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures::future::join_all;
use futures::stream::BoxStream;
use lease_core::clock::SystemClock;
use object_store::memory::InMemory;
use object_store::{CopyOptions, GetOptions, GetResult, MultipartUpload, PutMultipartOptions};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::*;

const FILE: &str = "payroll/x-0000000000000007";

/// A store whose clock shows anything.
#[derive(Clone, Debug)]
struct Erratic {
    inner: Arc<InMemory>,
    rng: Arc<Mutex<SmallRng>>,
}

impl Erratic {
    fn chance(&self, of: u32) -> bool {
        self.rng.lock().unwrap().random_ratio(1, of)
    }

    /// Some time within three seconds.
    fn time(&self) -> SystemTime {
        let second = self.rng.lock().unwrap().random_range(0..3);
        SystemTime::UNIX_EPOCH + Duration::from_secs(second)
    }

    /// Lets the others go first, for a while.
    async fn pause(&self) {
        while self.chance(2) {
            tokio::task::yield_now().await;
        }
    }
}

impl fmt::Display for Erratic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Erratic")
    }
}

#[async_trait]
impl ObjectStore for Erratic {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        assert_eq!(options.mode, PutMode::Overwrite, "nothing else is asked of such a store");
        self.pause().await;
        let put = self.inner.put_opts(location, payload, options).await;
        self.pause().await;
        put
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.pause().await;
        let mut got = self.inner.get_opts(location, options).await?;
        got.meta.last_modified = self.time().into();
        Ok(got)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.pause().await;
        let mut listed = self.inner.list_with_delimiter(prefix).await?;
        // No snapshot: each file is shown as it was at some moment of the walk.
        for _ in 0..2 {
            self.pause().await;
            let later = self.inner.list_with_delimiter(prefix).await?.objects;
            let seen: BTreeSet<_> = listed.objects.iter().map(|m| m.location.clone()).collect();
            let new = later.into_iter().filter(|meta| !seen.contains(&meta.location));
            listed.objects.extend(new.filter(|_| self.chance(2)));
        }
        for meta in &mut listed.objects {
            meta.last_modified = self.time().into();
        }
        self.pause().await;
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// What one client found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    Won(String),
    Read(String),
    Nothing,
}

/// Tries to create the file, or only reads it.
async fn live(store: Elected, erratic: Erratic, who: usize) -> Found {
    let path = Path::from(FILE);
    let body = format!("client {who}");
    if !erratic.chance(4) {
        let mode = PutMode::Create.into();
        match store.put_opts(&path, body.clone().into(), mode).await {
            Ok(_) => return Found::Won(body),
            // A listing may show the end of an election, and not yet whose it was: that is no answer.
            Err(Error::AlreadyExists { .. } | Error::Generic { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    read(&store, &path).await
}

async fn read(store: &Elected, path: &Path) -> Found {
    match store.get_opts(path, GetOptions::default()).await {
        Ok(got) => Found::Read(String::from_utf8(got.bytes().await.unwrap().into()).unwrap()),
        Err(Error::NotFound { .. } | Error::Generic { .. }) => Found::Nothing,
        Err(error) => panic!("{error:?}"),
    }
}

/// One election, and what each client found; nothing of those who stopped in the middle.
async fn election(seed: u64) -> Vec<Option<Found>> {
    let rng = Arc::new(Mutex::new(SmallRng::seed_from_u64(seed)));
    let erratic = Erratic { inner: Arc::default(), rng };
    let (inner, clock) = (Arc::new(erratic.clone()), Arc::new(SystemClock));
    let store = Elected::over(inner, clock, Duration::ZERO, true);
    let clients = (0..4).map(|who| {
        let (store, erratic) = (store.clone(), erratic.clone());
        let stops = erratic.chance(4).then(|| erratic.rng.lock().unwrap().random_range(1..60));
        async move {
            let life = live(store, erratic, who);
            let Some(steps) = stops else { return Some(life.await) };
            let mut left = steps;
            let mut life = std::pin::pin!(life);
            std::future::poll_fn(move |context| {
                if left == 0 {
                    return std::task::Poll::Ready(None);
                }
                left -= 1;
                life.as_mut().poll(context).map(Some)
            })
            .await
        }
    });
    let mut found = join_all(clients).await;
    // And somebody who comes when all is over.
    found.push(Some(read(&store, &Path::from(FILE)).await));
    found
}

#[tokio::test]
async fn at_the_most_one_wins_and_all_read_what_it_wrote() {
    let mut contested = 0;
    for seed in 0..10_000 {
        let found = election(seed).await;
        let bodies = found.iter().flatten().filter_map(|found| match found {
            Found::Won(body) | Found::Read(body) => Some(body),
            Found::Nothing => None,
        });
        let bodies: BTreeSet<&String> = bodies.collect();
        assert!(bodies.len() <= 1, "seed {seed}: {found:?}");
        let won = found.iter().flatten().filter(|found| matches!(found, Found::Won(_))).count();
        assert!(won <= 1, "seed {seed}: {found:?}");
        contested += usize::from(won == 0 && !bodies.is_empty());
    }
    assert!(contested > 0, "nobody finished what another began");
}
