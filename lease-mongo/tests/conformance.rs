//! The suite, on a replica set of three.

mod support;

use support::store::Store;

fixture!(Replicated, start(), support::primary_address());

async fn start() -> Store {
    let database = support::fresh_database();
    Store::new(support::url(&database), None, database).await
}

lease_conformance::suite!(Replicated);
