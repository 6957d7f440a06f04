//! A fenced object in a folder: a file cannot be overwritten on a condition, so it is none.

use std::fs;
use std::sync::Arc;

use lease_core::{Coordinator, Error};
use lease_objstore::{Fenced, Options, connect};

/// To make the file is a condition that a folder keeps, and Ann may announce herself there. To write over
/// it is none: she is told before anything of hers is in it.
#[tokio::test]
async fn is_refused_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::local(folder.path());
    let object = Fenced::new(options.object_store().await.unwrap(), "snapshots/latest");
    let leases = Coordinator::new(Arc::new(connect(options).await.unwrap()));
    let ann = leases.exclusive("backup").acquire().await.unwrap();
    ann.announce(&object).await.unwrap();

    let written = object.write(&ann.confirm().await.unwrap(), "ann's").await;
    let Err(Error::Misconfigured { problem, .. }) = &written else { panic!("{written:?}") };
    assert!(problem.contains("as a folder cannot"), "{problem}");
    let file = fs::read_to_string(folder.path().join("snapshots/latest")).unwrap_or_default();
    assert!(!file.contains("ann's"), "{file}");
}
