//! `lease status`: who holds a name.

use std::sync::Arc;

use leasehold::clock::{SystemClock, within};
use leasehold::{Backend, Clock, Error, Name, Result, Snapshot, StoreUrl};

use crate::args::Status;
use crate::exit::Failure;
use crate::show::{self, NameView, table};
use crate::tell::{print, print_json, say};

/// How long a look may take before the store counts as not answering.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

pub(crate) async fn status(status: Status) -> Result<u8, Failure> {
    let backend = status.on.store.open_to_look().await?;
    warn_of_a_strange_folder(&status.on.store);
    let seen = look(&*backend, &status.name).await?;
    let broken = patiently(backend.kind(), backend.last_break(&status.name)).await?;
    if status.json {
        print_json(&NameView::new(status.name.as_str(), &seen).broken(broken))?;
        return Ok(0);
    }
    if seen.is_free() {
        print(format!("{} is free (last epoch {})", status.name, seen.epoch))?;
    } else {
        let expired = seen.standing().is_expired();
        let how = if expired { "was held until it expired" } else { "is held" };
        print(format!("{} {how}, epoch {}", status.name, seen.epoch))?;
        print(table(&seen))?;
    }
    if let Some(note) = broken {
        print(format!("last {}", show::broken(&note)))?;
    }
    Ok(0)
}

/// What is in every folder that a lease was held in.
const MARKER: &str = "leasehold.json";

/// Says where all names are free only since no lease was ever there: the folder may be the wrong one.
pub(crate) fn warn_of_a_strange_folder(store: &StoreUrl) {
    let Some(folder) = store.folder() else { return };
    // What is there besides the leases is the file system's.
    let Ok(files) = std::fs::read_dir(folder) else { return };
    let mut others = 0;
    for file in files.filter_map(std::io::Result::ok) {
        // Where files are created by election its name goes on.
        if file.file_name().to_string_lossy().starts_with(MARKER) {
            return;
        }
        others += 1;
    }
    let folder = show::plain(&folder.display().to_string());
    say(&match others {
        0 => format!(
            "lease: warning: `{folder}` is empty, so no lease was ever held there: is it mounted?"
        ),
        _ => format!(
            "lease: warning: `{folder}` has files in it and no `{MARKER}`, so no lease was ever held \
             there: is it the right folder?"
        ),
    });
}

pub(crate) async fn look(backend: &dyn Backend, name: &Name) -> Result<Snapshot> {
    patiently(backend.kind(), backend.inspect(name)).await
}

/// Waits for the store only so long.
pub(crate) async fn patiently<T>(
    kind: &'static str,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let answer = within(&clock, PATIENCE, work).await;
    answer.unwrap_or_else(|| Err(Error::unclear(kind, "no answer within ten seconds")))
}
