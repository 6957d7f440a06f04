//! Waking waiters: one change stream for a process and collection, shared by all that wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use lease_core::backend::Watch;
use lease_core::clock::within;
use lease_core::{Error, Name, Result};
use mongodb::bson::{Document, doc};
use mongodb::change_stream::ChangeStream;
use mongodb::options::{CollectionOptions, ReadConcern, ReadPreference, SelectionCriteria};
use tokio::sync::watch;

use crate::Reason;
use crate::error::{KIND, nonsense, translate};
use crate::store::{Mongo, Place};

/// How long the server holds a request for news back when there are none.
const HELD_BACK: Duration = Duration::from_secs(1);

/// After how many requests without anybody waiting the stream is closed.
const IDLE_ROUNDS: u32 = 10;

/// Who waits, by name; nothing while no stream is open.
type Waiting = Arc<Mutex<Option<HashMap<String, watch::Sender<u64>>>>>;

/// The stream that all watches of a client share.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    waiting: Waiting,
    /// One opens it, the others wait for that.
    opening: tokio::sync::Mutex<()>,
}

impl Mongo {
    /// A watch on one name, on the stream that is open or on a new one.
    pub(crate) async fn watch_name(&self, name: &Name) -> Result<Changes> {
        let watches = &self.inner.watches;
        let _opening = watches.opening.lock().await;
        if let Some(changes) = subscribe(&watches.waiting, name) {
            return Ok(changes);
        }
        // What happens from here on is in the stream.
        let stream = open(self.place()).await?;
        *lock(&watches.waiting) = Some(HashMap::new());
        self.inner.home.handle().spawn(wake(stream, Arc::clone(&watches.waiting)));
        subscribe(&watches.waiting, name).ok_or_else(|| nonsense("the change stream ended at once"))
    }
}

fn lock(
    waiting: &Waiting,
) -> std::sync::MutexGuard<'_, Option<HashMap<String, watch::Sender<u64>>>> {
    // Each change of the map is one call, so a panic elsewhere leaves it whole.
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

fn subscribe(waiting: &Waiting, name: &Name) -> Option<Changes> {
    let mut names = lock(waiting);
    let sender = names.as_mut()?.entry(name.as_str().to_owned()).or_default();
    Some(Changes(sender.subscribe()))
}

/// Opens a stream of what ends something: renewals and grants wake nobody.
async fn open(place: &Place) -> Result<ChangeStream<Document>> {
    let options = CollectionOptions::builder()
        .read_concern(ReadConcern::majority())
        .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
        .build();
    let collection = place.database.collection_with_options::<Document>(&place.collection, options);
    let ends = ["delete", "replace", "drop", "rename", "dropDatabase", "invalidate"];
    let pipeline = vec![
        doc! { "$match": { "$or": [
            { "operationType": { "$in": ends.to_vec() } },
            { "updateDescription.updatedFields.freed": { "$exists": true } },
        ] } },
        doc! { "$project": { "documentKey": 1, "operationType": 1, "ns": 1 } },
    ];
    let opened = async { collection.watch().pipeline(pipeline).max_await_time(HELD_BACK).await };
    match within(&place.clock, place.timeout, opened).await {
        Some(stream) => Ok(stream.map_err(translate)?.with_type::<Document>()),
        None => Err(nonsense("the server did not open a change stream in time")),
    }
}

/// Turns the stream until it fails, or nobody has waited for a while.
async fn wake(mut stream: ChangeStream<Document>, waiting: Waiting) {
    let mut idle = 0;
    while stream.is_alive() {
        match stream.next_if_any().await {
            Ok(Some(event)) => tell(&waiting, &event),
            Ok(None) => {}
            Err(error) => {
                let error = Reason::from(error);
                tracing::debug!(%error, "the change stream of the leases ended");
                break;
            }
        }
        let mut names = lock(&waiting);
        if let Some(known) = names.as_mut() {
            known.retain(|_, sender| sender.receiver_count() > 0);
            idle = if known.is_empty() { idle + 1 } else { 0 };
        }
        if idle >= IDLE_ROUNDS {
            *names = None;
            return;
        }
    }
    // The senders go, and with them the watches: their waiters go on polling and ask again.
    *lock(&waiting) = None;
}

/// Wakes those who wait for the name; all of them where the event concerns the whole collection.
fn tell(waiting: &Waiting, event: &Document) {
    let name = event.get_document("documentKey").and_then(|key| key.get_str("_id"));
    let names = lock(waiting);
    for (waited_for, sender) in names.iter().flatten() {
        if name.as_ref().map_or(true, |name| name == waited_for) {
            sender.send_modify(|count| *count += 1);
        }
    }
}

/// The changes of one name.
#[derive(Debug)]
pub(crate) struct Changes(watch::Receiver<u64>);

#[async_trait]
impl Watch for Changes {
    async fn changed(&mut self) -> Result<()> {
        self.0.changed().await.map_err(|gone| Error::unreached(KIND, gone))
    }
}
