//! What opening a bucket finds out about it, and that it is found out by trying.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use futures::future::join_all;
use lease_core::{Backend, Error, Mode};
use lease_objstore::{Options, Probe, WithoutCreate, connect};
use object_store::ObjectStoreExt;

use crate::people::{acquire, claim, name};
use crate::place::{Azurite, FakeGcs, Place, Seaweed, Server};
use crate::spoil::{Fate, Spoilt, is_create, is_delete, is_list, is_write};

async fn place<S: Server>() -> Place {
    tokio::task::spawn_blocking(Place::on::<S>).await.unwrap()
}

#[track_caller]
fn problem<T>(answer: lease_core::Result<T>) -> String {
    match answer {
        Err(error @ Error::Misconfigured { .. }) => error.to_string(),
        Err(other) => panic!("a person has to mend it: {other:?}"),
        Ok(_) => panic!("it must not open"),
    }
}

/// Options with every request judged on its way.
fn spoilt(
    options: &Options,
    judge: impl Fn(&object_store::client::HttpRequest) -> Fate + Clone + Send + Sync + 'static,
) -> Options {
    options.clone().through(move |client| Spoilt::over(client, judge.clone()))
}

#[tokio::test]
async fn a_real_store_is_found_to_be_good() {
    for (options, whole_seconds) in [
        (place::<Seaweed>().await.options, true),
        (place::<Azurite>().await.options, true),
        (place::<FakeGcs>().await.options, true),
    ] {
        let found = connect(options.clone()).await.unwrap().findings().unwrap();
        assert!(found.raced && found.may_delete && !found.versioned, "{found:?}");
        assert_eq!(found.whole_seconds, whole_seconds);
        // The marker tells the next one, unless that wants to know for itself.
        let found = connect(options.clone()).await.unwrap().findings().unwrap();
        assert!(!found.raced);
        let again = connect(options.probe(Probe::EveryTime)).await.unwrap();
        assert!(again.findings().unwrap().raced);
    }
}

#[tokio::test]
async fn many_open_a_new_one_at_once() {
    let options = place::<Seaweed>().await.options;
    let opened = join_all((0..6).map(|_| connect(options.clone()))).await;
    for store in opened {
        let mine = acquire(&store.unwrap(), &claim(Mode::Writer)).await;
        assert!(mine.epoch.get() > 0);
    }
}

/// Case 35: a store that ignores the condition is found out, whenever it does so. It grants no lease
/// to whoever wants none without it.
#[tokio::test]
async fn a_store_that_ignores_conditions_is_found_out() {
    let place = place::<FakeGcs>().await;
    let spoilt = |judge: fn(usize) -> Fate| {
        let creates = Arc::new(AtomicUsize::new(0));
        place.options.clone().without_create(WithoutCreate::Refuse).through(move |client| {
            let creates = Arc::clone(&creates);
            Spoilt::over(FakeGcs::layer(client), move |request| match is_create(request) {
                true => judge(creates.fetch_add(1, SeqCst)),
                false => Fate::Pass,
            })
        })
    };
    let told = problem(connect(spoilt(|_| Fate::Unconditional)).await);
    assert!(told.contains("two exclusives could hold"), "{told}");
    // It behaves at first, and is found out by the races.
    let later = |create| if create < 3 { Fate::Pass } else { Fate::Unconditional };
    problem(connect(spoilt(later)).await);
    // It forgets itself now and then: one of these comes alone, after a race, and overwrites.
    let seldom = |create| match create {
        9 | 10 => Fate::Unconditional,
        _ => Fate::Pass,
    };
    problem(connect(spoilt(seldom)).await);

    // Nothing is left of all that: whoever opens it next finds it out too.
    assert!(place.all().await.is_empty(), "{:?}", place.all().await);
    problem(connect(spoilt(later)).await);

    // All others create by election there, also those who come later and find nothing wrong.
    let elected = spoilt(|_| Fate::Unconditional).without_create(WithoutCreate::Elect);
    let first = connect(elected.clone()).await.unwrap();
    assert!(first.findings().unwrap().elected);
    let mine = acquire(&first, &claim(Mode::Exclusive)).await;
    let next = connect(place.options.clone()).await.unwrap();
    assert!(next.findings().unwrap().elected);
    let shown = next.inspect(&name()).await.unwrap().exclusive.unwrap();
    assert_eq!(shown.nonce, mine.holding.nonce);
    problem(connect(place.options.clone().without_create(WithoutCreate::Refuse)).await);
}

