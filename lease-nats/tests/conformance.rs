//! The suite, on one real server.

mod support;

use support::store::Store;

lease_conformance::suite!(Store);
