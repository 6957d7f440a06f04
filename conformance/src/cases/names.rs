//! Names are kept apart, and are shown as they were given.

use lease_core::Name;

use crate::{Fixture, Worker};

/// Names that stores have been known to reject, to fold together or to read as something else.
fn table() -> Vec<String> {
    let mut names: Vec<String> = [
        "a/b",
        "a_b",
        "a.b",
        "a..b",
        "a//b",
        "a",
        "A",
        ".",
        "..",
        "../x",
        "/",
        "/a",
        "a/",
        "*",
        ">",
        "a.*",
        "a b",
        " ",
        " a",
        "a ",
        "a:b",
        "$x",
        "x.$y",
        "_",
        "_2f",
        "%2F",
        "a%2Fb",
        "a#1",
        "a\\b",
        "con",
        "x",
        "w",
        "anchor",
        "_id",
        "{}",
        "\"quoted\"",
        "'; drop",
        "\u{e9}",
        "e\u{301}",
        "İ",
        "i",
        "ß",
        "ss",
        "имя",
        "名前",
        "🦀",
        "a\u{200b}",
        "a\u{a0}",
    ]
    .map(str::to_owned)
    .to_vec();
    // As long as a name may be, and the same with another end.
    names.push("k".repeat(Name::MAX_BYTES));
    names.push(format!("{}j", "k".repeat(Name::MAX_BYTES - 1)));
    names.push("k".repeat(255));
    names.push("k".repeat(256));
    names
}

/// Every name is held at the same time by its own holder, and listed as it was given.
pub async fn are_kept_apart_and_listed_as_given(store: &dyn Fixture, _: Name) {
    let ann = Worker::new(store, "ann").await.with_ttl(super::LONG);
    let bob = Worker::new(store, "bob").await.with_ttl(super::LONG);

    let mut held = Vec::new();
    for text in table() {
        let name = Name::parse(&text).expect("a name");
        held.push(ann.takes(&name).await.holding);
    }
    for anns in &held {
        let by = bob.is_refused_as_exclusive(&anns.name).await;
        let holder = by.holder.expect("a refusal names the holder");
        assert_eq!(holder.nonce, anns.nonce, "{:?} must be held by its own holder", anns.name);
    }

    let listed = bob.backend().names().await.expect("the store answers");
    for anns in &held {
        let times = listed.iter().filter(|name| **name == anns.name).count();
        assert_eq!(times, 1, "{:?} must be listed once, as it was given", anns.name);
    }
    for anns in held {
        ann.releases(&anns).await;
    }
}

/// A name that begins like another, or that another begins like, is no part of it.
pub async fn do_not_contain_each_other(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;
    let longer = Name::parse(format!("{name}x")).expect("a name");
    let below = super::part(&name, "x");

    let first = ann.takes(&name).await.holding;
    let second = bob.joins(&longer).await.holding;
    let third = bob.takes(&below).await.holding;
    assert!(bob.sees(&name).await.writers.is_empty(), "that writer is another name's");
    assert_eq!(store.records(&name).await, 1, "each name has its own records");

    ann.releases(&first).await;
    bob.holds(&second).await;
    bob.holds(&third).await;
    store.erase(&name).await;
    bob.holds(&second).await;
    bob.holds(&third).await;
}

/// Whoever asks for the names is told of those that are held, by writers and exclusives alike.
pub async fn of_all_that_is_held_are_listed(store: &dyn Fixture, name: Name) {
    let ann = Worker::lasting(store, "ann").await;
    let bob = Worker::lasting(store, "bob").await;
    let (written, excluded) = (super::part(&name, "w"), super::part(&name, "x"));

    ann.joins(&written).await;
    ann.takes(&excluded).await;
    let listed = bob.backend().names().await.expect("the store answers");
    assert!(listed.contains(&written), "a name with a writer must be listed");
    assert!(listed.contains(&excluded), "a name with an exclusive must be listed");
    assert!(!listed.contains(&name), "a name that nobody used must not be listed");
}
