//! A crowd of writers that were left behind.

use std::time::Duration;

use lease_core::backend::{Confirmed, Draining, Taken};
use lease_core::clock::{Clock, Moment, SystemClock};
use lease_core::{Backend, Claim, Mode, Policy};
use lease_objstore::connect;

use crate::count::Count;
use crate::people::{acquire, claim, name};
use crate::place::{Place, Seaweed};

const SECOND: Duration = Duration::from_secs(1);

/// Ten thousand writers that crashed, and that nobody cleared away: a writer comes in as on any day,
/// an exclusive gets through them round by round, each well within a ttl, and whoever looks is told
/// how many there are. One that lives among them is waited for.
#[tokio::test]
async fn ten_thousand_that_nobody_cleared_away() {
    const CROWD: usize = 10_000;
    let place = tokio::task::spawn_blocking(Place::on::<Seaweed>).await.unwrap();
    let lives = place.connect().await;
    // Nobody renews it, and the whole of this may take a busy machine minutes.
    let lasting = Claim { ttl: SECOND * 900, ..claim(Mode::Writer) };
    let held = acquire(&lives, &lasting).await.holding;
    let dead = |i| {
        let nonce = format!("{i:032x}");
        let body = format!(
            r#"{{"v":1,"name":"payroll","nonce":"{nonce}","mode":"writer","ttl_ms":1,"beat":0}}"#
        );
        (format!("s-{nonce}"), body)
    };
    place.fill(&name(), CROWD, dead).await;

    let count = Count::default();
    let over = count.clone();
    let options = place.options.clone().through(move |client| over.over(client));
    let store = connect(options).await.unwrap();
    count.take();
    let start = SystemClock.now();
    let writer = acquire(&store, &claim(Mode::Writer)).await.holding;
    took_less_than(SECOND * 20, start);
    // Eleven pages a listing.
    let asked = count.take();
    assert!(!asked.contains("get"), "nobody's file is read: {asked}");
    assert_eq!(asked.matches("list").count(), 2 * 11, "{asked}");
    store.withdraw(&writer).await.unwrap();

    let mut left = CROWD + 1;
    let mut draining = None;
    for round in 0..3 {
        let start = SystemClock.now();
        let claim = Claim { ttl: SECOND * 120, ..self::claim(Mode::Exclusive) };
        let taken = match &draining {
            None => store.take(&claim, None, &Policy::expired()).await.unwrap(),
            Some(before) => {
                let before: &Draining = before;
                let claim = Claim { nonce: before.holding.nonce, ..claim };
                store.take(&claim, Some(before), &Policy::expired()).await.unwrap()
            }
        };
        took_less_than(SECOND * 60, start);
        let Taken::Draining(now) = taken else { panic!("a writer lives: {taken:?}") };
        let waits_for = now.waiting_for.writers;
        assert!(waits_for + 500 <= left, "round {round}: {waits_for} after {left}");
        (left, draining) = (waits_for, Some(now));
    }
    let confirmed = lives.confirm(&held).await.unwrap();
    assert!(matches!(confirmed, Confirmed::Held { drain: true }), "{confirmed:?}");
    let shown = place.connect().await.inspect(&name()).await.unwrap();
    assert_eq!(shown.writers.len(), left);
}

fn took_less_than(time: Duration, start: Moment) {
    let took = SystemClock.now().since(start);
    assert!(took < time, "{took:?}");
}