/// Who trusts a store and who does not never hold leases in one place.
#[tokio::test]
async fn nobody_elects_where_others_trust() {
    let place = place::<FakeGcs>().await;
    place.connect().await;
    let suspicious = place.options.clone().through(|client| {
        Spoilt::over(FakeGcs::layer(client), |request| match is_create(request) {
            true => Fate::Unconditional,
            false => Fate::Pass,
        })
    });
    let told = problem(connect(suspicious).await);
    assert!(told.contains("two exclusives could hold"), "{told}");

    // Its marker was begun by election, and somebody who trusts made it beside.
    let store = place.options.object_store().await.unwrap();
    let begun = format!("{}/leasehold.json.c{}", place.prefix(), claim(Mode::Writer).nonce);
    store.put(&begun.into(), "{}".into()).await.unwrap();
    let told = problem(connect(place.options.clone()).await);
    assert!(told.contains("found not to be exact"), "{told}");
}

/// Case 38: whoever may not delete holds leases all the same, and is told.
#[tokio::test]
async fn a_bucket_where_nothing_may_be_deleted() {
    let place = place::<Seaweed>().await;
    let options = spoilt(&place.options, |request| match is_delete(request) {
        true => Fate::Refused(403),
        false => Fate::Pass,
    });
    let store = connect(options).await.unwrap();
    assert!(!store.findings().unwrap().may_delete);
    for mode in [Mode::Writer, Mode::Exclusive, Mode::Writer] {
        let grant = acquire(&store, &claim(mode)).await;
        store.withdraw(&grant.holding).await.unwrap();
    }
    let others = place.connect().await;
    acquire(&others, &claim(Mode::Exclusive)).await;
}

#[tokio::test]
async fn a_bucket_that_may_not_be_listed() {
    let place = place::<Seaweed>().await;
    let options = spoilt(&place.options, |request| match is_list(request) {
        true => Fate::Refused(403),
        false => Fate::Pass,
    });
    let told = problem(connect(options).await);
    assert!(told.contains("right to list"), "{told}");
}

/// Case 37: looking needs no right to write, and holding without it fails at once.
#[tokio::test]
async fn a_bucket_that_may_only_be_read() {
    let place = place::<Seaweed>().await;
    let holder = place.connect().await;
    acquire(&holder, &claim(Mode::Exclusive)).await;

    let writes = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&writes);
    let options = spoilt(&place.options, move |request| match is_write(request) {
        true => {
            seen.fetch_add(1, SeqCst);
            Fate::Refused(403)
        }
        false => Fate::Pass,
    });
    let told = problem(connect(options.clone()).await);
    assert!(told.contains("open the store read-only"), "{told}");
    assert_eq!(writes.swap(0, SeqCst), 1, "it is not tried again");

    let reader = connect(options.read_only()).await.unwrap();
    let shown = reader.inspect(&name()).await.unwrap();
    assert_eq!(shown.exclusive.unwrap().info.label, "ann");
    assert_eq!(reader.names().await.unwrap(), [name()]);
    assert_eq!(writes.load(SeqCst), 0);
}

#[tokio::test]
async fn a_bucket_that_keeps_versions_is_told_as_one() {
    let place = place::<Seaweed>().await;
    let options = spoilt(&place.options, |_| Fate::Versioned);
    assert!(connect(options).await.unwrap().findings().unwrap().versioned);
}
