//! Files that are nobody's, and files that go while one looks.

use lease_core::Backend;
use lease_objstore::{Options, connect};

use crate::people::{World, acquire, exclusive, file, name, try_acquire, writer};

/// What other programs leave in a shared folder neither blocks a name nor is deleted.
#[tokio::test]
async fn they_neither_block_nor_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("payroll");
    std::fs::create_dir(&own).unwrap();
    let strays =
        [".nfs0000000000a1b2c3", ".DS_Store", "x.sync-conflict", "notes#7", "x-1", "empty"];
    for stray in strays {
        std::fs::write(own.join(stray), stray).unwrap();
    }
    std::fs::write(own.join("two\nlines"), "").unwrap();
    std::fs::create_dir_all(own.join("s-folder/x-0000000000000001")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::{ffi::OsStrExt, fs::symlink};
        symlink("nowhere", own.join("broken-link")).unwrap();
        symlink("..", own.join("loop")).unwrap();
        std::fs::write(own.join(std::ffi::OsStr::from_bytes(b"not-\xff-text")), "").unwrap();
    }
    std::fs::create_dir(folder.path().join("a_stray_folder")).unwrap();
    std::fs::write(folder.path().join("a-stray-file"), "").unwrap();
    let before = std::fs::read_dir(&own).unwrap().count();

    let store = connect(Options::local(folder.path())).await.unwrap();
    for _ in 0..30 {
        let grant = acquire(&store, &exclusive()).await;
        store.withdraw(&grant.holding).await.unwrap();
    }
    let left: Vec<_> =
        std::fs::read_dir(&own).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(strays.iter().all(|stray| left.contains(&(*stray).into())), "{left:?}");
    assert!(left.len() >= before && left.len() < before + 25, "{left:?}");
    assert_eq!(store.names().await.unwrap(), [name()]);
}

/// A file that has a name's place is told, by what it is and not as an outage.
#[tokio::test]
async fn a_file_in_the_place_of_a_folder_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("payroll"), "").unwrap();
    let store = connect(Options::local(folder.path())).await.unwrap();
    let told = store.observe(&name()).await.unwrap_err();
    assert!(matches!(told, lease_core::Error::Misconfigured { .. }), "{told:?}");
}

/// A record that is listed and gone when it is read was released in between.
#[tokio::test]
async fn what_goes_between_the_listing_and_the_reading_is_gone() {
    let world = World::new();
    let (ann, (bob, view)) = (world.client().await, world.connect().await);
    acquire(&ann, &writer()).await;
    let (store, gone) = (world.store.clone(), std::sync::atomic::AtomicBool::new(false));
    view.hook(move |op, path| {
        let reads = op == crate::store::Op::Get && path.filename().unwrap().starts_with("s-");
        if !reads || gone.swap(true, std::sync::atomic::Ordering::SeqCst) {
            return crate::store::Then::Go;
        }
        let store = store.clone();
        crate::store::Then::Wait(Box::pin(async move {
            store.uproot(|path| path.starts_with(&file("s-"))).await;
        }))
    });
    assert!(bob.observe(&name()).await.unwrap().is_free());
}

/// Writers come and go in a tight loop on the same disk; nobody else's steps fail for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn churn_fails_nobody() {
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    let folder = tempfile::tempdir().unwrap();
    let over = std::sync::Arc::new(AtomicBool::new(false));
    let churn = {
        let (path, over) = (folder.path().to_owned(), over.clone());
        tokio::spawn(async move {
            let store = connect(Options::local(path).durable(false)).await.unwrap();
            while !over.load(SeqCst) {
                if let Some(grant) = try_acquire(&store, &writer()).await {
                    store.withdraw(&grant.holding).await.unwrap();
                }
            }
        })
    };
    let store = connect(Options::local(folder.path()).durable(false)).await.unwrap();
    let mut granted = 0;
    for _ in 0..200 {
        if let Some(grant) = try_acquire(&store, &exclusive()).await {
            granted += 1;
            store.withdraw(&grant.holding).await.unwrap();
        }
    }
    over.store(true, SeqCst);
    churn.await.unwrap();
    assert!(granted > 0, "the churn kept everybody out");
}
