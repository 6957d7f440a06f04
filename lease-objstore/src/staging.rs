//! Staging files that were left behind by processes that were killed while they wrote.
//!
//! A file is written as `name#<number>` and gets its name when it is whole. Listings do not show
//! such a file and it holds nothing, but nobody else ever removes it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::folder::staged_for;
use crate::judge::Now;
use crate::key::Key;
use crate::time::StoreTime;

/// How old a staging file is before nobody can still be writing it.
pub(crate) const OLD: Duration = Duration::from_secs(3600);

/// How many entries of a folder are looked at in one go.
const AT_ONCE: usize = 10_000;

/// Removes the old staging files in `folder` that are the library's own. As well as it goes:
/// what cannot be removed does no harm. How many it removed.
pub(crate) fn sweep(folder: &Path, now: Option<Now>) -> usize {
    let (Some(now), Ok(entries)) = (now, fs::read_dir(folder)) else { return 0 };
    let old = entries.take(AT_ONCE).flatten().filter(|entry| {
        let file = entry.file_name();
        let ours = file.to_str().and_then(staged_for).is_some_and(is_ours);
        ours && entry.metadata().is_ok_and(|meta| meta.is_file() && is_old(&meta, now))
    });
    old.filter(|entry| fs::remove_file(entry.path()).is_ok()).count()
}

fn is_ours(file: &str) -> bool {
    file == crate::connect::MARKER || Key::parse(file).is_some()
}

fn is_old(meta: &fs::Metadata, now: Now) -> bool {
    meta.modified().is_ok_and(|at| now.from.since(StoreTime::from_system(at)) >= OLD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_ones_of_our_own_go() {
        let folder = tempfile::tempdir().unwrap();
        let own = "x-0000000000000007#1";
        for file in [own, "x-0000000000000007", "x-7#1", "notes#1", "genesis#12", "p-7"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let written = StoreTime::from_system(
            fs::metadata(folder.path().join(own)).unwrap().modified().unwrap(),
        );
        let at = |age| {
            let now = written.plus(age);
            Some(Now { from: now, to: now })
        };
        assert_eq!(sweep(folder.path(), None), 0);
        assert_eq!(sweep(folder.path(), at(OLD / 2)), 0);
        assert_eq!(sweep(folder.path(), at(OLD * 2)), 2);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
    }
}
