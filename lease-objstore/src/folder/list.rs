//! What is in a folder, as one listing.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path as FilePath;

use object_store::ListResult;
use object_store::path::{Path, PathPart};

use super::{is_staging, shown};
use crate::key::Key;

/// How often a folder is listed whose exclusives come and go meanwhile.
const LISTINGS: usize = 16;

/// All files and folders in `folder`. A folder that is not there is empty, if the root is there.
pub(super) fn list(root: &FilePath, folder: &FilePath, prefix: &Path) -> io::Result<ListResult> {
    look_at_all(prefix, || match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::read_dir(root)?;
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    })
}

/// Reads all names, then looks at each.
///
/// An exclusive's file that is gone by then may have been cleared away since two others were
/// granted, whose names were not there yet: without any of them the lease would look free. So all
/// begins anew. Whatever else goes is not missed: nothing that counts comes in its place.
fn look_at_all(
    prefix: &Path,
    mut names: impl FnMut() -> io::Result<Vec<fs::DirEntry>>,
) -> io::Result<ListResult> {
    for _ in 0..LISTINGS {
        if let Some(listed) = look_at(prefix, names()?)? {
            return Ok(listed);
        }
    }
    Err(io::Error::new(
        ErrorKind::Interrupted,
        "exclusives come and go faster than they are listed",
    ))
}

/// The same, once; nothing if it has to begin anew.
fn look_at(prefix: &Path, names: Vec<fs::DirEntry>) -> io::Result<Option<ListResult>> {
    let mut listed = ListResult {
        common_prefixes: Vec::new(),
        objects: Vec::new(),
        extensions: Default::default(),
    };
    for entry in names {
        // A name that no object can have is a stray of somebody else's, and so is a staging file.
        let Some(part) = entry
            .file_name()
            .to_str()
            .and_then(|name| PathPart::parse(name).ok())
            .map(|part| part.as_ref().to_owned())
        else {
            continue;
        };
        if is_staging(&part) {
            continue;
        }
        // Neither links nor pipes: all that the library writes are plain files.
        let meta = match entry.metadata() {
            Ok(meta) => meta,
            Err(error) if error.kind() == ErrorKind::NotFound => match Key::parse(&part) {
                Some(Key::Exclusive(..)) => return Ok(None),
                _ => continue,
            },
            Err(error) => return Err(error),
        };
        let location = prefix.clone().join(part);
        if meta.is_dir() {
            listed.common_prefixes.push(location);
        } else if meta.is_file() {
            listed.objects.push(shown(location, &meta)?);
        }
    }
    Ok(Some(listed))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEVENTH: &str = "x-0000000000000007";
    const EIGHTH: &str = "x-0000000000000008";

    /// What is in a folder, of which a file goes before anybody looks at it.
    fn without(folder: &FilePath, file: &str) -> io::Result<Vec<fs::DirEntry>> {
        fs::write(folder.join(file), "")?;
        let names = fs::read_dir(folder)?.collect();
        fs::remove_file(folder.join(file))?;
        names
    }

    #[test]
    fn a_listing_begins_anew_where_an_exclusive_went_between_its_name_and_the_look_at_it() {
        let folder = tempfile::tempdir().unwrap();
        let (mut listings, path) = (0, folder.path());
        let listed = look_at_all(&Path::default(), || {
            listings += 1;
            if listings > 1 {
                return fs::read_dir(path)?.collect();
            }
            let names = without(path, SEVENTH);
            fs::write(path.join(EIGHTH), "")?;
            names
        });
        let listed = listed.unwrap().objects;
        assert_eq!(listed.iter().map(|file| file.location.as_ref()).collect::<Vec<_>>(), [EIGHTH]);
    }

    #[test]
    fn exclusives_that_never_stay_cannot_be_listed() {
        let folder = tempfile::tempdir().unwrap();
        let listed = look_at_all(&Path::default(), || without(folder.path(), SEVENTH));
        assert_eq!(listed.unwrap_err().kind(), ErrorKind::Interrupted);
    }

    #[rstest::rstest]
    #[case::a_writer("s-00000000000000000000000000000001")]
    #[case::a_probe("p-00000000000000000000000000000001")]
    #[case::a_stray("notes")]
    fn what_else_goes_is_not_missed(#[case] file: &str) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(EIGHTH), "").unwrap();
        let names = without(folder.path(), file).unwrap();
        let listed = look_at(&Path::default(), names).unwrap();
        assert_eq!(listed.expect("it is whole").objects.len(), 1);
    }
}
