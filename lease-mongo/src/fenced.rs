//! Writes to a program's own documents that a holder who was followed cannot make any more.

use std::fmt;

use lease_core::{Epoch, Error, Fence, Result, Token};
use mongodb::Collection;
use mongodb::bson::{Bson, Document, doc};
use mongodb::error::{ErrorKind, WriteFailure};
use mongodb::options::{Acknowledgment, ReadPreference, SelectionCriteria, WriteConcern};

use crate::error::translate;
use crate::record::number;

/// A collection whose documents remember the highest token that wrote them, each for itself.
///
/// A write goes through only where no later holder has written before, in one request: the condition
/// and the change are one update, so that no stall can come between them. It protects the documents
/// that the later holder has already stamped: a new holder [stamps](Self::stamp) those that it is
/// going to change, then [confirms](lease_core::Lease::confirm) that it holds, then works (rule R22).
///
/// ```no_run
/// # async fn f(lease: lease_core::Lease, orders: mongodb::Collection<mongodb::bson::Document>)
/// # -> lease_core::Result<()> {
/// use lease_mongo::{Fenced, Write};
/// use mongodb::bson::doc;
///
/// let orders = Fenced::new(orders);
/// orders.stamp(&lease.check()?, doc! { "open": true }).await?;
/// let fence = lease.confirm().await?;
/// let written = orders.update_one(&fence, doc! { "_id": 7 }, doc! { "$set": { "open": false } });
/// assert_eq!(written.await?, Write::Done);
/// # Ok(()) }
/// ```
pub struct Fenced<T: Send + Sync> {
    collection: Collection<T>,
    field: String,
}

/// What became of a fenced write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// It was made.
    Done,
    /// A later holder has written this document: nothing was changed. Stop the protected work.
    Refused {
        /// The highest token that the document has seen.
        highest: Token,
    },
    /// No such document is there: nothing was changed.
    NotThere,
}

impl<T: Send + Sync> Fenced<T> {
    /// The field that holds the token, where none is named.
    pub const FIELD: &'static str = "fence";

    /// The documents of this collection, which is the program's own.
    ///
    /// Fenced writes are acknowledged by the majority whatever the collection was opened with: one
    /// that a failover takes back would take the token back with it.
    #[must_use]
    pub fn new(collection: Collection<T>) -> Self {
        Self { collection, field: Self::FIELD.to_owned() }
    }

    /// Names the field that holds the token.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] if it is empty or has a dollar, a dot or a NUL: use another name.
    pub fn field(mut self, name: impl Into<String>) -> Result<Self> {
        self.field = name.into();
        if self.field.is_empty() || self.field.contains(['$', '.', '\0']) {
            return Err(Error::misconfigured(
                format!("a fence cannot be kept in this field, field=`{}`", self.field),
                "name a field of the document itself, such as `fence`",
            ));
        }
        Ok(self)
    }

    /// Updates one document that matches `filter`, with operators such as `$set`, unless a later
    /// holder has written it. `fence` is of the lease that is held:
    /// [`Lease::check`](lease_core::Lease::check) or [`confirm`](lease_core::Lease::confirm) gives
    /// it.
    ///
    /// # Errors
    ///
    /// - [`Error::Unavailable`] if the server did not answer, for as long as the program's own driver waits,
    ///   or with an error that is none of those below: the write may have been made. It may be made again, if the update bears that
    ///   (`$set` does, `$inc` does not) and the lease is still held.
    /// - [`Error::Misconfigured`] if the update is not valid, the document would be too large or
    ///   the collection's validator refuses it; or the user lacks the right to write, the login is
    ///   refused, or no majority can acknowledge: a person has to change what it names.
    ///
    /// # Cancel safety
    ///
    /// As after an unclear error: a write that was sent may still be made; its token goes with it.
    pub async fn update_one(
        &self,
        fence: &Fence,
        filter: Document,
        update: Document,
    ) -> Result<Write> {
        let admitted = doc! { "$and": [filter.clone(), self.admits(fence)] };
        let written = self.collection.update_one(admitted, self.stamping(fence, update));
        if written.write_concern(majority()).await.map_err(translate)?.matched_count > 0 {
            return Ok(Write::Done);
        }
        self.why_not(fence, filter).await
    }

