//! The suite, on files on a real disk and real time, and on an object store in memory whose clock
//! the test moves.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lease_conformance::{Damage, Fixture};
use lease_core::clock::ManualClock;
use lease_core::{Backend, Clock, Name, Nonce};
use lease_objstore::{Options, connect};
use object_store::Error;
use object_store::local::LocalFileSystem;

use crate::by_hand::{Files, damaged, unended};
use crate::store::{Then, Watched};

/// A folder on this machine's disk.
struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    fn path(&self, name: &Name) -> PathBuf {
        self.folder.path().join(name.portable())
    }

    fn files(&self, name: &Name) -> Files {
        let Ok(entries) = std::fs::read_dir(self.path(name)) else { return Files::new() };
        let read = entries.map(|entry| {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap().to_owned();
            (file, std::fs::read(path).unwrap_or_default())
        });
        read.collect()
    }
}

#[async_trait]
impl Fixture for Disk {
    async fn start() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        Arc::new(connect(Options::local(self.folder.path())).await.unwrap())
    }

    async fn unreachable(&self) -> Arc<dyn Backend> {
        let disk = LocalFileSystem::new_with_prefix(self.folder.path()).unwrap();
        unreachable(&Watched::over(Arc::new(disk))).await
    }

    async fn read_only(&self) -> Option<Arc<dyn Backend>> {
        let store = connect(Options::local(self.folder.path()).read_only()).await.unwrap();
        Some(Arc::new(store))
    }

    async fn erase(&self, name: &Name) {
        std::fs::remove_dir_all(self.path(name)).unwrap();
    }

    async fn damage(&self, name: &Name, nonce: Nonce, damage: Damage) {
        for (file, body) in damaged(&self.files(name), nonce, damage) {
            std::fs::write(self.path(name).join(file), body).unwrap();
        }
    }

    async fn records(&self, name: &Name) -> usize {
        unended(&self.files(name))
    }
}

/// An object store in memory, on a clock that the test moves.
struct Bucket {
    clock: ManualClock,
    store: Watched,
}

impl Bucket {
    async fn files(&self, name: &Name) -> Files {
        let files = self.store.files().await.into_iter();
        let folder = format!("{}/", name.portable());
        files
            .filter_map(|(path, body)| Some((path.strip_prefix(&folder)?.to_owned(), body)))
            .collect()
    }

    fn options(&self, store: Watched) -> Options {
        Options::store(Arc::new(store))
            .clock(Arc::new(self.clock.clone()))
            .resolution(Duration::from_millis(5), Duration::from_millis(100))
    }
}

#[async_trait]
impl Fixture for Bucket {
    async fn start() -> Self {
        let clock = ManualClock::new();
        let store = Watched::on(Arc::new(clock.clone()));
        Self { clock, store }
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        Arc::new(connect(self.options(self.store.clone())).await.unwrap())
    }

    async fn unreachable(&self) -> Arc<dyn Backend> {
        unreachable(&self.store.another()).await
    }

    async fn read_only(&self) -> Option<Arc<dyn Backend>> {
        let store = connect(self.options(self.store.clone()).read_only()).await.unwrap();
        Some(Arc::new(store))
    }

    async fn erase(&self, name: &Name) {
        let folder = format!("{}/", name.portable());
        self.store.uproot(|file| file.starts_with(&folder)).await;
    }

    async fn damage(&self, name: &Name, nonce: Nonce, damage: Damage) {
        for (file, body) in damaged(&self.files(name).await, nonce, damage) {
            self.store.plant(&format!("{}/{file}", name.portable()), body).await;
        }
    }

    async fn records(&self, name: &Name) -> usize {
        unended(&self.files(name).await)
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(self.clock.clone())
    }

    async fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }
}

/// An object store in memory that writes over what is there where it should create; in real time,
/// which elections wait for.
struct Forgetful {
    store: Watched,
}

impl Forgetful {
    fn options(store: Watched) -> Options {
        Options::store(Arc::new(store))
            .resolution(Duration::from_millis(20), Duration::from_millis(100))
    }

    /// The files as whoever looks by hand makes them out: the one that was elected by its name.
    async fn files(&self, name: &Name) -> Files {
        let folder = format!("{}/", name.portable());
        let files = self.store.files().await.into_iter();
        let below =
            files.filter_map(|(path, body)| Some((path.strip_prefix(&folder)?.to_owned(), body)));
        elected(below.collect())
    }
}

#[async_trait]
impl Fixture for Forgetful {
    async fn start() -> Self {
        let store = object_store::memory::InMemory::new();
        Self { store: Watched::over(Arc::new(store)).without_create() }
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        let store = connect(Self::options(self.store.clone())).await.unwrap();
        assert!(store.findings().unwrap().elected);
        Arc::new(store)
    }

    async fn unreachable(&self) -> Arc<dyn Backend> {
        unreachable(&self.store.another()).await
    }

    async fn read_only(&self) -> Option<Arc<dyn Backend>> {
        let store = connect(Self::options(self.store.clone()).read_only()).await.unwrap();
        Some(Arc::new(store))
    }

    async fn erase(&self, name: &Name) {
        let folder = format!("{}/", name.portable());
        self.store.uproot(|file| file.starts_with(&folder)).await;
    }

    async fn damage(&self, name: &Name, nonce: Nonce, damage: Damage) {
        for (file, body) in damaged(&self.files(name).await, nonce, damage) {
            self.store.plant(&format!("{}/{file}", name.portable()), body).await;
        }
    }

    async fn records(&self, name: &Name) -> usize {
        unended(&self.files(name).await)
    }
}

/// The files of a store where they are created by election: a candidate that won by the name of what
/// it was elected to be, unless that was written over.
fn elected(files: Files) -> Files {
    let won = |(file, body): (&String, &Vec<u8>)| {
        let (elected, nonce) = file.rsplit_once(".c")?;
        let told = files.contains_key(&format!("{elected}.e{nonce}"));
        (told && !files.contains_key(elected)).then(|| (elected.to_owned(), body.clone()))
    };
    let of_election = |file: &str| {
        let nonce = file.rsplit_once('.').map_or("", |(_, part)| part.get(1..).unwrap_or_default());
        matches!(nonce.len(), 32 | 34)
    };
    let mut shown: Files = files.iter().filter_map(won).collect();
    shown.extend(files.into_iter().filter(|(file, _)| !of_election(file)));
    shown
}

/// A client that was connected and whose requests do not arrive any more.
async fn unreachable(store: &Watched) -> Arc<dyn Backend> {
    let client = connect(Options::store(Arc::new(store.clone()))).await.unwrap();
    store.hook(|_, _| {
        Then::Fail(Error::Generic { store: "Watched", source: "the network is down".into() })
    });
    Arc::new(client)
}

mod local_files {
    use super::*;
    lease_conformance::suite!(Disk);
}

mod object_store_in_memory {
    use super::*;
    lease_conformance::suite!(Bucket);
}

mod object_store_that_cannot_create {
    use super::*;
    lease_conformance::suite!(Forgetful);
}
