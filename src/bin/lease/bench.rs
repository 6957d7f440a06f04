//! `lease bench`: how long each step takes on a store, as it is reached from here.

use std::sync::Arc;
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use leasehold::backend::{Joined, Renewed, Taken};
use leasehold::clock::SystemClock;
use leasehold::{
    Backend, Claim, Clock, Error, HolderInfo, Holding, Jitter, Mode, Name, Policy, Result, Timing,
};
use serde::Serialize;

use crate::args::Bench;
use crate::exit::{Cause, Failure};
use crate::status::{look, patiently};
use crate::tell::{print, print_json};

mod requests;

/// Rounds that are not counted: connections are opened and caches filled in them.
const WARM_UP: u32 = 3;

/// One operation, as `--json` shows it.
#[derive(Debug, Serialize)]
struct View {
    operation: &'static str,
    rounds: usize,
    p50_us: u128,
    p99_us: u128,
    max_us: u128,
    /// How many requests it makes, if the store is asked by requests.
    requests: Option<u64>,
    /// How many looks at the name take as long, by the medians.
    looks: f64,
}

/// What is measured, in the order in which a round does it, and what `docs/COSTS.md` calls it.
const OPERATIONS: [(&str, &str); 7] = [
    ("look", "look"),
    ("acquire exclusive", "acquire exclusive, again"),
    ("renew", "renew exclusive"),
    ("confirm", "confirm exclusive"),
    ("release exclusive", "release exclusive"),
    ("acquire writer", "acquire writer, again"),
    ("release writer", "release writer"),
];

pub(crate) async fn bench(bench: Bench) -> Result<u8, Failure> {
    let backend = bench.on.store.open().await?;
    let steps = u64::from(bench.rounds);
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} rounds, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut times: [Vec<Duration>; OPERATIONS.len()] = Default::default();
    for round in 0..WARM_UP + bench.rounds {
        let taken = one_round(&*backend, &bench).await?;
        if round >= WARM_UP {
            times.iter_mut().zip(taken).for_each(|(all, one)| all.push(one));
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    tell(&bench, backend.kind(), times)?;
    Ok(0)
}

/// The time of each operation, once.
async fn one_round(
    backend: &dyn Backend,
    bench: &Bench,
) -> Result<[Duration; OPERATIONS.len()], Failure> {
    let mut watch = Stopwatch::default();
    look(backend, &bench.name).await?;
    watch.lap();
    let asked = claim(bench, Mode::Exclusive)?;
    let policy = Policy::expired();
    let grant = match patiently(backend.kind(), backend.take(&asked, None, &policy)).await? {
        Taken::Granted(grant) => grant,
        Taken::Draining(draining) => {
            let _ = patiently(backend.kind(), backend.withdraw(&draining.holding)).await;
            let by = Box::new(draining.waiting_for);
            return Err(Error::Held { name: asked.name, by }.into());
        }
        Taken::Refused(by) => {
            return Err(Error::Held { name: asked.name, by: Box::new(by) }.into());
        }
        Taken::Displaced(_) => return Err(gone()),
    };
    watch.lap();
    let mine = grant.holding.next_beat();
    let renewal = async { backend.renew(std::slice::from_ref(&mine)).await.swap_remove(0) };
    let mine = match patiently(backend.kind(), renewal).await? {
        Renewed::Renewed { revision, .. } => mine.acknowledged(revision),
        Renewed::Lost(_) => return Err(gone()),
    };
    watch.lap();
    patiently(backend.kind(), backend.confirm(&mine)).await?;
    watch.lap();
    patiently(backend.kind(), backend.withdraw(&mine)).await?;
    watch.lap();
    let writer = joined(backend, bench).await?;
    watch.lap();
    patiently(backend.kind(), backend.withdraw(&writer)).await?;
    watch.lap();
    Ok(std::array::from_fn(|nth| watch.laps.get(nth).copied().unwrap_or_default()))
}

async fn joined(backend: &dyn Backend, bench: &Bench) -> Result<Holding, Failure> {
    // Of a name of their own: one that is used in both modes in turn costs more.
    let name = Name::parse(format!("{}-writers", bench.name));
    let name = name.map_err(|error| Failure::new(Cause::Usage, error.to_string()))?;
    let asked = Claim { name, ..claim(bench, Mode::Writer)? };
    match patiently(backend.kind(), backend.join(&asked, &Policy::expired())).await? {
        Joined::Granted(grant) => Ok(grant.holding),
        Joined::Refused(by) => Err(Error::Held { name: asked.name, by: Box::new(by) }.into()),
    }
}

fn claim(bench: &Bench, mode: Mode) -> Result<Claim, Failure> {
    let info = HolderInfo::of_this_process().label("lease bench").build()?;
    Ok(Claim {
        name: bench.name.clone(),
        nonce: Jitter::system().nonce(),
        mode,
        ttl: Timing::DEFAULT_TTL,
        info: Arc::new(info),
    })
}

/// Somebody else has ended what was measured.
fn gone() -> Failure {
    Failure::new(Cause::Lost, "somebody took the lease away that was measured".to_owned())
}

/// Times one thing after the other.
#[derive(Debug)]
struct Stopwatch {
    from: leasehold::Moment,
    laps: Vec<Duration>,
}

impl Default for Stopwatch {
    fn default() -> Self {
        Self { from: SystemClock.now(), laps: Vec::new() }
    }
}

impl Stopwatch {
    fn lap(&mut self) {
        let now = SystemClock.now();
        self.laps.push(now.since(self.from));
        self.from = now;
    }
}

fn tell(
    bench: &Bench,
    kind: &str,
    times: [Vec<Duration>; OPERATIONS.len()],
) -> Result<(), Failure> {
    let mut views: Vec<View> = Vec::new();
    for ((operation, step), mut times) in OPERATIONS.into_iter().zip(times) {
        times.sort_unstable();
        let at = |part: f64| {
            let nth = (times.len() as f64 * part).ceil() as usize;
            times.get(nth.saturating_sub(1)).copied().unwrap_or_default()
        };
        let p50 = at(0.5);
        let look = views.first().map_or(p50.as_micros(), |look| look.p50_us);
        views.push(View {
            operation,
            rounds: times.len(),
            p50_us: p50.as_micros(),
            p99_us: at(0.99).as_micros(),
            max_us: at(1.0).as_micros(),
            requests: requests::of(step, kind),
            looks: p50.as_micros() as f64 / look.max(1) as f64,
        });
    }
    if bench.json {
        return print_json(&views);
    }
    let mut table = Table::new();
    let titles = ["OPERATION", "P50", "P99", "MAX", "REQUESTS", "LOOKS"];
    table.load_style(presets::NOTHING).set_header(titles);
    for view in &views {
        let time = |us: u128| format!("{:.2} ms", us as f64 / 1000.0);
        table.add_row([
            view.operation.to_owned(),
            time(view.p50_us),
            time(view.p99_us),
            time(view.max_us),
            view.requests.map_or_else(|| "-".to_owned(), |count| count.to_string()),
            format!("{:.1}", view.looks),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    print(table)
}
