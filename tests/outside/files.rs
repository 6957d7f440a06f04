//! The files of a folder, whoever wrote them.
#![cfg(feature = "objstore")]

use std::fs;
use std::path::Path;

use leasehold::{Error, Name, StoreUrl};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::names::texts;

/// Names of files as a holder, a newer version, another program or a typing error would give them.
fn file_names() -> impl Strategy<Value = String> {
    prop_oneof![
        "x-[0-9]{16}(\\.granted|\\.rel|\\.kil|\\.brk|\\.a[0-9]{1,20})?",
        "s-[0-9a-f]{32}(\\.rel|\\.kil|\\.brk|\\.a[0-9]{1,20})?",
        "p-[0-9a-f]{32}",
        "genesis|broken|anchor|\\.nfs0001|x-|s-|x-99999999999999999999",
        "[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,39}",
    ]
}

fn bodies() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..64),
        Just(b"{}".to_vec()),
        any::<u64>().prop_map(|v| format!("{{\"v\":{v}}}").into_bytes()),
        any::<(u64, i64)>().prop_map(|(v, ttl)| {
            format!("{{\"v\":{v},\"name\":\"job\",\"ttl_ms\":{ttl},\"mode\":\"writer\"}}")
                .into_bytes()
        }),
        Just(b"granted".to_vec()),
        Just(b"void".to_vec()),
    ]
}

fn url_of(folder: &Path) -> StoreUrl {
    StoreUrl::parse(&format!("file://{}", folder.display())).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Everything in a folder, at any depth, by its path from there.
fn all_in(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found.extend(all_in(&path).into_iter().map(|below| format!("{name}/{below}")));
        }
        found.push(name);
    }
    found
}

proptest! {
    #![proptest_config(crate::cases(60))]

    /// Whatever lies in a lease's folder, looking and asking end with an answer: it is held, it was
    /// granted, or a person has to see to it.
    #[test]
    fn of_anybody_are_read_with_an_answer(
        strays in prop::collection::btree_map(file_names(), bodies(), 0..8),
    ) {
        let folder = TempDir::new().unwrap();
        let name = Name::parse("job").unwrap();
        let place = folder.path().join(name.portable());
        fs::create_dir(&place).unwrap();
        for (file, body) in &strays {
            fs::write(place.join(file), body).unwrap();
        }
        runtime().block_on(async {
            let store = url_of(folder.path()).open().await.unwrap();
            store.names().await.unwrap();
            if let Err(error) = store.inspect(&name).await {
                assert!(crate::tells_what_to_do(&error), "{error}");
            }
            let leases = leasehold::Coordinator::new(store);
            match leases.exclusive("job").acquire().await {
                Ok(lease) => drop(lease.release().await.unwrap()),
                Err(Error::Held { .. }) => {}
                Err(error) => assert!(crate::tells_what_to_do(&error), "{error}"),
            }
        });
    }

    /// Whatever a lease is called, its files are in the store's folder, one level below it.
    #[test]
    fn never_leave_the_folder(text in texts()) {
        let Ok(name) = Name::parse(&text) else { return Ok(()) };
        let outer = TempDir::new().unwrap();
        let inner = outer.path().join("leases");
        fs::create_dir(&inner).unwrap();
        runtime().block_on(async {
            let leases = leasehold::Coordinator::new(url_of(&inner).open().await.unwrap());
            let lease = leases.exclusive(name.as_str()).acquire().await.unwrap();
            let beside = all_in(outer.path());
            let strangers = |path: &&String| {
                path.as_str() != "leases" && !path.starts_with("leases/") || path.matches('/').count() > 2
            };
            assert_eq!(beside.iter().find(strangers), None);
            let store = url_of(&inner).open().await.unwrap();
            assert_eq!(store.names().await.unwrap(), std::slice::from_ref(&name));
            lease.release().await.unwrap();
        });
    }
}
