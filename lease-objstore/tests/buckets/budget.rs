//! What each step costs on the network, request by request: what a cloud bills.

use lease_core::{Backend, Mode};
use lease_objstore::{ObjStore, connect};

use crate::count::Count;
use crate::people::{acquire, claim};
use crate::place::{Azurite, FakeGcs, Place, Seaweed, Server};

/// A client of a new place, and its count.
async fn counted<S: Server>() -> (ObjStore, Count) {
    let place = tokio::task::spawn_blocking(Place::on::<S>).await.unwrap();
    let count = Count::default();
    let over = count.clone();
    let options = place.options.through(move |client| over.over(S::layer(client)));
    let store = connect(options).await.unwrap();
    let opened = count.take();
    let creates = opened.split(' ').filter(|kind| *kind == "create").count();
    // One on the probe, five for each of four keys, and the marker.
    assert_eq!(creates, 22, "{opened}");
    assert!(opened.split(' ').count() <= 38, "opening is bounded: {opened}");
    (store, count)
}

/// Takes, renews, confirms, looks and releases, and tells the requests of each.
async fn cycle(store: &ObjStore, count: &Count, mode: Mode) -> [String; 5] {
    let mut mine = acquire(store, &claim(mode)).await.holding;
    let acquired = count.take();
    mine = mine.next_beat();
    store.renew(std::slice::from_ref(&mine)).await.remove(0).unwrap();
    let renewed = count.take();
    store.confirm(&mine).await.unwrap();
    let confirmed = count.take();
    store.inspect(&mine.name).await.unwrap();
    let shown = count.take();
    store.withdraw(&mine).await.unwrap();
    [acquired, renewed, confirmed, shown, count.take()]
}

async fn costs<S: Server>() {
    let (store, count) = counted::<S>().await;
    // The name is new: is this the right folder, and where do its epochs start?
    let first = cycle(&store, &count, Mode::Exclusive).await;
    assert_eq!(first[0], "list get create head list create list create list");
    assert_eq!(first[1..], ["put list", "list", "list", "put list"]);
    // Released by this client, so the look that tells the next number is saved; and right above a
    // granted claim it needs no mark.
    let next = cycle(&store, &count, Mode::Exclusive).await;
    assert_eq!(next, ["create list", "put list", "list", "list", "put list"]);
    // The first writer after an exclusive opens the name.
    let opens = cycle(&store, &count, Mode::Writer).await;
    assert_eq!(opens[0], "list create list create");
    let writer = cycle(&store, &count, Mode::Writer).await;
    assert_eq!(writer, ["list create list", "put list", "list", "list", "delete list"]);
    assert_eq!(opens[1..], writer[1..]);
    // And the first exclusive after writers has a mark again.
    let back = cycle(&store, &count, Mode::Exclusive).await;
    assert_eq!(back[0], "list create list create list");

    // Those of one name share the listing: one put for each is the least, for each has a file.
    let mut many = Vec::new();
    for _ in 0..8 {
        many.push(acquire(&store, &claim(Mode::Writer)).await.holding.next_beat());
    }
    count.take();
    assert!(store.renew(&many).await.iter().all(Result::is_ok));
    assert_eq!(count.take(), format!("{}list", "put ".repeat(8)));
}

#[tokio::test]
async fn the_page_of_costs_is_true() {
    let (store, count) = counted::<Seaweed>().await;
    let since = || count.take().split_whitespace().count();
    assert_eq!(measure::costs::measured(&store, since).await, measure::costs::told("bucket"));
}

#[tokio::test]
async fn on_s3() {
    costs::<Seaweed>().await;
}

#[tokio::test]
async fn on_azure() {
    costs::<Azurite>().await;
}

#[tokio::test]
async fn on_gcs() {
    costs::<FakeGcs>().await;
}
