//! Folders that may be read and not written, folders that are not there, and disks that cannot do
//! what leases need: told at once and to a person.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use lease_core::backend::Withdrawn;
use lease_core::{Backend, Error, Policy, Result};
use lease_objstore::{ObjStore, Options, WithoutCreate, connect};

use crate::again::{as_nobody, inside, with_mounts};
use crate::people::{TTL, World, acquire, exclusive, name, writer};
use crate::store::{Op, Then};

fn blocking<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

fn is_misconfigured<T>(answer: &Result<T>) -> bool {
    matches!(answer, Err(Error::Misconfigured { .. }))
}

/// A lease folder with one writer's lease in it.
fn held(folder: &Path) {
    blocking(async {
        let store = connect(Options::local(folder)).await.unwrap();
        acquire(&store, &writer()).await;
    });
}

/// Looking works; opening it to hold is refused.
async fn looks_and_cannot_hold(folder: &Path) {
    let looks = connect(Options::local(folder).read_only()).await.unwrap();
    let seen = looks.inspect(&name()).await.unwrap();
    assert_eq!(seen.writers.len(), 1);
    assert_eq!(looks.names().await.unwrap(), [name()]);
    assert!(is_misconfigured(&looks.join(&writer(), &Policy::expired()).await));
    assert!(is_misconfigured(&looks.take(&exclusive(), None, &Policy::expired()).await));
    let holds = connect(Options::local(folder)).await;
    assert!(is_misconfigured(&holds), "{holds:?}");
}

#[test]
fn a_folder_that_others_write() {
    const THIS: &str = "permissions::a_folder_that_others_write";
    let Some(folder) = inside() else {
        let folder = tempfile::tempdir().unwrap();
        held(folder.path());
        let read_only = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o555));
        read_only(&folder.path().join(name().portable())).unwrap();
        read_only(folder.path()).unwrap();
        as_nobody(THIS, folder.path());
        return fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    };
    blocking(looks_and_cannot_hold(&folder));
}

#[test]
fn a_disk_that_is_mounted_read_only() {
    const THIS: &str = "permissions::a_disk_that_is_mounted_read_only";
    let Some(folder) = inside() else {
        let folder = tempfile::tempdir().unwrap();
        held(folder.path());
        let mount = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"";
        return with_mounts(THIS, folder.path(), mount);
    };
    blocking(looks_and_cannot_hold(&folder));
}

/// The rights are taken away while a client has it open.
#[test]
fn rights_that_are_withdrawn_later() {
    let world = World::new();
    blocking(async {
        let (store, view) = world.connect().await;
        acquire(&store, &writer()).await;
        view.hook(|op, _| {
            if !matches!(op, Op::Create | Op::Put) {
                return Then::Go;
            }
            let denied = io::Error::from(io::ErrorKind::PermissionDenied);
            Then::Fail(object_store::Error::Generic { store: "Watched", source: denied.into() })
        });
        assert!(is_misconfigured(&store.join(&writer(), &Policy::expired()).await));
        assert!(is_misconfigured(&store.take(&exclusive(), None, &Policy::expired()).await));
    });
}

/// A user who may create and not delete holds leases all the same, and ends them by a mark.
#[tokio::test]
async fn who_may_not_delete_leaves_little_behind() {
    let world = World::new();
    let (ann, view) = world.connect().await;
    let bob = world.client().await;
    view.hook(|op, path| match op {
        Op::Delete => Then::Fail(object_store::Error::PermissionDenied {
            path: path.to_string(),
            source: "append only".into(),
        }),
        _ => Then::Go,
    });
    let mut mine = acquire(&ann, &writer()).await.holding;
    for _ in 0..10 {
        world.pass(TTL / 3);
        mine = mine.next_beat();
        ann.renew(std::slice::from_ref(&mine)).await.remove(0).unwrap();
    }
    assert_eq!(crate::by_hand::unended(&files(&world).await), 1);
    assert_eq!(ann.withdraw(&mine).await.unwrap(), Withdrawn::Removed);
    assert_eq!(crate::by_hand::unended(&files(&world).await), 0);
    // Free at once.
    let bobs = acquire(&bob, &exclusive()).await.holding;
    assert_eq!(bob.withdraw(&bobs).await.unwrap(), Withdrawn::Removed);
    // An exclusive needs to delete nothing.
    let mine = acquire(&ann, &exclusive()).await.holding;
    assert_eq!(ann.withdraw(&mine).await.unwrap(), Withdrawn::Removed);
}

async fn files(world: &World) -> crate::by_hand::Files {
    let files = world.store.files().await.into_iter();
    files.filter_map(|(path, body)| Some((path.split_once('/')?.1.to_owned(), body))).collect()
}

/// Someone else's mistake in the URL is told with what to do.
#[test]
fn folders_that_are_not_there() {
    let parent = tempfile::tempdir().unwrap();
    let open = |options: Options| -> Result<ObjStore> { blocking(connect(options)) };
    let missing = parent.path().join("no/leases");
    assert!(is_misconfigured(&open(Options::local(&missing))));
    assert!(!parent.path().join("no").exists());
    let leases = parent.path().join("leases");
    assert!(is_misconfigured(&open(Options::local(&leases).read_only())));
    assert!(!leases.exists(), "looking creates nothing");
    let plain = parent.path().join("plain");
    fs::write(&plain, "").unwrap();
    assert!(is_misconfigured(&open(Options::local(&plain))));
    assert!(is_misconfigured(&open(Options::local(plain.join("leases")))));

    open(Options::local(&leases)).unwrap();
    let left: Vec<_> = fs::read_dir(&leases).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["leasehold.json"], "the probe is gone");
}

/// A store that ignores the condition of a create would let two exclusives hold.
#[tokio::test]
async fn a_store_that_overwrites_is_refused() {
    let world = World::new();
    let (store, view) = (world.store.clone(), world.store.another());
    view.hook(move |op, path| {
        let (store, path) = (store.clone(), path.to_string());
        match op {
            Op::Create => Then::Wait(Box::pin(async move { store.uproot(|f| f == path).await })),
            _ => Then::Go,
        }
    });
    let options = Options::store(std::sync::Arc::new(view)).without_create(WithoutCreate::Refuse);
    let answer = connect(options).await;
    assert!(is_misconfigured(&answer), "{answer:?}");
}

/// A file system without hard links says EPERM when the driver wants to publish what it wrote.
#[tokio::test]
async fn a_disk_without_hard_links_is_refused() {
    const EPERM: i32 = 1;
    let world = World::new();
    let view = world.store.another();
    view.hook(|op, _| match op {
        Op::Create => Then::Fail(object_store::Error::Generic {
            store: "Watched",
            source: io::Error::from_raw_os_error(EPERM).into(),
        }),
        _ => Then::Go,
    });
    let Err(Error::Misconfigured { fix, .. }) =
        connect(Options::store(std::sync::Arc::new(view))).await
    else {
        panic!("it must be refused")
    };
    assert!(fix.contains("hard links"), "{fix}");
}

/// A folder that a newer version keeps its leases in is left alone.
#[tokio::test]
async fn a_newer_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let marker = r#"{"v":3,"id":"abababababababababababababababab"}"#;
    fs::write(folder.path().join("leasehold.json"), marker).unwrap();
    assert!(is_misconfigured(&connect(Options::local(folder.path())).await));
}
