//! What only disks can do wrong: the kind of file system, and the times of files.

use std::time::Duration;

use bytes::Bytes;
use lease_core::Result;
use lease_core::checkup::{self, Check, Guarantee};
use lease_core::clock::wall_clock_for_display;

use super::scratch::Scratch;
use crate::Options;
use crate::options::Place;
use crate::store::ObjStore;
use crate::time::StoreTime;

const KIND: Guarantee = Guarantee::new(
    "file-system",
    "all who have the folder mounted see at once what another one wrote, and it is kept",
);
const TIMES: Guarantee =
    Guarantee::new("file-times", "the times of files are as fine as leases are judged by");

/// What is known of a kind of file system.
struct Known {
    magic: i64,
    called: &'static str,
    /// What to look at, if anything.
    beware: Option<(&'static str, &'static str)>,
}

const CACHES: Option<(&str, &str)> = Some((
    "clients of it may list what is no longer so, from a cache",
    "let one machine alone use the folder, or mount it without caching, and see that it has hard links",
));

const KNOWN: [Known; 12] = [
    Known { magic: 0xEF53, called: "ext4", beware: None },
    Known { magic: 0x5846_5342, called: "xfs", beware: None },
    Known { magic: 0x9123_683E, called: "btrfs", beware: None },
    Known { magic: 0x2FC1_2FC1, called: "zfs", beware: None },
    Known {
        magic: 0x6969,
        called: "NFS",
        beware: Some((
            "a client's cached listing is an old one unless it is mounted for that",
            "mount it on all machines with `lookupcache=none` or `actimeo=0`, from one server",
        )),
    },
    Known {
        magic: 0x0102_1994,
        called: "tmpfs",
        beware: Some((
            "what is in memory is gone when this machine restarts, and no other machine sees it",
            "use a folder on a disk, unless all holders end with this machine",
        )),
    },
    Known {
        magic: 0x794C_7630,
        called: "overlayfs",
        beware: Some((
            "a layered file system is mostly that of one container, which no other one sees",
            "mount a folder that all holders share",
        )),
    },
    Known { magic: 0xFF53_4D42, called: "CIFS", beware: CACHES },
    Known { magic: 0xFE53_4D42, called: "SMB", beware: CACHES },
    Known { magic: 0x517B, called: "SMB", beware: CACHES },
    Known { magic: 0x6573_5546, called: "FUSE", beware: CACHES },
    Known { magic: 0x0102_1997, called: "9p", beware: CACHES },
];

/// Tells the kind of file system, where the system does.
pub(super) fn kind(options: &Options, checks: &mut Vec<Check>) {
    let Place::Local(path) = &options.place else { return };
    let there = path.ancestors().find(|path| path.exists());
    let Some(magic) = there.and_then(magic) else {
        checks.push(KIND.unknown("this system does not tell the kind of a file system"));
        return;
    };
    let known = KNOWN.iter().find(|known| known.magic == magic);
    checks.push(match known {
        Some(Known { called, beware: None, .. }) => KIND.holds(*called),
        Some(Known { called, beware: Some((what, fix)), .. }) => {
            KIND.doubtful(format!("it is {called}: {what}"), *fix)
        }
        None => KIND.unknown(format!("it is of a kind that is not known here, {magic:#x}")),
    });
}

#[cfg(target_os = "linux")]
fn magic(path: &std::path::Path) -> Option<i64> {
    nix::sys::statfs::statfs(path).ok().map(|found| found.filesystem_type().0)
}

#[cfg(not(target_os = "linux"))]
fn magic(_: &std::path::Path) -> Option<i64> {
    None
}

/// Compares the store's clock with this machine's, and its step with the one that leases count on.
pub(super) async fn times(store: &ObjStore, scratch: &Scratch, checks: &mut Vec<Check>) {
    const SECOND: Duration = Duration::from_secs(1);

    // By the file that was written last; its time may be cut off to its second.
    if let Some(now) = store.memo.now(store.clock.now(), Duration::MAX) {
        let took = now.to.since(now.from) + SECOND;
        checks.push(checkup::clock(now.from.to_system(), wall_clock_for_display(), took));
    }
    let resolution = scratch.options.resolution;
    if resolution >= SECOND {
        checks.push(TIMES.holds(format!("leases count on steps of {} s", resolution.as_secs())));
        return;
    }
    checks.push(match written(store).await {
        Err(error) => TIMES.failed(&error),
        Ok(times) if times.iter().all(|time| time.is_whole_second()) => TIMES.broken(
            format!(
                "files are stamped in whole seconds, and leases are judged by steps of {} ms",
                resolution.as_millis()
            ),
            "use a file system with finer times: ext4, xfs, btrfs or NFS, not FAT",
        ),
        Ok(_) => TIMES.holds("the times of files are finer than seconds"),
    });
}

/// When some files were written, one after another.
async fn written(store: &ObjStore) -> Result<Vec<StoreTime>> {
    /// That all of them fall on a whole second by chance is out of the question.
    const FILES: usize = 3;

    let path = store.probe_path();
    let mut times = Vec::new();
    for _ in 0..FILES {
        store.objects.put(&path, Bytes::from_static(b"probe\n")).await?;
        times.extend(store.objects.head(&path).await?.map(|seen| seen.modified));
    }
    store.objects.delete(&path).await?;
    Ok(times)
}
