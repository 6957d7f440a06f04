//! What servers, networks and people do to a bucket, and what is made of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use lease_core::backend::{Renewed, Taken, Withdrawn};
use lease_core::clock::{Clock, SystemClock};
use lease_core::{Backend, Coordinator, Effect, Error, Mode, Policy, Timing};
use lease_objstore::{ObjStore, Options, Probe, connect};
use testbed::s3::S3;
use testbed::{FaultProxy, Flow, Spoil};

use crate::count::Count;
use crate::people::{TTL, acquire, claim, name};
use crate::place::{self, Azurite, BUCKET, Place, Seaweed, Server};
use crate::spoil::{Fate, Spoilt, creates_claim, is_list, is_write};

const SECOND: Duration = Duration::from_secs(1);

async fn seaweed() -> Place {
    tokio::task::spawn_blocking(Place::on::<Seaweed>).await.unwrap()
}

/// A server that has only just started answers its first writes late, or with 500.
async fn opened(options: Options) -> ObjStore {
    for _ in 0..40 {
        match connect(options.clone()).await {
            Ok(store) => return store,
            Err(Error::Unavailable { .. }) => {
                SystemClock.sleep_until(SystemClock.now().plus(SECOND / 2)).await;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    panic!("the server does not get ready")
}

fn misconfigured<T>(answer: lease_core::Result<T>) -> String {
    match answer {
        Err(error @ Error::Misconfigured { .. }) => format!("{error} {error:?}"),
        Err(other) => panic!("a person has to mend it: {other:?}"),
        Ok(_) => panic!("it must not open"),
    }
}

fn unavailable<T>(answer: lease_core::Result<T>) -> Effect {
    match answer {
        Err(Error::Unavailable { effect, .. }) => effect,
        Err(other) => panic!("it may come back: {other:?}"),
        Ok(_) => panic!("there was no answer"),
    }
}

#[tokio::test]
async fn a_bucket_that_is_not_there() {
    let missing = || Azurite::options("no-such-container", "p", None);
    let options = tokio::task::spawn_blocking(missing).await.unwrap();
    let told = misconfigured(connect(options.clone()).await);
    assert!(told.contains("create the bucket"), "{told}");
    let told = misconfigured(connect(options.read_only()).await);
    assert!(told.contains("create the bucket"), "{told}");
    // This server makes a bucket of whatever is written into.
    seaweed().await;
    let told = misconfigured(connect(Seaweed::options("no-such", "p", None).read_only()).await);
    assert!(told.contains("create the bucket"), "{told}");
}

#[tokio::test]
async fn credentials_that_are_wrong() {
    let place = seaweed().await;
    let start = SystemClock.now();
    for (key_id, secret) in [("testbed", "not-the-secret"), ("nobody", "not-the-secret")] {
        let options = place.options.clone().credentials(key_id, secret).unwrap();
        let told = misconfigured(connect(options.clone()).await);
        assert!(told.contains("check the credentials"), "{told}");
        assert!(!told.contains("not-the-secret"), "{told}");
        misconfigured(connect(options.read_only()).await);
    }
    assert!(SystemClock.now().since(start) < SECOND * 5, "nothing is tried again");
}

/// The credentials expire under way, and are good again: no lease is lost by that, and nobody is
/// told that it is free.
#[tokio::test]
async fn credentials_that_expire_under_way() {
    let place = seaweed().await;
    let expired = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&expired);
    let options = place.options.clone().through(move |client| {
        let flag = Arc::clone(&flag);
        Spoilt::over(client, move |_| match flag.load(SeqCst) {
            true => Fate::Refused(403),
            false => Fate::Pass,
        })
    });
    let store = connect(options).await.unwrap();
    let mine = acquire(&store, &claim(Mode::Exclusive)).await.holding;
    expired.store(true, SeqCst);
    let mine = mine.next_beat();
    let renewed = store.renew(std::slice::from_ref(&mine)).await.remove(0);
    misconfigured(renewed);
    misconfigured(store.observe(&name()).await);
    expired.store(false, SeqCst);
    let mine = mine.next_beat();
    let renewed = store.renew(std::slice::from_ref(&mine)).await.remove(0).unwrap();
    assert!(matches!(renewed, Renewed::Renewed { .. }), "{renewed:?}");
}

/// Case 17: whatever the server says to the create of a claim, the claim counts if it is one's own,
/// and only then.
#[tokio::test]
async fn answers_to_a_create_that_mislead() {
    for (fate, calls) in [
        (Fate::Lost, 1),
        (Fate::AnsweredWith(500), 1),
        (Fate::AnsweredWith(503), 1),
        (Fate::AnsweredWith(409), 1),
        (Fate::AnsweredWith(412), 1),
        (Fate::Refused(409), 2),
        (Fate::Refused(503), 2),
        (Fate::Refused(429), 2),
    ] {
        let place = seaweed().await;
        let creates = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&creates);
        let options = place.options.clone().through(move |client| {
            let counted = Arc::clone(&counted);
            Spoilt::over(client, move |request| {
                match creates_claim(request) && counted.fetch_add(1, SeqCst) == 0 {
                    true => fate,
                    false => Fate::Pass,
                }
            })
        });
        let store = connect(options).await.unwrap();
        let grant = acquire(&store, &claim(Mode::Exclusive)).await;
        assert_eq!(creates.load(SeqCst), calls, "{fate:?}");
        assert_eq!(store.withdraw(&grant.holding).await.unwrap(), Withdrawn::Removed);
        let files = place.files(&name()).await;
        let claims = files.keys().filter(|f| f.starts_with("x-") && !f.contains('.')).count();
        assert_eq!(claims, 1, "{fate:?} leaves one record: {:?}", files.keys());
    }
}

/// A listing that fails is never one that shows nobody.
#[tokio::test]
async fn a_list_that_fails_is_no_answer() {
    let place = seaweed().await;
    acquire(&place.connect().await, &claim(Mode::Exclusive)).await;
    for status in [429, 500, 503] {
        let fails = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&fails);
        let options = place.options.clone().probe(Probe::Skip).through(move |client| {
            let flag = Arc::clone(&flag);
            Spoilt::over(client, move |request| match flag.load(SeqCst) && is_list(request) {
                true => Fate::Refused(status),
                false => Fate::Pass,
            })
        });
        let store = connect(options).await.unwrap();
        fails.store(true, SeqCst);
        assert_eq!(unavailable(store.observe(&name()).await), Effect::Nothing);
        unavailable(store.take(&claim(Mode::Exclusive), None, &Policy::expired()).await);
        unavailable(store.join(&claim(Mode::Writer), &Policy::expired()).await);
    }
}

