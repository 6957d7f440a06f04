//! Who may only read sees everything, and is told at once that he may not write.

use lease_core::{Error, Name, Policy};

use crate::{Fixture, Worker};

/// Status and list need read rights only; an attempt to hold fails fast, and for a person to see
/// to.
///
/// A fixture whose store knows no such right says so, and then there is nothing to test.
pub async fn reading_needs_no_right_to_write(store: &dyn Fixture, name: Name) {
    let Some(reader) = store.read_only().await else { return };
    let ann = Worker::new(store, "ann").await;
    let anns = ann.takes(&name).await;

    let seen = reader.inspect(&name).await.expect("reading is allowed");
    assert_eq!(seen.exclusive.expect("ann holds").info.label, "ann");
    assert!(reader.names().await.expect("reading is allowed").contains(&name));
    assert_eq!(reader.last_break(&name).await.expect("reading is allowed"), None);

    ann.releases(&anns.holding).await;
    let reader = Worker::with(store, reader, "reader");
    let joined = reader.backend().join(&reader.writer(&name), &Policy::expired()).await;
    assert!(matches!(joined, Err(Error::Misconfigured { .. })), "for a person: {joined:?}");
    let taken = reader.backend().take(&reader.exclusive(&name), None, &Policy::expired()).await;
    assert!(matches!(taken, Err(Error::Misconfigured { .. })), "for a person: {taken:?}");
    assert!(ann.sees(&name).await.is_free(), "nothing was written");
}