    /// Updates the document with this `_id`, or makes it, unless a later holder has written it.
    ///
    /// # Errors
    ///
    /// As of [`update_one`](Self::update_one), [`Error::Misconfigured`] included. Another unique
    /// index of the collection that refuses the document is [`Error::Unavailable`], with the
    /// server's words.
    ///
    /// # Cancel safety
    ///
    /// As of [`update_one`](Self::update_one).
    pub async fn upsert(
        &self,
        fence: &Fence,
        id: impl Into<Bson>,
        update: Document,
    ) -> Result<Write> {
        let only = doc! { "_id": id.into() };
        let mut filter = only.clone();
        filter.extend(self.admits(fence));
        let mut last = None;
        // A duplicate is a document that has seen a later holder, or one that somebody was just
        // making; the second time it is no longer being made.
        for _ in 0..2 {
            let update = self.stamping(fence, update.clone());
            let written = self.collection.update_one(filter.clone(), update).upsert(true);
            match written.write_concern(majority()).await {
                Ok(_) => return Ok(Write::Done),
                Err(error) if is_duplicate(&error) => last = Some(error),
                Err(error) => return Err(translate(error)),
            }
        }
        match (self.why_not(fence, only).await?, last) {
            // Another unique index of the collection is in the way.
            (Write::NotThere, Some(error)) => Err(translate(error)),
            (why, _) => Ok(why),
        }
    }

    /// Leaves the token at every document that matches and has seen no higher one, and tells how
    /// many those are: the new holder's announcement.
    ///
    /// # Errors
    ///
    /// As of [`update_one`](Self::update_one), [`Error::Misconfigured`] included. Some documents
    /// may have been stamped: stamp again, which does no harm.
    ///
    /// # Cancel safety
    ///
    /// Safe: some documents may have been stamped; stamp again.
    pub async fn stamp(&self, fence: &Fence, filter: Document) -> Result<u64> {
        let admitted = doc! { "$and": [filter, self.admits(fence)] };
        let stamped = self.collection.update_many(admitted, self.stamping(fence, Document::new()));
        Ok(stamped.write_concern(majority()).await.map_err(translate)?.matched_count)
    }

    /// What matches a document that has seen no later holder.
    fn admits(&self, fence: &Fence) -> Document {
        doc! { "$or": [
            { &self.field: { "$lte": number_of(fence.token()) } },
            { &self.field: { "$exists": false } },
        ] }
    }

    /// The update, which leaves the token as well.
    fn stamping(&self, fence: &Fence, mut update: Document) -> Document {
        let mut highest = match update.remove("$max") {
            Some(Bson::Document(theirs)) => theirs,
            _ => Document::new(),
        };
        highest.insert(&self.field, number_of(fence.token()));
        update.insert("$max", highest);
        update
    }

    async fn why_not(&self, fence: &Fence, filter: Document) -> Result<Write> {
        let found = self.collection.clone_with_type::<Document>();
        let found = found
            .find_one(filter)
            .projection(doc! { &self.field: 1 })
            .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary));
        let found = found.await.map_err(translate)?;
        let seen = found.and_then(|found| number(&found, &self.field));
        match seen.and_then(|seen| u64::try_from(seen).ok()).map(Token::from_number) {
            Some(highest) if highest > fence.token() => Ok(Write::Refused { highest }),
            _ => Ok(Write::NotThere),
        }
    }
}

impl<T: Send + Sync> fmt::Debug for Fenced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fenced")
            .field("collection", &self.collection.namespace())
            .field("field", &self.field)
            .finish()
    }
}

/// The one concern under which a fence stands.
pub(crate) fn majority() -> WriteConcern {
    WriteConcern::builder().w(Acknowledgment::Majority).journal(true).build()
}

/// A token fits 53 bits.
pub(crate) fn number_of(token: Token) -> i64 {
    i64::try_from(token.get()).unwrap_or(i64::MAX)
}

/// So does an epoch.
pub(crate) fn number_of_epoch(epoch: Epoch) -> i64 {
    i64::try_from(epoch.get()).unwrap_or(i64::MAX)
}

fn is_duplicate(error: &mongodb::error::Error) -> bool {
    const DUPLICATE_KEY: i32 = 11000;
    matches!(
        error.kind.as_ref(),
        ErrorKind::Write(WriteFailure::WriteError(failure)) if failure.code == DUPLICATE_KEY
    )
}