/// A throttled write may have happened; the driver does not repeat it on its own.
#[tokio::test]
async fn a_throttled_renewal_is_sent_once() {
    let place = seaweed().await;
    let (throttled, writes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (flag, counted) = (Arc::clone(&throttled), Arc::clone(&writes));
    let options = place.options.clone().through(move |client| {
        let (flag, counted) = (Arc::clone(&flag), Arc::clone(&counted));
        Spoilt::over(client, move |request| match flag.load(SeqCst) && is_write(request) {
            true => {
                counted.fetch_add(1, SeqCst);
                Fate::Refused(503)
            }
            false => Fate::Pass,
        })
    });
    let store = connect(options).await.unwrap();
    let mine = acquire(&store, &claim(Mode::Writer)).await.holding.next_beat();
    throttled.store(true, SeqCst);
    let renewed = store.renew(std::slice::from_ref(&mine)).await.remove(0);
    assert_eq!(unavailable(renewed), Effect::Unknown);
    assert_eq!(writes.load(SeqCst), 1);
    throttled.store(false, SeqCst);
    let mine = mine.next_beat();
    let renewed = store.renew(std::slice::from_ref(&mine)).await.remove(0).unwrap();
    assert!(matches!(renewed, Renewed::Renewed { .. }), "{renewed:?}");
}

/// A client behind a proxy that spoils the network.
async fn behind_a_proxy() -> (ObjStore, FaultProxy, Place) {
    let server = tokio::task::spawn_blocking(Seaweed::address).await.unwrap();
    let proxy = FaultProxy::start(server).await.unwrap();
    let place = seaweed().await;
    let prefix = place.prefix();
    let options = Seaweed::options(BUCKET, &prefix, Some(proxy.address()));
    (opened(options).await, proxy, place)
}

/// Case 14: a dead network is told well inside the shortest ttl, and what comes after is not stuck.
#[tokio::test]
async fn a_network_that_goes_dark() {
    let (store, proxy, _place) = behind_a_proxy().await;
    let mine = acquire(&store, &claim(Mode::Exclusive)).await.holding.next_beat();

    proxy.black_hole();
    let start = SystemClock.now();
    let renewed = store.renew(std::slice::from_ref(&mine)).await.remove(0);
    assert_eq!(unavailable(renewed), Effect::Unknown);
    assert_eq!(unavailable(store.observe(&name()).await), Effect::Nothing);
    // The renewal, the look whether it got through, and the listing: a timeout each.
    let took = SystemClock.now().since(start);
    assert!(took < SECOND * 5, "{took:?} is longer than the shortest ttl");

    proxy.heal();
    let mine = mine.next_beat();
    let renewed = store.renew(std::slice::from_ref(&mine)).await.remove(0).unwrap();
    assert!(matches!(renewed, Renewed::Renewed { .. }), "{renewed:?}");
}

/// The answer to one request is lost on the network, whichever it is: the lease is granted all the
/// same, or not at all, and nothing of the attempt stays in anybody's way.
#[tokio::test]
async fn one_answer_that_is_lost() {
    for part in ["/x-1", ".granted HTTP", "genesis HTTP"] {
        for spoil in [Spoil::Reset, Spoil::Silence] {
            let (store, proxy, place) = behind_a_proxy().await;
            proxy.lose_answer_to(part, spoil);
            let claim = claim(Mode::Exclusive);
            let taken = store.take(&claim, None, &Policy::expired()).await;
            assert!(!proxy.is_armed(), "{part} was asked for");
            proxy.heal();
            let granted = match taken.unwrap() {
                Taken::Granted(grant) => grant,
                other => panic!("{part} {spoil:?}: {other:?}"),
            };
            assert_eq!(store.withdraw(&granted.holding).await.unwrap(), Withdrawn::Removed);
            acquire(&place.connect().await, &self::claim(Mode::Exclusive)).await;
        }
    }
}

/// A server that is stopped for a while, and one that is killed and started again: the lease goes
/// on, and epochs rise.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_and_one_that_dies() {
    let mut server = tokio::task::spawn_blocking(S3::start).await.unwrap().unwrap();
    server.create_bucket(BUCKET).unwrap();
    let address = place::listening(server.url());
    let options = place::s3(&server, BUCKET, "p", Some(address));
    let store = opened(options.clone()).await;
    let grant = acquire(&store, &claim(Mode::Exclusive)).await;
    let mut mine = grant.holding.next_beat();

    server.server().pause().unwrap();
    let start = SystemClock.now();
    unavailable(store.renew(std::slice::from_ref(&mine)).await.remove(0));
    unavailable(store.confirm(&mine).await);
    assert!(SystemClock.now().since(start) < SECOND * 5, "it is told in time");
    server.server().resume().unwrap();
    mine = mine.next_beat();
    let renewed = store.renew(std::slice::from_ref(&mine)).await.remove(0).unwrap();
    assert!(matches!(renewed, Renewed::Renewed { .. }), "{renewed:?}");

    let server = tokio::task::spawn_blocking(move || {
        server.server().kill().unwrap();
        server.server().restart().unwrap();
        server
    });
    let server = server.await.unwrap();
    assert!(server.url().starts_with("http://"));
    // It answers with 500 for some time: that is an outage, not an answer.
    for _ in 0..60 {
        match store.withdraw(&mine).await {
            Ok(_) => break,
            answer => drop(unavailable(answer)),
        }
        SystemClock.sleep_until(SystemClock.now().plus(SECOND / 2)).await;
    }
    let next = acquire(&opened(options).await, &claim(Mode::Exclusive)).await;
    assert!(next.epoch > grant.epoch);
}

