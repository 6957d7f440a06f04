//! Many who want the same lease: how soon the next one has it, whether all get their turn, and what
//! those who wait ask of the store.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join_all;
use leasehold::clock::{Moment, SystemClock};
use leasehold::layer::Count;
use leasehold::{Clock, Coordinator};
use measure::{Bench, Curve, Figure, Times};

use crate::Open;

/// How many want it, one crowd after the other.
const CROWDS: [usize; 3] = [4, 16, 64];
/// How many turns each has, in the middle.
const TURNS: usize = 4;
/// How long each holds it: long enough for all others to see it and wait.
const HELD: Duration = Duration::from_millis(20);
/// How long each does something else before it asks again: whoever asks at once, where it is nearest to
/// the store, is before those who are still being told.
const ELSEWHERE: Duration = HELD;
/// How long it is held while the requests of those who wait are counted.
const WATCHED: Duration = Duration::from_secs(5);
/// Nobody gives up.
const PATIENCE: Duration = Duration::from_secs(3600);

/// What the contenders share.
struct Course {
    left: AtomicUsize,
    released: Mutex<Option<Moment>>,
    took: Mutex<Times>,
}

/// One of them, with a client of its own.
struct Contender {
    leases: Coordinator,
    requests: Count,
}

impl Contender {
    async fn new(open: &Open) -> Self {
        let requests = Count::new(open().await).whole();
        Self { leases: Coordinator::new(Arc::new(requests.clone())), requests }
    }

    /// Takes turns until there are none left; how many it had.
    async fn runs(&self, name: &str, course: &Course) -> usize {
        let mut turns = 0;
        while course.left.load(Ordering::SeqCst) > 0 {
            let lease = self.leases.exclusive(name).wait(PATIENCE).acquire().await.unwrap();
            let now = SystemClock.now();
            if let Some(released) = course.released.lock().unwrap().take() {
                course.took.lock().unwrap().push(now.since(released));
            }
            let counts = course
                .left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            turns += usize::from(counts.is_ok());
            SystemClock.sleep_until(now.plus(HELD)).await;
            *course.released.lock().unwrap() = Some(SystemClock.now());
            lease.release().await.unwrap();
            SystemClock.sleep_until(SystemClock.now().plus(ELSEWHERE)).await;
        }
        turns
    }
}

pub(crate) async fn contend(bench: &mut Bench, place: &str, open: &Open) {
    let mut all = Vec::new();
    let mut everybody: Vec<Contender> = Vec::new();
    for count in CROWDS {
        let more = (everybody.len()..count).map(|_| Contender::new(open));
        everybody.extend(join_all(more).await);
        let name = format!("wanted by {count}");
        let course = Course {
            left: AtomicUsize::new(count * TURNS),
            released: Mutex::default(),
            took: Mutex::default(),
        };
        let turns = join_all(everybody.iter().map(|one| one.runs(&name, &course))).await;
        let took = course.took.into_inner().unwrap();
        let ms = |percent| took.percentile(percent).as_secs_f64() * 1e3;
        let at = format!("{place}, {count} who want one lease");
        bench.counts(Figure::new(
            &at,
            "from a release to the next grant, half within",
            ms(50),
            "ms",
        ));
        bench.counts(Figure::new(
            &at,
            "from a release to the next grant, 99 of 100 within",
            ms(99),
            "ms",
        ));
        bench.counts(Figure::new(
            &at,
            "fairness of the turns, with a pause of 20 ms after each (1 is equal, Jain's index)",
            fairness(&turns),
            "",
        ));
        all.push(took);
        let asked = asked_while_waiting(&everybody).await;
        bench.counts(Figure::new(&at, "calls to the store by each that waits", asked, "a second"));
    }
    let title = format!("{place}: from a release to the next grant");
    bench.draws(Curve::of_times(&title, "who want it", &CROWDS, &all));
}

/// One holds it, all others wait: what each of these asks in a second.
async fn asked_while_waiting(everybody: &[Contender]) -> f64 {
    let (holder, others) = everybody.split_first().unwrap();
    let name = format!("held for long, {}", everybody.len());
    let lease = holder.leases.exclusive(&name).acquire().await.unwrap();
    let waits = others.iter().map(|one| one.leases.exclusive(&name).wait(PATIENCE).acquire());
    let requests = || others.iter().map(|one| one.requests.counts().total()).sum::<u64>();
    let watch = async {
        // Until they have all found it held.
        SystemClock.sleep_until(SystemClock.now().plus(Duration::from_secs(1))).await;
        let before = requests();
        SystemClock.sleep_until(SystemClock.now().plus(WATCHED)).await;
        requests() - before
    };
    let asked = tokio::select! {
        asked = watch => asked,
        _ = join_all(waits) => unreachable!("it is held"),
    };
    lease.release().await.unwrap();
    asked as f64 / others.len() as f64 / WATCHED.as_secs_f64()
}

/// One if all have had as many, and less the more they differ.
fn fairness(turns: &[usize]) -> f64 {
    let sum: usize = turns.iter().sum();
    let squares: usize = turns.iter().map(|turns| turns * turns).sum();
    (sum * sum) as f64 / (turns.len() * squares) as f64
}
