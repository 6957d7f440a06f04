//! How many requests each step of a lease makes, as `docs/COSTS.md` tells it and as it is.

use std::sync::Arc;
use std::time::Duration;

use lease_core::backend::{Joined, Renewed, Taken, Withdrawn};
use lease_core::{Backend, Claim, HolderInfo, Holding, Mode, Name, Nonce, Policy};

/// The page that tells them.
const PAGE: &str = include_str!("../../docs/COSTS.md");

/// A step, and how many requests it makes.
type Cost = (String, usize);

/// What the page tells of a store: its column of the table, from above.
///
/// # Panics
///
/// If the page has no such column, or a cell of it is no number.
#[must_use]
pub fn told(store: &str) -> Vec<Cost> {
    let mut rows = PAGE.lines().filter(|line| line.starts_with("| "));
    let cells = |row: &str| -> Vec<String> {
        row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let titles = rows.next().map(cells).unwrap_or_default();
    let column = titles.iter().position(|title| title == store);
    let column = column.unwrap_or_else(|| panic!("docs/COSTS.md has no column `{store}`"));
    let cost = |row: &str| {
        let cells = cells(row);
        let number = cells[column].parse();
        (cells[0].clone(), number.unwrap_or_else(|_| panic!("docs/COSTS.md: {row}: no number")))
    };
    rows.map(cost).collect()
}

/// Goes through all steps on a store where nothing was done yet, in the order of the page.
///
/// `since` tells how many requests this client has made since it was asked the last time.
///
/// # Panics
///
/// If a step does not end as it must.
pub async fn measured(store: &dyn Backend, since: impl FnMut() -> usize) -> Vec<Cost> {
    let mut costs = Costs { store, since, nonces: 0x20, found: Vec::new() };
    costs.exclusive().await;
    costs.writer().await;
    costs.together().await;
    costs.found
}

struct Costs<'a, F> {
    store: &'a dyn Backend,
    since: F,
    nonces: u8,
    found: Vec<Cost>,
}

impl<F: FnMut() -> usize> Costs<'_, F> {
    async fn step<T>(&mut self, what: &str, step: impl Future<Output = T>) -> T {
        (self.since)();
        let answer = step.await;
        self.found.push((what.to_owned(), (self.since)()));
        answer
    }

    fn claim(&mut self, name: &str, mode: Mode) -> Claim {
        self.nonces += 1;
        Claim {
            name: Name::parse(name).unwrap_or_else(|why| panic!("{why}")),
            // By chance one in some is dearer: a store may let those clean up.
            nonce: Nonce::from_bytes([self.nonces; 16]),
            mode,
            ttl: Duration::from_secs(60),
            info: Arc::new(HolderInfo::default()),
        }
    }

    async fn exclusive(&mut self) {
        let store = self.store;
        let claim = self.claim("reports", Mode::Exclusive);
        let mine = self.step("acquire exclusive, a new name", takes(store, &claim)).await;
        let mine = self.step("renew exclusive", renews(store, vec![mine])).await.remove(0);
        let confirmed = self.step("confirm exclusive", store.confirm(&mine)).await;
        confirmed.unwrap_or_else(|why| panic!("{why}"));
        let seen = self.step("look", store.inspect(&mine.name)).await;
        seen.unwrap_or_else(|why| panic!("{why}"));
        let other = self.claim("reports", Mode::Exclusive);
        let policy = Policy::expired();
        let refused = self.step("be refused", store.take(&other, None, &policy)).await;
        assert!(matches!(refused, Ok(Taken::Refused(_))), "{refused:?}");
        self.step("release exclusive", releases(store, &mine)).await;
        let claim = self.claim("reports", Mode::Exclusive);
        let mine = self.step("acquire exclusive, again", takes(store, &claim)).await;
        releases(store, &mine).await;
    }

    async fn writer(&mut self) {
        let store = self.store;
        let claim = self.claim("reports", Mode::Writer);
        let mine =
            self.step("acquire writer, the first after an exclusive", joins(store, &claim)).await;
        releases(store, &mine).await;
        let claim = self.claim("reports", Mode::Writer);
        let mine = self.step("acquire writer, again", joins(store, &claim)).await;
        let mine = self.step("renew writer", renews(store, vec![mine])).await.remove(0);
        let confirmed = self.step("confirm writer", store.confirm(&mine)).await;
        confirmed.unwrap_or_else(|why| panic!("{why}"));
        self.step("release writer", releases(store, &mine)).await;
        let claim = self.claim("reports", Mode::Exclusive);
        let mine =
            self.step("acquire exclusive, the first after writers", takes(store, &claim)).await;
        releases(store, &mine).await;
    }

    async fn together(&mut self) {
        let mut all = Vec::new();
        for n in 0..8 {
            let claim = self.claim(&format!("shard {n}"), Mode::Exclusive);
            all.push(takes(self.store, &claim).await);
        }
        let all = self.step("renew 8 exclusives together", renews(self.store, all)).await;
        for mine in &all {
            releases(self.store, mine).await;
        }
    }
}

async fn takes(store: &dyn Backend, claim: &Claim) -> Holding {
    match store.take(claim, None, &Policy::expired()).await {
        Ok(Taken::Granted(grant)) => grant.holding,
        other => panic!("it is free: {other:?}"),
    }
}

async fn joins(store: &dyn Backend, claim: &Claim) -> Holding {
    match store.join(claim, &Policy::expired()).await {
        Ok(Joined::Granted(grant)) => grant.holding,
        other => panic!("it is free: {other:?}"),
    }
}

async fn renews(store: &dyn Backend, mine: Vec<Holding>) -> Vec<Holding> {
    let due: Vec<Holding> = mine.iter().map(Holding::next_beat).collect();
    let answers = store.renew(&due).await;
    let renewed = |(due, answer): (Holding, _)| match answer {
        Ok(Renewed::Renewed { revision, .. }) => due.acknowledged(revision),
        other => panic!("it is held: {other:?}"),
    };
    due.into_iter().zip(answers).map(renewed).collect()
}

async fn releases(store: &dyn Backend, mine: &Holding) {
    let withdrawn = store.withdraw(mine).await;
    assert!(matches!(withdrawn, Ok(Withdrawn::Removed)), "{withdrawn:?}");
}