/// Case 46: a live writer on the second page of a listing, behind what others left, and files that
/// are nobody's.
#[tokio::test]
async fn a_writer_on_the_second_page() {
    let place = seaweed().await;
    let store = place.connect().await;
    let held = acquire(&store, &claim(Mode::Writer)).await.holding;
    for file in [".nfs0001", ".DS_Store", "x.sync-conflict", "sub/x-0000000000000001", "x-1"] {
        place.write(&name(), file, Vec::new()).await;
    }
    // They sort before all writers that are alive.
    place.fill(&name(), 1200, |i| (format!("s-{i:032x}.rel"), String::new())).await;
    assert!(held.nonce.to_string().as_str() > "0000000000000000000000000000ffff");

    let count = Count::default();
    let over = count.clone();
    let options = place.options.clone().through(move |client| over.over(Seaweed::layer(client)));
    let others = connect(options).await.unwrap();
    let taken = others.take(&claim(Mode::Exclusive), None, &Policy::expired()).await.unwrap();
    let Taken::Draining(draining) = taken else { panic!("a writer holds: {taken:?}") };
    others.withdraw(&draining.holding).await.unwrap();

    store.withdraw(&held).await.unwrap();
    count.take();
    acquire(&others, &claim(Mode::Exclusive)).await;
    let asked = count.take();
    // Each look is two pages.
    assert!(asked.split(' ').count() <= 8, "leftovers cost a page, no more: {asked}");
    let left = place.files(&name()).await;
    assert!(left.contains_key(".DS_Store") && left.contains_key("x-1"), "strays are not deleted");
}

