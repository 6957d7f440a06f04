//! The disk is full: nothing is granted, nothing that is held is damaged, and the reason is told.

use std::error::Error as _;
use std::io;

use lease_core::backend::Confirmed;
use lease_core::{Backend, Error, Policy};
use lease_objstore::{Options, connect};

use crate::again::{inside, with_mounts};
use crate::people::{World, acquire, exclusive, file, name, writer};
use crate::store::{Op, Then};

fn tells_of_a_full_disk(error: &Error) -> bool {
    let mut source = error.source();
    while let Some(error) = source {
        if error.to_string().contains("full") {
            return true;
        }
        source = error.source();
    }
    false
}

#[tokio::test]
async fn what_is_held_stays_whole_and_nothing_is_granted() {
    let world = World::new();
    let (ann, anns_view) = world.connect().await;
    let (bob, bobs_view) = world.connect().await;
    let anns = acquire(&ann, &writer()).await.holding;
    let before = world.store.files().await;
    for view in [&anns_view, &bobs_view] {
        view.hook(|op, _| {
            if !matches!(op, Op::Create | Op::Put) {
                return Then::Go;
            }
            let full = io::Error::from(io::ErrorKind::StorageFull);
            Then::Fail(object_store::Error::Generic { store: "Watched", source: full.into() })
        });
    }
    let renewal = ann.renew(&[anns.next_beat()]).await.remove(0).unwrap_err();
    assert!(tells_of_a_full_disk(&renewal), "{renewal:?}");
    let refusal = bob.join(&writer(), &Policy::expired()).await.unwrap_err();
    assert!(matches!(refusal, Error::Unavailable { .. }), "{refusal:?}");
    assert_eq!(world.store.files().await, before);

    anns_view.unhook();
    assert_eq!(ann.confirm(&anns).await.unwrap(), Confirmed::Held { drain: false });
    ann.renew(&[anns.next_beat().next_beat()]).await.remove(0).unwrap();
}

/// The same on a real one.
#[test]
fn a_small_disk_runs_full() {
    let Some(folder) = inside() else {
        let folder = tempfile::tempdir().unwrap();
        let mount = "mount -t tmpfs -o size=256k none \"$0\"";
        return with_mounts("full_disk::a_small_disk_runs_full", folder.path(), mount);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (ann, bob) = (
            connect(Options::local(folder.join("leases"))).await.unwrap(),
            connect(Options::local(folder.join("leases"))).await.unwrap(),
        );
        let anns = acquire(&ann, &writer()).await.holding;
        let path = folder.join("leases").join(file(&format!("s-{}", anns.nonce)));
        let before = std::fs::read(&path).unwrap();
        let filler = folder.join("filler");
        let mut block = 64 * 1024;
        while block > 0 {
            let more = vec![0; block];
            let full = std::fs::OpenOptions::new().create(true).append(true).open(&filler);
            if io::Write::write_all(&mut full.unwrap(), &more).is_err() {
                block /= 2;
            }
        }

        let renewal = ann.renew(&[anns.next_beat()]).await.remove(0).unwrap_err();
        assert!(tells_of_a_full_disk(&renewal), "{renewal:?}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
        ann.confirm(&anns).await.unwrap();
        for claim in [writer(), exclusive()] {
            let refusal = match claim.mode {
                lease_core::Mode::Writer => bob.join(&claim, &Policy::expired()).await.err(),
                lease_core::Mode::Exclusive => {
                    bob.take(&claim, None, &Policy::expired()).await.err()
                }
            };
            let refusal = refusal.expect("nothing can be written");
            assert!(matches!(refusal, Error::Unavailable { .. }), "{refusal:?}");
        }
        let empty = |entry: &io::Result<std::fs::DirEntry>| {
            entry.as_ref().unwrap().metadata().unwrap().len() == 0
        };
        let entries = std::fs::read_dir(path.parent().unwrap()).unwrap();
        let records = entries.filter(empty).map(|entry| entry.unwrap().file_name());
        let records: Vec<_> =
            records.filter(|file| !file.to_str().unwrap().contains('.')).collect();
        assert!(records.is_empty(), "{records:?}");

        std::fs::remove_file(filler).unwrap();
        ann.renew(&[anns.next_beat().next_beat()]).await.remove(0).unwrap();
        assert_eq!(bob.observe(&name()).await.unwrap().writers.len(), 1);
    });
}
