//! The suite, on a server that is alone and asks for a login: no push, and rights that differ.

mod support;

use support::locked::LOCKED;
use support::store::Store;

fixture!(Alone, start(), LOCKED.address());

async fn start() -> Store {
    let database = support::fresh_database();
    let reader = Some(LOCKED.url("reader", &database));
    Store::new(LOCKED.url("writer", &database), reader, database).await
}

lease_conformance::suite!(Alone);
