//! Many at once, on a real disk: each with a client of its own, as if it were a process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use futures::future::join_all;
use lease_core::clock::{Clock, SystemClock};
use lease_core::{Backend, Claim, Jitter, Mode, Name, Token};
use lease_objstore::{Options, connect};
use tokio::sync::Barrier;

use crate::people::{SECOND, acquire, claim, exclusive, try_acquire};

const RACERS: usize = 32;

/// The very first use, of a folder that is not there yet: each round has one winner, and everybody
/// else is told that the name is held.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_all_who_come_first_one_wins() {
    let parent = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let folder = parent.path().join(format!("leases-{round}"));
        let barrier = Arc::new(Barrier::new(RACERS));
        let racers = (0..RACERS).map(|_| {
            let (folder, barrier) = (folder.clone(), Arc::clone(&barrier));
            tokio::spawn(async move {
                barrier.wait().await;
                let store = connect(Options::local(folder).durable(false)).await.unwrap();
                try_acquire(&store, &exclusive()).await.is_some()
            })
        });
        let won = join_all(racers).await.into_iter().filter(|won| *won.as_ref().unwrap()).count();
        assert_eq!(won, 1, "round {round}");
    }
}

/// Who holds, counted in this process.
#[derive(Default)]
struct Counters {
    exclusives: AtomicI64,
    writers: AtomicI64,
    overlaps: AtomicUsize,
    grants: AtomicUsize,
    highest: AtomicU64,
    disorder: AtomicUsize,
}

impl Counters {
    fn enter(&self, mode: Mode, token: Token) {
        let (exclusives, writers) = match mode {
            Mode::Exclusive => (self.exclusives.fetch_add(1, SeqCst), self.writers.load(SeqCst)),
            Mode::Writer => {
                self.writers.fetch_add(1, SeqCst);
                (self.exclusives.load(SeqCst), 0)
            }
        };
        self.overlaps.fetch_add(usize::from(exclusives + writers != 0), SeqCst);
        let before = self.highest.fetch_max(token.get(), SeqCst);
        let in_order = match mode {
            Mode::Exclusive => before < token.get(),
            Mode::Writer => before <= token.get(),
        };
        self.disorder.fetch_add(usize::from(!in_order), SeqCst);
        self.grants.fetch_add(1, SeqCst);
    }

    fn leave(&self, mode: Mode) {
        match mode {
            Mode::Exclusive => self.exclusives.fetch_sub(1, SeqCst),
            Mode::Writer => self.writers.fetch_sub(1, SeqCst),
        };
    }
}

/// Eight clients hold and release as fast as they can, and clear away each other's remains.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_a_busy_name_nobody_holds_beside_an_exclusive() {
    let folder = tempfile::tempdir().unwrap();
    let counters = Arc::new(Counters::default());
    let over = Arc::new(AtomicBool::new(false));
    let clients = (0..8).map(|who| {
        let path = folder.path().to_owned();
        let (counters, over) = (Arc::clone(&counters), Arc::clone(&over));
        tokio::spawn(async move {
            let store = connect(Options::local(path).durable(false)).await.unwrap();
            let jitter = Jitter::seeded(who);
            while !over.load(SeqCst) {
                let mode = if who % 2 == 0 { Mode::Exclusive } else { Mode::Writer };
                // Long: nobody expires here, however slow the machine.
                let claim = claim(mode, Duration::from_secs(600));
                if let Some(grant) = try_acquire(&store, &claim).await {
                    counters.enter(mode, Token::new(mode, grant.epoch));
                    tokio::task::yield_now().await;
                    counters.leave(mode);
                    store.withdraw(&grant.holding).await.unwrap();
                }
                let wait = jitter.between(Duration::ZERO, Duration::from_millis(3));
                SystemClock.sleep_until(SystemClock.now().plus(wait)).await;
            }
        })
    });
    let clients: Vec<_> = clients.collect();
    let (begin, enough) = (SystemClock.now(), || counters.grants.load(SeqCst) > 200);
    let passed = || SystemClock.now().since(begin);
    while passed() < SECOND * 3 || (!enough() && passed() < SECOND * 60) {
        SystemClock.sleep_until(SystemClock.now().plus(SECOND / 10)).await;
    }
    over.store(true, SeqCst);
    join_all(clients).await.into_iter().for_each(Result::unwrap);

    assert_eq!(counters.overlaps.load(SeqCst), 0, "they held at once");
    assert_eq!(counters.disorder.load(SeqCst), 0, "tokens fell");
    assert!(enough(), "they did not get far");
}

/// Names that a file system would fold, cut or refuse are all held at once, and shown as they were
/// given.
#[tokio::test]
async fn no_two_names_are_one_folder() {
    let folder = tempfile::tempdir().unwrap();
    let store = connect(Options::local(folder.path()).durable(false)).await.unwrap();
    let (long, longer) = ("k".repeat(1000), format!("{}j", "k".repeat(999)));
    let names = [
        "a/b",
        "a_b",
        "a.b",
        "a..b",
        ".",
        "..",
        "../x",
        "*",
        ">",
        "a b",
        "a:b",
        "$x",
        "A",
        "a",
        "\u{e9}",
        "e\u{301}",
        "genesis",
        "leasehold.json",
        "leasehold",
        "x-1",
        &long,
        &longer,
    ];
    for text in names {
        let name = Name::parse(text).unwrap();
        acquire(&store, &Claim { name, ..exclusive() }).await;
    }
    let mut shown: Vec<_> =
        store.names().await.unwrap().iter().map(|name| name.as_str().to_owned()).collect();
    shown.sort_unstable();
    let mut given = names.map(str::to_owned).to_vec();
    given.sort_unstable();
    assert_eq!(shown, given);
    // Nothing was made outside of the folder.
    assert!(!folder.path().parent().unwrap().join("x").exists());
}
