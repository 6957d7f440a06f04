//! Transactions that commit only while a lease is held.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use lease_core::clock::within;
use lease_core::{Error, Lease, LossReason, Mode, Result};
use mongodb::bson::{Document, doc};
use mongodb::error::{
    Error as DriverError, TRANSIENT_TRANSACTION_ERROR, UNKNOWN_TRANSACTION_COMMIT_RESULT,
};
use mongodb::options::{ReadConcern, ReadPreference, SelectionCriteria};
use mongodb::{Client, ClientSession};

use crate::error::{KIND, nonsense, translate};
use crate::fenced::{majority, number_of_epoch};
use crate::{Mongo, Reason, Topology};

impl Mongo {
    /// Runs `work` in a transaction that commits only if the lease is still held at the commit.
    ///
    /// The transaction *changes* the lease's own record: whoever takes the lease meanwhile waits for
    /// its end, and after a takeover it finds nothing to change and is aborted. (To read the record
    /// would not do: a takeover and the commit would both go through.) So this needs no field in the
    /// program's documents, and nobody has to announce.
    ///
    /// `client` is the program's own, of the same deployment; `work` hands the session to each of
    /// its operations. It is run again after a conflict, as long as the lease may be believed in, so
    /// it must change nothing outside. What it returns as an error is given back inside `Ok`, and
    /// the transaction is aborted.
    ///
    /// Keep it short: the lease's own renewals wait for it, and so do those of other writers of the
    /// name. If the program dies in the middle, they wait until the server ends the transaction, by
    /// default after a minute or more (`transactionLifetimeLimitSeconds`). For many writers at once
    /// use [`Fenced`](crate::Fenced).
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`] if the lease is not held any more, or its belief ended first: nothing was
    ///   written. Stop the protected work.
    /// - [`Error::Unavailable`] if the server did not answer. Where its effect is unknown the
    ///   commit may have got through: look before it is run again.
    /// - [`Error::Misconfigured`] if the user of `client` may not read and write the leases'
    ///   collection, its login is refused, or no majority can acknowledge: a person has to change
    ///   what it names.
    /// - [`Error::Unsupported`] on a server that is no replica set: use [`Fenced`](crate::Fenced).
    ///
    /// # Cancel safety
    ///
    /// The transaction is aborted, unless its commit was sent already: then nobody knows, as after
    /// an unclear error.
    pub async fn transaction<T, W>(
        &self,
        client: &Client,
        lease: &Lease,
        mut work: W,
    ) -> Result<Result<T, DriverError>>
    where
        T: Send,
        W: for<'s> FnMut(&'s mut ClientSession) -> BoxFuture<'s, Result<T, DriverError>> + Send,
    {
        if self.inner.topology == Topology::Standalone {
            return Err(Error::Unsupported { backend: KIND, feature: "transaction" });
        }
        let mut session = client.start_session().await.map_err(translate)?;
        loop {
            lease.check()?;
            // Known outside, for an attempt that takes too long is dropped.
            let committing = AtomicBool::new(false);
            let attempt = self.attempt(client, &mut session, lease, &mut work, &committing);
            let attempt = within(&self.place().clock, lease.remaining(), attempt).await;
            match attempt {
                Some(Attempt::Again(error)) => {
                    let error = Reason::from(error);
                    tracing::debug!(%error, "a fenced transaction starts again");
                }
                Some(Attempt::Over(outcome)) => return outcome,
                None if committing.load(Ordering::SeqCst) => {
                    return Err(nonsense("the commit was not answered before the lease ended"));
                }
                // The belief is over; the session aborts what it has when it is dropped.
                None => {
                    lease.check()?;
                    return Err(nonsense("the transaction took longer than the lease lasts"));
                }
            }
        }
    }

    async fn attempt<T, W>(
        &self,
        client: &Client,
        session: &mut ClientSession,
        lease: &Lease,
        work: &mut W,
        committing: &AtomicBool,
    ) -> Attempt<T>
    where
        T: Send,
        W: for<'s> FnMut(&'s mut ClientSession) -> BoxFuture<'s, Result<T, DriverError>> + Send,
    {
        let started = session
            .start_transaction()
            .read_concern(ReadConcern::snapshot())
            .write_concern(majority())
            .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
            .await;
        if let Err(error) = started {
            return Attempt::Over(Err(translate(error)));
        }
        match self.touch(client, session, lease).await {
            Ok(true) => {}
            Ok(false) => {
                abort(session).await;
                return Attempt::Over(Err(lost(lease)));
            }
            Err(error) => return failed(session, error, |error| Err(translate(error))).await,
        }
        let output = match work(session).await {
            Ok(output) => output,
            Err(error) => return failed(session, error, |error| Ok(Err(error))).await,
        };
        // R23: the work may have taken longer than the belief lasts.
        if let Err(error) = lease.check() {
            abort(session).await;
            return Attempt::Over(Err(error));
        }
        committing.store(true, Ordering::SeqCst);
        loop {
            match session.commit_transaction().await {
                Ok(()) => return Attempt::Over(Ok(Ok(output))),
                // Whether it got through is asked by committing again, until the belief ends.
                Err(error) if error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) => {
                    if lease.check().is_err() {
                        return Attempt::Over(Err(Error::unclear(KIND, Reason::from(error))));
                    }
                }
                Err(error) if error.contains_label(TRANSIENT_TRANSACTION_ERROR) => {
                    return Attempt::Again(error);
                }
                Err(error) => return Attempt::Over(Err(translate(error))),
            }
        }
    }

    /// Changes the lease's record within the transaction; false if it is not there.
    async fn touch(
        &self,
        client: &Client,
        session: &mut ClientSession,
        lease: &Lease,
    ) -> Result<bool, DriverError> {
        let (database, collection) = self.namespace();
        let leases = client.database(database).collection::<Document>(collection);
        let (nonce, epoch) = (lease.nonce().to_string(), number_of_epoch(lease.epoch()));
        let mut filter = doc! { "_id": lease.name().as_str() };
        let counter = match lease.mode() {
            Mode::Exclusive => {
                filter.insert("x.nonce", nonce);
                filter.insert("x.granted", epoch);
                "x.txn".to_owned()
            }
            Mode::Writer => {
                filter.insert(format!("w.{nonce}.epoch"), epoch);
                format!("w.{nonce}.txn")
            }
        };
        // A counter, for an update that stores what is there already conflicts with nobody.
        let touched = leases.update_one(filter, doc! { "$inc": { counter: 1_i64 } });
        Ok(touched.session(session).await?.matched_count == 1)
    }
}

/// What one attempt came to.
enum Attempt<T> {
    /// Another transaction was in the way.
    Again(DriverError),
    Over(Result<Result<T, DriverError>>),
}

async fn failed<T>(
    session: &mut ClientSession,
    error: DriverError,
    tell: impl FnOnce(DriverError) -> Result<Result<T, DriverError>> + Send,
) -> Attempt<T> {
    abort(session).await;
    match error.contains_label(TRANSIENT_TRANSACTION_ERROR) {
        true => Attempt::Again(error),
        false => Attempt::Over(tell(error)),
    }
}

/// Aborts, as well as it goes: the server does it by itself after a while.
async fn abort(session: &mut ClientSession) {
    if let Err(error) = session.abort_transaction().await {
        let error = Reason::from(error);
        tracing::debug!(%error, "a fenced transaction could not be aborted");
    }
}

fn lost(lease: &Lease) -> Error {
    let reason = LossReason::Displaced;
    Error::Lost { name: lease.name().clone(), epoch: lease.epoch(), reason }
}
