//! The suite, on a server that is alone and asks for a login: no push, and rights that differ.

mod support;

use support::USERS;
use support::store::Store;

fixture!(Alone, start(), USERS.address());

async fn start() -> Store {
    let database = support::fresh_database();
    let url = |user| format!("{}&timeoutMS=10000", USERS.url(user, &database));
    Store::new(url("writer"), Some(url("reader")), database.clone()).await
}

lease_conformance::suite!(Alone);