/// Case 10: the application blocks the runtime that opened the store. Not even the first renewal, which
/// comes from elsewhere, waits for it.
#[test]
fn a_runtime_that_is_blocked() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (applications, keepers) = (runtime(), runtime());
    let (store, mine) = applications.block_on(async {
        let store = seaweed().await.connect().await;
        let mine = acquire(&store, &claim(Mode::Exclusive)).await.holding.next_beat();
        (store, mine)
    });
    // From here on nothing runs in the application's runtime.
    let start = SystemClock.now();
    let renewed = keepers.block_on(store.renew(std::slice::from_ref(&mine))).remove(0).unwrap();
    assert!(matches!(renewed, Renewed::Renewed { .. }), "{renewed:?}");
    assert!(SystemClock.now().since(start) < SECOND * 2);
}

/// And the same for three ttls: the lease's own check, the store and whoever asks for it say the same.
#[tokio::test(flavor = "current_thread")]
async fn a_lease_whose_runtime_is_blocked() {
    const TTL: Duration = Duration::from_secs(6);
    let place = seaweed().await;
    let leases = |store| {
        let timing = Timing::with_ttl(TTL).build().unwrap();
        Coordinator::builder(Arc::new(store)).timing(timing).build()
    };
    let lease = leases(place.connect().await).exclusive("job").acquire().await.unwrap();

    // From here on nothing runs in the application's runtime.
    let until = SystemClock.now().plus(TTL * 3);
    while SystemClock.now() < until {
        std::thread::park_timeout(until.since(SystemClock.now()));
    }

    lease.check().expect("it was renewed meanwhile");
    lease.confirm().await.expect("nobody could take it");
    let others = leases(place.connect().await).exclusive("job").acquire().await;
    assert!(matches!(others, Err(Error::Held { .. })), "{others:?}");
}

/// A slow network is no outage.
#[tokio::test]
async fn a_network_that_is_slow() {
    let (store, proxy, _place) = behind_a_proxy().await;
    proxy.set(Flow::Delay(Duration::from_millis(100)), Flow::Pass);
    let grant = acquire(&store, &claim(Mode::Exclusive)).await;
    assert!(grant.holding.ttl == TTL);
    store.withdraw(&grant.holding).await.unwrap();
}

/// Nobody shows credentials: neither the options nor what went wrong with them.
#[test]
fn credentials_are_never_shown() {
    let options = Options::parse("s3://leases").unwrap().credentials("ann", "secret").unwrap();
    assert!(!format!("{options:?}").contains("secret"));
}
