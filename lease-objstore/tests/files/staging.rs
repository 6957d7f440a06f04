//! What a process leaves behind that is killed while it writes.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use lease_core::Backend;
use lease_core::clock::wall_clock_for_display;
use lease_objstore::{Options, connect};
use object_store::local::LocalFileSystem;
use object_store::{ObjectStoreExt, path};

use crate::again::{again, inside};
use crate::people::{acquire, exclusive, name, try_acquire};

const HOUR: Duration = Duration::from_secs(3600);

fn left_behind(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let files = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    files.filter(|file| file.contains('#')).collect()
}

fn age(file: &Path, age: Duration) {
    let then: SystemTime = wall_clock_for_display() - age;
    File::options().write(true).open(file).unwrap().set_modified(then).unwrap();
}

/// Old ones of our own go, at the latest with an exclusive's release; young ones may be somebody's
/// who still writes.
#[tokio::test]
async fn old_staging_files_are_cleared_away() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join(name().portable());
    let store = connect(Options::local(folder.path())).await.unwrap();
    let mine = acquire(&store, &exclusive()).await.holding;
    for (file, hours) in [
        ("x-0000000000000007#1", 2),
        ("s-abababababababababababababababab#12", 2),
        ("x-0000000000000008#1", 0),
        ("somebody-elses#1", 2),
    ] {
        fs::write(own.join(file), "{\"v\":1").unwrap();
        age(&own.join(file), HOUR * hours);
    }
    fs::write(folder.path().join("leasehold.json#1"), "").unwrap();
    age(&folder.path().join("leasehold.json#1"), HOUR * 2);

    store.withdraw(&mine).await.unwrap();
    let mut left = left_behind(&own);
    left.sort_unstable();
    assert_eq!(left, ["somebody-elses#1", "x-0000000000000008#1"]);
    connect(Options::local(folder.path())).await.unwrap();
    assert_eq!(left_behind(folder.path()), <[String; 0]>::default());
}

/// Writers are killed in the middle of their writes, again and again: what they leave is no record,
/// is in nobody's way, and goes.
#[tokio::test]
async fn a_killed_writer_leaves_nothing_that_counts() {
    const THIS: &str = "staging::a_killed_writer_leaves_nothing_that_counts";
    if let Some(folder) = inside() {
        let disk = LocalFileSystem::new_with_prefix(&folder).unwrap();
        let path = path::Path::from(crate::people::file("x-0000000000000007"));
        // Long enough to be killed, and not for ever if nobody does.
        for _ in 0..2000 {
            // Large, so that the kill finds it in the middle more often.
            disk.put(&path, Bytes::from(vec![b' '; 4 << 20]).into()).await.unwrap();
            disk.delete(&path).await.unwrap();
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join(name().portable());
    for _ in 0..100 {
        let mut killed = again(&[], THIS, folder.path()).stdout(Stdio::null()).spawn().unwrap();
        while fs::read_dir(&own).map_or(true, |mut entries| entries.next().is_none()) {
            tokio::task::yield_now().await;
        }
        tokio::task::spawn_blocking(move || {
            killed.kill().unwrap();
            killed.wait().unwrap();
        })
        .await
        .unwrap();
        fs::remove_file(own.join("x-0000000000000007")).ok();
        if !left_behind(&own).is_empty() {
            break;
        }
    }
    let left = left_behind(&own);
    assert!(!left.is_empty(), "no kill came in the middle of a write");

    let store = connect(Options::local(folder.path())).await.unwrap();
    let mine = try_acquire(&store, &exclusive()).await.expect("it is in nobody's way").holding;
    for file in &left {
        age(&own.join(file), HOUR * 2);
    }
    store.withdraw(&mine).await.unwrap();
    assert!(left_behind(&own).is_empty());
}
