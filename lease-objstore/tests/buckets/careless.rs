//! A server that looks whether an object is there and then creates it, so that several create one:
//! it is found out, and leases are exclusive on it all the same.

use futures::future::join_all;
use lease_core::backend::{Joined, Taken};
use lease_core::{Backend, Claim, Error, Jitter, Mode, Name, Policy, Token};
use lease_objstore::{ObjStore, Options, WithoutCreate, connect};
use object_store::path::Path;
use object_store::{ObjectStore, PutMode};
use testbed::s3::S3;

use crate::people::claim;
use crate::place::{BUCKET, s3};

/// How many ask for each name at the same time.
const RACERS: usize = 4;

/// How many names they race for.
const NAMES: usize = 8;

/// How often one goes on whose request failed, which this server does to many.
const TRIES: usize = 20;

async fn server() -> S3 {
    let start = || {
        let server = S3::careless().unwrap();
        server.create_bucket(BUCKET).unwrap();
        server
    };
    tokio::task::spawn_blocking(start).await.unwrap()
}

fn options(server: &S3) -> Options {
    let prefix = Jitter::system().nonce().to_string();
    s3(server, BUCKET, &prefix, None)
}

/// Opens it. Others who open it too make its listings fail.
async fn open(options: &Options) -> ObjStore {
    for _ in 0..TRIES {
        match connect(options.clone()).await {
            Ok(store) => return store,
            Err(Error::Unavailable { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("it cannot be opened");
}

/// The token of a claim that was granted. Nothing is released, so whoever is refused stays so.
async fn take(store: &ObjStore, claim: &Claim) -> Option<Token> {
    let mut draining = None;
    for _ in 0..TRIES {
        match store.take(claim, draining.as_ref(), &Policy::expired()).await {
            Ok(Taken::Granted(grant)) => return Some(Token::new(Mode::Exclusive, grant.epoch)),
            Ok(Taken::Draining(more)) => draining = Some(more),
            Ok(_) => return None,
            Err(_) => draining = draining.map(lease_core::backend::Draining::after_a_failed_round),
        }
    }
    None
}

async fn join(store: &ObjStore, claim: &Claim) -> bool {
    for _ in 0..TRIES {
        match store.join(claim, &Policy::expired()).await {
            Ok(Joined::Granted(_)) => return true,
            Ok(Joined::Refused(_)) => return false,
            Err(_) => {}
        }
    }
    false
}

/// How many exclusives, and how many writers, were granted of each name.
async fn race(options: &Options) -> Vec<(usize, usize)> {
    let stores = join_all((0..RACERS).map(|_| open(options))).await;
    let names = (0..NAMES).map(|i| Name::parse(format!("payroll-{i}")).unwrap());
    join_all(names.map(|name| race_for(&stores, name))).await
}

async fn race_for(stores: &[ObjStore], name: Name) -> (usize, usize) {
    let claim = |mode| Claim { name: name.clone(), ..claim(mode) };
    let exclusives = stores.iter().map(|store| {
        let claim = claim(Mode::Exclusive);
        async move { take(store, &claim).await }
    });
    let claim = claim(Mode::Writer);
    let (exclusives, writer) = futures::join!(join_all(exclusives), join(&stores[0], &claim));
    (exclusives.iter().flatten().count(), usize::from(writer))
}

/// The opening of a store that no lease was on yet tells what it is; the marker tells the next.
#[tokio::test(flavor = "multi_thread")]
async fn is_found_out_when_it_is_opened() {
    let server = server().await;
    let place = options(&server);
    let refused = loop {
        match connect(place.clone().without_create(WithoutCreate::Refuse)).await {
            Err(Error::Unavailable { .. }) => {}
            answer => break answer,
        }
    };
    assert!(matches!(refused, Err(Error::Misconfigured { .. })), "{refused:?}");

    let found = open(&place).await.findings().unwrap();
    assert!(found.raced && found.elected, "{found:?}");
    let found = open(&place).await.findings().unwrap();
    assert!(!found.raced && found.elected, "{found:?}");
}

/// Of all who ask for a name at once one is granted, or none where a writer was faster.
#[tokio::test(flavor = "multi_thread")]
async fn grants_one_of_many() {
    let server = server().await;
    let granted = race(&options(&server)).await;
    for (exclusives, writers) in &granted {
        assert!(exclusives + writers <= 1, "{granted:?}");
    }
    let held = granted.iter().filter(|(exclusives, writers)| exclusives + writers == 1).count();
    assert!(held >= NAMES / 2, "{granted:?}");
}

/// What there is to find: the server itself lets several create one object.
#[tokio::test(flavor = "multi_thread")]
async fn lets_several_create_one_object() {
    let server = server().await;
    let store = options(&server).object_store().await.unwrap();
    for i in 0..100 * TRIES {
        let path = Path::from(format!("one-{i}"));
        let create = || store.put_opts(&path, "mine".into(), PutMode::Create.into());
        let created = join_all((0..RACERS).map(|_| create())).await;
        if created.iter().filter(|created| created.is_ok()).count() > 1 {
            return;
        }
    }
    panic!("no object had two creators");
}
