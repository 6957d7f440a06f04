//! The store: its requests, each sent once, bounded in time, and with every concern set.

use std::sync::Arc;
use std::time::Duration;

use lease_core::clock::within;
use lease_core::{Capabilities, Clock, Name, Result};
use mongodb::Database;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::{ReadPreference, SelectionCriteria};

use crate::error::{nonsense, translate, translate_part};
use crate::home::Home;
use crate::pipelines::{Image, Leaving, Step};
use crate::probe::Topology;
use crate::record::number;
use crate::watch::Watches;

/// Leases in a collection of a MongoDB deployment. [`connect`](crate::connect) makes one; clones are
/// the same client.
#[derive(Clone, Debug)]
pub struct Mongo {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) home: Home,
    pub(crate) place: Place,
    pub(crate) topology: Topology,
    pub(crate) capabilities: Capabilities,
    pub(crate) watches: Watches,
}

/// Where the leases are, and how it is asked.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) database: Database,
    pub(crate) collection: String,
    pub(crate) timeout: Duration,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Mongo {
    /// What kind of deployment it is.
    #[must_use]
    pub fn topology(&self) -> Topology {
        self.inner.topology
    }

    /// The database and the collection that the leases are kept in.
    #[must_use]
    pub fn namespace(&self) -> (&str, &str) {
        (self.inner.place.database.name(), &self.inner.place.collection)
    }

    pub(crate) fn place(&self) -> &Place {
        &self.inner.place
    }

    /// Reads one document so that it cannot be stale, as a replica set can only by asking its
    /// majority; nothing if there is none.
    pub(crate) async fn read_fresh(
        &self,
        name: &Name,
        shown: Document,
    ) -> Result<Option<Document>> {
        let level = match self.inner.topology {
            Topology::Standalone => "local",
            _ => "linearizable",
        };
        self.place().read(name, shown, level).await
    }
}

impl Place {
    /// Takes one step, in one request; nothing if there was no document to show.
    pub(crate) async fn step(&self, name: &Name, step: Step) -> Result<Option<Document>> {
        let mut answer = self
            .run(doc! {
                "findAndModify": &self.collection,
                "query": { "_id": name.as_str() },
                "update": step.pipeline,
                "new": step.of == Image::After,
                "upsert": step.creates,
                "fields": step.shown,
                "writeConcern": concern(),
                "maxTimeMS": self.max_time(),
            })
            .await?;
        check(&answer)?;
        match answer.remove("value") {
            Some(Bson::Document(document)) => Ok(Some(document)),
            Some(Bson::Null) => Ok(None),
            _ => Err(nonsense("the server answered without a document")),
        }
    }

    /// Makes an update if the document is as it must be; whether it was.
    pub(crate) async fn update(&self, leaving: Leaving) -> Result<bool> {
        let statement = doc! { "q": leaving.filter, "u": leaving.update };
        let answer = self
            .run(doc! {
                "update": &self.collection,
                "updates": [statement],
                "writeConcern": concern(),
                "maxTimeMS": self.max_time(),
            })
            .await?;
        check(&answer)?;
        if let Some(first) = first_failure(&answer) {
            return Err(translate_part(first));
        }
        Ok(number(&answer, "n") == Some(1))
    }

    /// Reads one document at this level.
    pub(crate) async fn read(
        &self,
        name: &Name,
        shown: Document,
        level: &str,
    ) -> Result<Option<Document>> {
        let filter = doc! { "_id": name.as_str() };
        Ok(self.find(filter, shown, level).await?.into_iter().next())
    }

    /// Reads documents that fit into one answer.
    pub(crate) async fn find(
        &self,
        filter: Document,
        shown: Document,
        level: &str,
    ) -> Result<Vec<Document>> {
        let answer = self
            .run(doc! {
                "find": &self.collection,
                "filter": filter,
                "projection": shown,
                "readConcern": { "level": level },
                "singleBatch": true,
                "batchSize": i32::MAX,
                "maxTimeMS": self.max_time(),
            })
            .await?;
        let batch = answer.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch"));
        let batch = batch.map_err(|_| nonsense("the server answered without a batch"))?;
        Ok(batch.iter().filter_map(Bson::as_document).cloned().collect())
    }

    /// Sends a command to the primary, once, and waits for no longer than the timeout.
    pub(crate) async fn run(&self, command: Document) -> Result<Document> {
        let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
        let asked = async { self.database.run_command(command).selection_criteria(primary).await };
        match within(&self.clock, self.timeout + Self::SLACK, asked).await {
            Some(answer) => answer.map_err(translate),
            None => Err(nonsense("the server did not answer in time")),
        }
    }

    /// How much later than the server's own our timeout ends, so that its answer is heard.
    const SLACK: Duration = Duration::from_millis(250);

    pub(crate) fn max_time(&self) -> i64 {
        crate::record::millis(self.timeout)
    }
}

/// The only concern that leases are written with.
pub(crate) fn concern() -> Document {
    doc! { "w": "majority", "j": true }
}

/// The first statement of an `update` that failed.
pub(crate) fn first_failure(answer: &Document) -> Option<&Document> {
    answer.get_array("writeErrors").ok()?.first()?.as_document()
}

/// A write that was applied and not acknowledged by the majority may still be lost.
pub(crate) fn check(answer: &Document) -> Result<()> {
    match answer.get_document("writeConcernError") {
        Ok(failure) => Err(translate_part(failure)),
        Err(_) => Ok(()),
    }
}
